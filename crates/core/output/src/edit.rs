//! A YAML or JSON file with some of its values changed and every other byte kept: comments, order,
//! quotes, line ends.
//!
//! What a patch makes of an object is compared with the object, and each difference becomes a
//! splice of the text. The result is read again: unless it says exactly what was wanted, and
//! nothing else changed, the edit is refused.

mod block;
mod diff;
mod flow;
mod splice;
mod write;

pub use diff::unified;
pub use splice::{FileEdit, Splice, apply};

use meshladder_mesh::Change;
use meshladder_text::tree::{Member, Node, Span, Value};
use meshladder_text::yaml;

/// The splices that make a change of the object at a pointer, in the text of its file.
///
/// # Errors
/// Why it cannot be made without touching other bytes.
pub fn splices(text: &str, pointer: &str, change: &Change) -> Result<Vec<Splice>, String> {
    let before = yaml::load(text);
    let (number, rest) = before
        .locate(pointer)
        .ok_or("the object is no longer where it was")?;
    let old = before.documents[number]
        .pointer(rest)
        .ok_or("the object is no longer where it was")?;
    let new = change.apply(old).ok_or("it would be deleted")?;
    let is_json = text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with(['{', '[']);
    let mut editor = Editor {
        text,
        is_json,
        splices: Vec::new(),
    };
    editor.value(old, &new, None)?;
    let splices = splice::sorted(editor.splices)?;
    let after = yaml::load(&apply(text, &splices));
    let says = |other: usize, node: &Node| {
        let wanted = before.documents.get(other).filter(|_| other != number);
        match wanted {
            Some(wanted) => same(wanted, node),
            None => node.pointer(rest).is_some_and(|node| same(node, &new)),
        }
    };
    let is_exact = after.documents.len() == before.documents.len()
        && after.problems.len() == before.problems.len()
        && after
            .documents
            .iter()
            .enumerate()
            .all(|(other, node)| says(other, node));
    if is_exact {
        Ok(splices)
    } else {
        Err("an anchor, an alias or unusual syntax is in the way".to_owned())
    }
}

/// Whether two values say the same, wherever they stand and whatever the order of their members.
pub fn same(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(members)) => {
            a.len() == members.len()
                && a.iter()
                    .all(|m| b.get(&m.key).is_some_and(|other| same(&m.value, other)))
        }
        (a, b) => a == b,
    }
}

struct Editor<'t> {
    text: &'t str,
    is_json: bool,
    splices: Vec<Splice>,
}

/// What holds a value: a key with its colon, or the dash of an item.
#[derive(Clone, Copy)]
struct Holder {
    /// Where the text behind the colon or the dash starts.
    behind: usize,
    /// The column of the key or the dash.
    column: usize,
    is_dash: bool,
}

impl Editor<'_> {
    fn value(&mut self, old: &Node, new: &Node, holder: Option<Holder>) -> Result<(), String> {
        if same(old, new) {
            return Ok(());
        }
        match (&old.value, &new.value) {
            (Value::Object(a), Value::Object(b)) if self.is_whole(old) => {
                self.mapping(old, a, b, holder)
            }
            (Value::Array(a), Value::Array(b)) if self.is_whole(old) => {
                self.sequence(old, a, b, holder)
            }
            (Value::Object(_), Value::Object(_)) if !self.is_alias(old) => {
                Err("a merge key brings some of its members".to_owned())
            }
            _ => self.replace(old, new, holder),
        }
    }

    /// Whether all of a collection's parts stand inside it: what an alias or a merge key brings
    /// does not.
    fn is_whole(&self, node: &Node) -> bool {
        let inside =
            |span: Span| node.span.start() <= span.start() && span.end() <= node.span.end();
        !self.is_alias(node)
            && node.items().iter().all(|item| inside(item.span))
            && node
                .members()
                .iter()
                .all(|member| inside(member.key_span) && inside(member.value.span))
    }

    fn is_alias(&self, node: &Node) -> bool {
        self.text.as_bytes().get(node.span.start()) == Some(&b'*')
    }

    fn is_flow(&self, node: &Node) -> bool {
        matches!(
            self.text.as_bytes().get(node.span.start()),
            Some(b'{' | b'[')
        )
    }

    fn mapping(
        &mut self,
        old: &Node,
        a: &[Member],
        b: &[Member],
        holder: Option<Holder>,
    ) -> Result<(), String> {
        let find =
            |members: &[Member], key: &str| members.iter().position(|member| *member.key == *key);
        let mut kept: Vec<bool> = a
            .iter()
            .map(|member| find(b, &member.key).is_some())
            .collect();
        let mut added: Vec<&Member> = b
            .iter()
            .filter(|member| find(a, &member.key).is_none())
            .collect();
        self.rename(a, &mut kept, &mut added);
        let is_flow = self.is_flow(old);
        if !is_flow && !kept.contains(&true) {
            return self.replace(
                old,
                &Node {
                    value: Value::Object(b.into()),
                    span: Span::default(),
                },
                holder,
            );
        }
        for member in a {
            if let Some(at) = find(b, &member.key) {
                let behind = self.behind_colon(member)?;
                let column = self.column(member.key_span.start());
                self.value(
                    &member.value,
                    &b[at].value,
                    Some(Holder {
                        behind,
                        column,
                        is_dash: false,
                    }),
                )?;
            }
        }
        if is_flow {
            self.flow_mapping(old, a, &kept, &added);
            return Ok(());
        }
        self.block_mapping(a, &kept, &added)
    }

    /// A member that gets another name, and nothing else, keeps its place, its value and its
    /// comments.
    fn rename(&mut self, a: &[Member], kept: &mut [bool], added: &mut Vec<&Member>) {
        for (member, kept) in a.iter().zip(kept).filter(|(_, kept)| !**kept) {
            let Some(at) = added.iter().position(|new| same(&new.value, &member.value)) else {
                continue;
            };
            let name = |member: &Member| Node {
                value: Value::String((*member.key).into()),
                span: member.key_span,
            };
            let text = self.scalar(&name(member), &name(added.remove(at)));
            self.splice(member.key_span.range(), text);
            *kept = true;
        }
    }

    fn sequence(
        &mut self,
        old: &Node,
        a: &[Node],
        b: &[Node],
        holder: Option<Holder>,
    ) -> Result<(), String> {
        let start = a.iter().zip(b).take_while(|(a, b)| same(a, b)).count();
        let most = a.len().min(b.len()) - start;
        let end = a
            .iter()
            .rev()
            .zip(b.iter().rev())
            .take(most)
            .take_while(|(a, b)| same(a, b))
            .count();
        let (old_middle, new_middle) = (start..a.len() - end, start..b.len() - end);
        let paired = old_middle.len().min(new_middle.len());
        let is_flow = self.is_flow(old);
        let kept: Vec<bool> = (0..a.len())
            .map(|i| i < start + paired || i >= old_middle.end)
            .collect();
        if !is_flow && !kept.contains(&true) {
            return self.replace(
                old,
                &Node {
                    value: Value::Array(b.into()),
                    span: Span::default(),
                },
                holder,
            );
        }
        for i in start..start + paired {
            let holder = if is_flow {
                None
            } else {
                Some(self.dash(old, &a[i])?)
            };
            self.value(&a[i], &b[i], holder)?;
        }
        let added = &b[start + paired..new_middle.end];
        if is_flow {
            self.flow_sequence(old, a, &kept, start + paired, added);
            return Ok(());
        }
        self.block_sequence(old, a, &kept, start + paired, added)
    }

    fn splice(&mut self, range: std::ops::Range<usize>, text: impl Into<String>) {
        self.splices.push(Splice {
            range,
            text: text.into(),
        });
    }
}

#[cfg(test)]
mod tests;
