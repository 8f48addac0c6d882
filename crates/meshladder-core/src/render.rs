//! Values of documents, written the way istioctl writes them.

use std::fmt::{self, Write};

pub mod json;
pub mod yaml;

use crate::doc::json::{Fault, Raw, check};
use crate::doc::tree::Node;

/// The value as a tree with the names of that style, for [`yaml`]. Its spans are of no document.
///
/// # Errors
/// When the value is not JSON, or nests too deep for a tree.
#[expect(clippy::missing_panics_doc, reason = "a String takes everything")]
pub fn tree(raw: Raw<'_>, style: json::Style) -> Result<Node, Fault> {
    if !style.camel && !style.drop_type {
        return Node::from_json(raw);
    }
    // The printer closes what is left open; a document cut short must not look sound.
    check(raw.text()).map_err(|fault| Fault { at: raw.offset() + fault.at, ..fault })?;
    let mut text = String::new();
    json::write(&mut text, raw, style).expect("a String takes everything");
    Node::from_json(Raw::of(&text)?)
}

/// Writes spaces many at a time; padding by the formatter goes one by one.
fn spaces(out: &mut impl Write, count: usize) -> fmt::Result {
    const SOME: &str = "                                                                ";
    let mut left = count;
    while left > SOME.len() {
        out.write_str(SOME)?;
        left -= SOME.len();
    }
    out.write_str(&SOME[..left])
}
