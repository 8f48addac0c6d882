//! Each test gives whole documents to [`redact`], as the builder does.

use super::*;
use meshladder_text::tree::{Member, Node, Value};
use meshladder_text::yaml;

mod linear;
mod names;
mod objects;
mod planted;
mod properties;
mod stays;

/// The document as it is afterwards. With it goes what holds for every document whatsoever.
fn clean(id: &str, document: &str) -> String {
    let id = DocId::new(id);
    let mut bytes = document.as_bytes().to_vec();
    let count = redact(&id, &mut bytes);
    assert!(bytes.len() <= document.len(), "the text grew: {document}");
    let once = String::from_utf8(bytes.clone()).expect("whole characters are replaced");
    assert_eq!(count > 0, once != document, "{count} secrets in {document}");
    assert_eq!(redact(&id, &mut bytes), 0, "found again after\n{once}");
    assert_eq!(once.as_bytes(), bytes);
    if meshladder_text::json::check(document).is_ok() {
        assert_eq!(meshladder_text::json::check(&once), Ok(()), "{once}");
    } else if id.shape() == Shape::Objects && yaml::load(document).problems.is_empty() {
        let outlines = [document, &once].map(|text| {
            yaml::load(text)
                .documents
                .iter()
                .map(outline)
                .collect::<Vec<_>>()
        });
        assert_eq!(outlines[0], outlines[1], "{once}");
        assert_eq!(yaml::load(&once).problems, [], "{once}");
    }
    once
}

/// The names and the nesting of a tree.
fn outline(node: &Node) -> String {
    match &node.value {
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(outline).collect::<Vec<_>>().join(",")
        ),
        Value::Object(_) => {
            let member = |m: &Member| format!("{}:{}", m.key, outline(&m.value));
            format!(
                "{{{}}}",
                node.members()
                    .iter()
                    .map(member)
                    .collect::<Vec<_>>()
                    .join(",")
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => "*".to_owned(),
    }
}
