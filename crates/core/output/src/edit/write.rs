//! How new values are written.

use super::{Editor, Holder};
use crate::yaml;
use meshladder_text::json::escape;
use meshladder_text::tree::{Member, Node, Span, Value};

impl Editor<'_> {
    /// Puts one value in the place of another.
    pub(super) fn replace(
        &mut self,
        old: &Node,
        new: &Node,
        holder: Option<Holder>,
    ) -> Result<(), String> {
        let is_block = |node: &Node| {
            !self.is_flow(node) && (!node.items().is_empty() || !node.members().is_empty())
        };
        let in_flow = self.is_json || holder.is_none();
        let is_simple = new.items().is_empty() && new.members().is_empty();
        if is_simple || in_flow {
            let text = if in_flow {
                self.flow(new)
            } else {
                self.scalar(old, new)
            };
            return match holder {
                Some(holder) if is_block(old) || old.span.is_empty() => {
                    self.splice(
                        self.gap(old, holder)?..old.span.end().max(holder.behind),
                        format!(" {text}"),
                    );
                    Ok(())
                }
                _ => {
                    self.splice(old.span.range(), text);
                    Ok(())
                }
            };
        }
        let Some(holder) = holder else {
            return Err("it stands between brackets".to_owned());
        };
        let start = self.gap(old, holder)?;
        let block = yaml::text(new);
        let text = self.indented(block.trim_end(), holder.column + 2);
        let text = if holder.is_dash {
            format!(" {}", text.trim_start())
        } else {
            format!("{}{text}", self.newline())
        };
        self.splice(start..old.span.end().max(holder.behind), text);
        Ok(())
    }

    /// Where the white space in front of a value starts.
    fn gap(&self, old: &Node, holder: Holder) -> Result<usize, String> {
        let between = self
            .text
            .get(holder.behind..old.span.start().max(holder.behind))
            .unwrap_or("?");
        if between.trim().is_empty() {
            Ok(holder.behind)
        } else {
            Err("a comment or a tag stands in front of it".to_owned())
        }
    }

    /// A string keeps the quotes of the one it replaces.
    pub(super) fn scalar(&self, old: &Node, new: &Node) -> String {
        match (
            self.text.as_bytes().get(old.span.start()),
            &old.value,
            new.str(),
        ) {
            (Some(b'"'), Value::String(_), Some(text)) => escape(text),
            (Some(b'\''), Value::String(_), Some(text)) if !text.contains(char::is_control) => {
                format!("'{}'", text.replace('\'', "''"))
            }
            _ => one_line(new),
        }
    }

    /// With every line moved to the right.
    pub(super) fn indented(&self, text: &str, column: usize) -> String {
        let lines = text.lines().map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("{:column$}{line}", "")
            }
        });
        lines.collect::<Vec<_>>().join(self.newline())
    }

    pub(super) fn flow_member(&self, member: &Member) -> String {
        let key = Node {
            value: Value::String((*member.key).into()),
            span: Span::default(),
        };
        format!("{}: {}", self.flow(&key), self.flow(&member.value))
    }

    /// A value that may stand between brackets.
    pub(super) fn flow(&self, node: &Node) -> String {
        match &node.value {
            _ if self.is_json => node.to_json(),
            Value::Object(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|member| self.flow_member(member))
                    .collect();
                format!("{{{}}}", members.join(", "))
            }
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| self.flow(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::String(text) if text.contains([',', '[', ']', '{', '}']) => escape(text),
            _ => one_line(node),
        }
    }
}

pub(super) fn member(member: &Member) -> String {
    let object = Node {
        value: Value::Object([member.clone()].into()),
        span: Span::default(),
    };
    yaml::text(&object).trim_end().to_owned()
}

pub(super) fn item(item: &Node) -> String {
    let mut text = String::new();
    // A String takes all text.
    let _ = yaml::write_item(&mut text, item);
    text.trim_end().to_owned()
}

fn one_line(node: &Node) -> String {
    let text = yaml::text(node);
    match node.str() {
        Some(string) if text.trim_end().contains('\n') => escape(string),
        _ => text.trim_end().to_owned(),
    }
}
