//! Columns as Go's `text/tabwriter` sets them, which is what scripts that read istioctl's output
//! expect.

use std::borrow::Cow;
use std::fmt;

/// A table: every column but the last is as wide as its longest cell plus the padding.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    padding: usize,
    columns: usize,
    cells: Vec<Cow<'a, str>>,
}

impl<'a> Table<'a> {
    /// A table with a header line.
    pub fn new(padding: usize, header: &[&'static str]) -> Self {
        Self::titled(
            padding,
            header.iter().map(|title| Cow::Borrowed(*title)).collect(),
        )
    }

    /// A table whose columns depend on what is in it.
    pub fn titled(padding: usize, header: Vec<Cow<'a, str>>) -> Self {
        Self {
            padding,
            columns: header.len(),
            cells: header,
        }
    }

    /// Adds a row. It has as many cells as the header.
    pub fn row(&mut self, row: impl IntoIterator<Item = Cow<'a, str>>) {
        self.cells.extend(row);
        debug_assert_eq!(
            self.cells.len() % self.columns,
            0,
            "a row has as many cells as the header"
        );
    }

    /// Whether there is nothing below the header.
    pub fn is_empty(&self) -> bool {
        self.cells.len() <= self.columns
    }

    /// The rows below the header.
    pub fn rows(&self) -> impl Iterator<Item = &[Cow<'a, str>]> {
        self.cells.chunks(self.columns).skip(1)
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        draw(f, self.padding, self.columns, || {
            self.cells.chunks(self.columns)
        })
    }
}

/// Draws rows, header included, which are made twice: once for the widths and once to be written. A
/// listing of a hundred thousand rows need not hold them. Every line ends with a newline; the last
/// cell of a row is not padded.
pub(super) fn draw<'a, I>(
    f: &mut fmt::Formatter<'_>,
    padding: usize,
    columns: usize,
    rows: impl Fn() -> I,
) -> fmt::Result
where
    I: Iterator<Item: AsRef<[Cow<'a, str>]>>,
{
    let mut widths = vec![0; columns];
    for row in rows() {
        for (width, cell) in widths.iter_mut().zip(row.as_ref()) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in rows() {
        let Some((last, cells)) = row.as_ref().split_last() else {
            continue;
        };
        for (cell, width) in cells.iter().zip(&widths) {
            f.write_str(cell)?;
            pad(f, width + padding - cell.chars().count())?;
        }
        writeln!(f, "{last}")?;
    }
    Ok(())
}

/// Blanks, many at a time: a table of a large dump has megabytes of them.
fn pad(f: &mut fmt::Formatter<'_>, mut count: usize) -> fmt::Result {
    const BLANKS: &str = "                                                                ";
    while count > 0 {
        let some = count.min(BLANKS.len());
        f.write_str(&BLANKS[..some])?;
        count -= some;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_padded_by_characters_and_the_last_one_is_not() {
        let mut table = Table::new(2, &["A", "LONG TITLE", "LAST"]);
        table.row(["é".into(), "x".into(), "1".into()]);
        table.row(["bbbb".into(), "".into(), "".into()]);
        assert_eq!(
            table.to_string(),
            "A     LONG TITLE  LAST\né     x           1\nbbbb              \n"
        );
        assert_eq!(table.rows().count(), 2);
    }
}
