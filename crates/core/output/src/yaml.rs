//! YAML as istioctl prints it: JSON put through `sigs.k8s.io/yaml`.
//!
//! Members sorted, two spaces a level, sequences as far left as the key that holds them, no line
//! ever folded.

use std::fmt::{self, Write};

use crate::json::to_line;
use crate::spaces;
use meshladder_text::json::Raw;
use meshladder_text::tree::{Member, Node, Value};
use serde::Serialize;

mod order;
mod resolve;
mod scalar;

use scalar::write_string;

/// The value as a YAML document.
#[expect(clippy::missing_panics_doc, reason = "a String takes everything")]
pub fn text(node: &Node) -> String {
    let mut out = String::new();
    write(&mut out, node).expect("a String takes everything");
    out
}

/// An answer of ours as a YAML document: what its JSON says.
#[expect(
    clippy::missing_panics_doc,
    reason = "JSON that was just written is JSON"
)]
pub fn of(answer: &impl Serialize) -> String {
    let line = to_line(answer);
    let raw = Raw::of(&line).expect("a value was just written");
    text(&Node::from_json(raw).expect("JSON was just written"))
}

/// Writes the value as a YAML document.
///
/// # Errors
/// When `out` refuses.
pub fn write(out: &mut impl Write, node: &Node) -> fmt::Result {
    // A text block has to stand to the right of something, even at the top.
    let column = if node.str().is_some() { INDENT } else { 0 };
    value(out, node, column)
}

/// Writes the value as one item of a sequence at the top: items one after the other are a document.
///
/// # Errors
/// When `out` refuses.
pub fn write_item(out: &mut impl Write, node: &Node) -> fmt::Result {
    item(out, node, 0)
}

const INDENT: usize = 2;
/// go-yaml's limit for a key in front of its colon.
const LONGEST_SIMPLE_KEY: usize = 128;

/// Writes a value whose first line has begun already, at `column`; its other lines start there.
fn value(out: &mut impl Write, node: &Node, column: usize) -> fmt::Result {
    match &node.value {
        Value::Object(members) if !members.is_empty() => mapping(out, members, column),
        Value::Array(items) if !items.is_empty() => sequence(out, items, column),
        _ => scalar(out, node, column),
    }
}

fn mapping(out: &mut impl Write, members: &[Member], column: usize) -> fmt::Result {
    let mut sorted: Vec<&Member> = members.iter().collect();
    sorted.sort_by(|a, b| order::compare(&a.key, &b.key));
    // YAML forbids what JSON only frowns upon; as elsewhere the first of two counts.
    sorted.dedup_by(|later, first| later.key == first.key);
    for (at, member) in sorted.into_iter().enumerate() {
        if at > 0 {
            spaces(out, column)?;
        }
        entry(out, member, column)?;
    }
    Ok(())
}

fn sequence(out: &mut impl Write, items: &[Node], column: usize) -> fmt::Result {
    for (at, node) in items.iter().enumerate() {
        if at > 0 {
            spaces(out, column)?;
        }
        item(out, node, column)?;
    }
    Ok(())
}

fn item(out: &mut impl Write, node: &Node, column: usize) -> fmt::Result {
    out.write_str("- ")?;
    value(out, node, column + INDENT)
}

fn entry(out: &mut impl Write, member: &Member, column: usize) -> fmt::Result {
    let inside = column + INDENT;
    if member.key.len() > LONGEST_SIMPLE_KEY || member.key.contains('\n') {
        out.write_str("? ")?;
        write_string(out, &member.key, inside)?;
        out.write_char('\n')?;
        spaces(out, column)?;
        out.write_str(": ")?;
        return value(out, &member.value, inside);
    }
    write_string(out, &member.key, inside)?;
    out.write_char(':')?;
    let below = match &member.value.value {
        Value::Object(members) if !members.is_empty() => inside,
        Value::Array(items) if !items.is_empty() => column,
        _ => {
            out.write_char(' ')?;
            return scalar(out, &member.value, inside);
        }
    };
    out.write_char('\n')?;
    spaces(out, below)?;
    value(out, &member.value, below)
}

/// Writes what fits behind a key: anything but brackets with something inside.
fn scalar(out: &mut impl Write, node: &Node, column: usize) -> fmt::Result {
    match &node.value {
        Value::Null => out.write_str("null"),
        Value::Bool(true) => out.write_str("true"),
        Value::Bool(false) => out.write_str("false"),
        Value::Number(text) => out.write_str(text),
        Value::String(text) => write_string(out, text, column),
        Value::Array(_) => out.write_str("[]"),
        Value::Object(_) => out.write_str("{}"),
    }?;
    out.write_char('\n')
}

#[cfg(test)]
mod tests;
