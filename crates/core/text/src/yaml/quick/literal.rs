//! Literal block scalars.

use super::QuickReader;
use crate::tree::{Node, Value};

impl QuickReader<'_> {
    /// Reads the literal block whose `|` stands at `start`, in a collection at `indent`.
    pub(super) fn literal(&mut self, start: usize, indent: usize) -> Option<Node> {
        self.count()?;
        let header_end = self.line_end(start);
        let chomping = self.text[start + 1..header_end].trim_ascii_end();
        if !matches!(chomping, "" | "-" | "+") {
            return None;
        }
        let own_indent = self.literal_indent(header_end + 1)?;
        if own_indent <= indent {
            return None;
        }
        let mut text = String::new();
        let (mut line, mut blank, mut end) = (header_end + 1, 0, header_end);
        while line < self.bytes.len() {
            let (content, line_end) = (self.skip_spaces(line), self.line_end(line));
            let column = content - line;
            if content == line_end {
                // A blank line with more spaces than the block is indented has content.
                if column > own_indent {
                    return None;
                }
                blank += 1;
            } else if column >= own_indent {
                text.extend(std::iter::repeat_n('\n', blank));
                text.push_str(&self.text[line + own_indent..line_end]);
                text.push('\n');
                (blank, end) = (0, line_end);
            } else if column > indent {
                return None;
            } else {
                break;
            }
            line = line_end + 1;
        }
        // Whether the last line break counts when it is missing is the parser's to say.
        if line > self.bytes.len() {
            return None;
        }
        match chomping {
            "-" => text.truncate(text.len() - 1),
            "+" => text.extend(std::iter::repeat_n('\n', blank)),
            _ => {}
        }
        self.next_line(line);
        let end = start + self.text[start..end].trim_ascii_end().len();
        Some(Node {
            value: Value::String(text.into()),
            span: (start..end).into(),
        })
    }

    /// How far the first line of a block that is not blank is indented; none when a blank one
    /// before it is longer.
    fn literal_indent(&self, from: usize) -> Option<usize> {
        let (mut line, mut longest) = (from, 0);
        loop {
            let content = self.skip_spaces(line);
            if self.bytes.get(content)? != &b'\n' {
                return (longest <= content - line).then_some(content - line);
            }
            longest = longest.max(content - line);
            line = content + 1;
        }
    }
}
