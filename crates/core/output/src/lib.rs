//! Values of documents, written the way istioctl writes them.

use std::fmt::{self, Write};

pub mod analysis;
pub mod authz;
pub mod bundle;
pub mod describe;
pub mod diff;
pub mod edit;
mod html;
pub mod json;
pub mod logs;
pub mod markdown;
pub mod messages;
pub mod monitor;
pub mod paint;
pub mod prometheus;
mod question;
pub mod report;
pub mod tables;
pub mod trace;
pub mod yaml;

use meshladder_text::json::{Raw, TextFault, check};
use meshladder_text::tree::Node;

/// The value as a tree with the names of that style, for [`yaml`]. Its spans are of no document.
///
/// # Errors
/// When the value is not JSON, or nests too deep for a tree.
#[expect(clippy::missing_panics_doc, reason = "a String takes everything")]
pub fn tree(raw: Raw<'_>, style: json::Style) -> Result<Node, TextFault> {
    if !style.camel && !style.drop_type {
        return Node::from_json(raw);
    }
    // The printer closes what is left open; a document cut short must not look sound.
    check(raw.text()).map_err(|fault| TextFault {
        at: raw.offset() + fault.at,
        ..fault
    })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_becomes_yaml_with_the_names_of_proto3_json() {
        let entry = Raw::of(r#"{"@type":"t","name":"80","virtual_hosts":[{"domains":["*"]}]}"#)
            .expect("it has a value");
        let tree = tree(entry, json::Style::ISTIOCTL).expect("it is JSON");
        assert_eq!(
            yaml::text(&tree),
            "name: \"80\"\nvirtualHosts:\n- domains:\n  - '*'\n"
        );
    }

    #[test]
    fn an_entry_that_is_cut_short_is_no_tree_in_any_style() {
        let document = r#" [{"a_b": [1]"#;
        let entry = Raw::of(document).expect("it has a value");
        for style in [json::Style::ISTIOCTL, json::Style::PRETTY] {
            assert_eq!(
                tree(entry, style).map_err(|fault| fault.at),
                Err(document.len())
            );
        }
    }

    #[test]
    fn any_number_of_spaces_is_written() {
        for count in [0, 1, 63, 64, 65, 200] {
            let mut out = String::new();
            spaces(&mut out, count).expect("a String takes it");
            assert_eq!(out, " ".repeat(count));
        }
    }
}
