//! Line and column of a byte offset, as editors count them.

use std::fmt;

/// A line and a column, both counted from 1; the column counts characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset; an offset behind the end is the end.
    pub fn of(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        // Counting the bytes that start a character keeps this total for offsets inside one.
        let column = before[line_start..]
            .iter()
            .filter(|&&b| b & 0xc0 != 0x80)
            .count();
        Self {
            line: memchr::memchr_iter(b'\n', before).count() + 1,
            column: column + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_columns_count_characters() {
        let text = "ab\ncé: x\n";
        for (offset, line, column) in [(0, 1, 1), (2, 1, 3), (3, 2, 1), (6, 2, 3), (99, 3, 1)] {
            assert_eq!(
                Place::of(text, offset),
                Place { line, column },
                "offset {offset}"
            );
        }
    }
}
