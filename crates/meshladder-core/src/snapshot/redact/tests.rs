//! Each test gives whole documents to [`redact`], as the builder does.

use super::*;

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
    if crate::doc::json::check(document).is_ok() {
        assert_eq!(crate::doc::json::check(&once), Ok(()), "{once}");
    }
    once
}
