//! Members and items on lines of their own.

use super::{Editor, Holder, write};
use meshladder_text::tree::{Member, Node};

impl Editor<'_> {
    pub(super) fn block_mapping(
        &mut self,
        a: &[Member],
        kept: &[bool],
        added: &[&Member],
    ) -> Result<(), String> {
        for (i, member) in a.iter().enumerate().filter(|(i, _)| !kept[*i]) {
            let end = member.value.span.end().max(self.behind_colon(member)?);
            let start = member.key_span.start();
            if self.starts_line(start) {
                self.delete_lines(start, end);
                continue;
            }
            // It stands behind a dash: what comes next moves there.
            let next = a.get(i + 1).map(|next| next.key_span.start());
            match next {
                Some(next) if !self.text[end..next].contains('#') => self.splice(start..next, ""),
                _ => self.splice(
                    self.text[..start].trim_end_matches(' ').len()..self.line_end(end),
                    "",
                ),
            }
        }
        let Some(last) = a
            .iter()
            .zip(kept)
            .rfind(|(_, kept)| **kept)
            .map(|(member, _)| member)
        else {
            return Err("nothing is left to add to".to_owned());
        };
        let column = self.column(last.key_span.start());
        let at = self.line_end(last.value.span.end().max(self.behind_colon(last)?));
        for member in added {
            let text = self.indented(&write::member(member), column);
            self.splice(at..at, format!("{}{text}", self.newline()));
        }
        Ok(())
    }

    pub(super) fn block_sequence(
        &mut self,
        old: &Node,
        a: &[Node],
        kept: &[bool],
        at: usize,
        added: &[Node],
    ) -> Result<(), String> {
        for (item, _) in a.iter().zip(kept).filter(|(_, kept)| !**kept) {
            let dash = self.dash(old, item)?.behind - 1;
            if !self.starts_line(dash) {
                return Err("the item does not start on a line of its own".to_owned());
            }
            self.delete_lines(dash, item.span.end().max(dash + 1));
        }
        for item in added {
            let text = write::item(item);
            if let Some(next) = a.get(at) {
                let Holder { behind, column, .. } = self.dash(old, next)?;
                if !self.starts_line(behind - 1) {
                    return Err("the next item does not start on a line of its own".to_owned());
                }
                let start = self.line_start(behind - 1);
                self.splice(
                    start..start,
                    format!("{}{}", self.indented(&text, column), self.newline()),
                );
            } else if let Some(last) = a.last() {
                let column = self.dash(old, last)?.column;
                let end = self.line_end(last.span.end());
                self.splice(
                    end..end,
                    format!("{}{}", self.newline(), self.indented(&text, column)),
                );
            }
        }
        Ok(())
    }

    /// The dash of an item.
    pub(super) fn dash(&self, sequence: &Node, item: &Node) -> Result<Holder, String> {
        let before = self.text[..item.span.start()].trim_end_matches([' ', '\n', '\r']);
        let dash = before
            .strip_suffix('-')
            .map(str::len)
            .filter(|dash| *dash >= sequence.span.start());
        let dash = dash.ok_or("the item has a tag, an anchor or a comment in front of it")?;
        Ok(Holder {
            behind: dash + 1,
            column: self.column(dash),
            is_dash: true,
        })
    }

    /// Where the text behind a key's colon starts.
    pub(super) fn behind_colon(&self, member: &Member) -> Result<usize, String> {
        let rest = &self.text[member.key_span.end()..];
        let spaces = rest.len() - rest.trim_start().len();
        let colon = rest[spaces..]
            .starts_with(':')
            .then_some(member.key_span.end() + spaces + 1);
        colon.ok_or_else(|| format!("`{}` is written in an unusual way", member.key))
    }

    fn delete_lines(&mut self, start: usize, end: usize) {
        let newline = self.text[end..]
            .find('\n')
            .map_or(self.text.len(), |at| end + at + 1);
        self.splice(self.line_start(start)..newline, "");
    }

    pub(super) fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The end of the line without its line break.
    fn line_end(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        at + line.strip_suffix('\r').unwrap_or(line).len()
    }

    fn starts_line(&self, at: usize) -> bool {
        self.text[self.line_start(at)..at]
            .bytes()
            .all(|byte| byte == b' ')
    }

    pub(super) fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }
}
