//! Members and items between brackets.

use std::ops::Range;

use super::Editor;
use meshladder_text::tree::{Member, Node};

impl Editor<'_> {
    pub(super) fn flow_mapping(
        &mut self,
        old: &Node,
        a: &[Member],
        kept: &[bool],
        added: &[&Member],
    ) {
        let parts: Vec<Range<usize>> = a
            .iter()
            .map(|m| m.key_span.start()..m.value.span.end().max(m.key_span.end()))
            .collect();
        self.delete_parts(&parts, kept);
        let texts: Vec<String> = added
            .iter()
            .map(|member| self.flow_member(member))
            .collect();
        let last = parts
            .iter()
            .zip(kept)
            .rfind(|(_, kept)| **kept)
            .map(|(part, _)| part.end);
        self.insert_behind(old, last, &texts);
    }

    pub(super) fn flow_sequence(
        &mut self,
        old: &Node,
        a: &[Node],
        kept: &[bool],
        at: usize,
        added: &[Node],
    ) {
        let parts: Vec<Range<usize>> = a.iter().map(|item| item.span.range()).collect();
        self.delete_parts(&parts, kept);
        let texts: Vec<String> = added.iter().map(|item| self.flow(item)).collect();
        match (at, parts.get(at)) {
            (0, Some(first)) if kept[0] && !texts.is_empty() => {
                self.splice(first.start..first.start, texts.join(", ") + ", ");
            }
            _ => {
                let last = parts
                    .iter()
                    .zip(kept)
                    .take(at)
                    .rfind(|(_, kept)| **kept)
                    .map(|(part, _)| part.end);
                self.insert_behind(old, last, &texts);
            }
        }
    }

    /// With what leads to the next part; behind the last part that stays, all to the end of the
    /// last.
    fn delete_parts(&mut self, parts: &[Range<usize>], kept: &[bool]) {
        let last_kept = kept.iter().rposition(|kept| *kept);
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
            return;
        };
        let Some(last_kept) = last_kept else {
            return self.splice(first.start..last.end, "");
        };
        for i in (0..last_kept).filter(|i| !kept[*i]) {
            self.splice(parts[i].start..parts[i + 1].start, "");
        }
        if last_kept + 1 < parts.len() {
            self.splice(parts[last_kept].end..last.end, "");
        }
    }

    fn insert_behind(&mut self, old: &Node, last: Option<usize>, texts: &[String]) {
        if texts.is_empty() {
            return;
        }
        let (at, text) = match last {
            Some(end) => (end, format!(", {}", texts.join(", "))),
            None => (old.span.start() + 1, texts.join(", ")),
        };
        self.splice(at..at, text);
    }
}
