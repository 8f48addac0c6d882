//! Flow collections on one line.

use super::{QuickReader, word};
use crate::tree::{Member, Node, Value};

impl QuickReader<'_> {
    pub(super) fn flow(&mut self, start: usize) -> Option<Node> {
        match self.bytes.get(start)? {
            b'[' => self.flow_sequence(start),
            b'{' => self.flow_mapping(start),
            _ => {
                self.count()?;
                let span = start..word::end(self.bytes, start)?;
                Some(Node {
                    value: self.quoted_or_plain(span.clone())?,
                    span: span.into(),
                })
            }
        }
    }

    fn flow_sequence(&mut self, start: usize) -> Option<Node> {
        self.enter()?;
        let first = self.items.len();
        let mut at = self.skip_spaces(start + 1);
        while self.bytes.get(at) != Some(&b']') {
            let item = self.flow(at)?;
            at = self.behind_comma(item.span.end(), b']')?;
            self.items.push(item);
        }
        self.depth -= 1;
        let items = self.items.drain(first..).collect();
        Some(Node {
            value: Value::Array(items),
            span: (start..at + 1).into(),
        })
    }

    fn flow_mapping(&mut self, start: usize) -> Option<Node> {
        self.enter()?;
        let first = self.members.len();
        let mut at = self.skip_spaces(start + 1);
        while self.bytes.get(at) != Some(&b'}') {
            self.count()?;
            let key_span = at..self.key_end(at)?;
            let key = self.key(key_span.clone())?;
            let value = self.flow(self.skip_spaces(key_span.end + 1))?;
            at = self.behind_comma(value.span.end(), b'}')?;
            self.members.push(Member {
                key,
                key_span: key_span.into(),
                value,
            });
        }
        self.depth -= 1;
        let value = Value::Object(self.close(first));
        Some(Node {
            value,
            span: (start..at + 1).into(),
        })
    }

    fn enter(&mut self) -> Option<()> {
        self.count()?;
        self.depth += 1;
        Some(())
    }

    /// Where the next item starts, or the closing bracket stands.
    fn behind_comma(&self, end: usize, close: u8) -> Option<usize> {
        let at = self.skip_spaces(end);
        match self.bytes.get(at)? {
            b',' => Some(self.skip_spaces(at + 1)),
            &b => (b == close).then_some(at),
        }
    }
}
