//! Whether a document of the layout is the list that its name says: an API server's refusal, the
//! first page of several or another kind's list is no proof that there are no objects.

use crate::snapshot::{Document, Need, Problem};
use meshladder_text::json::{Raw, TextFault, ValueKind};
use meshladder_text::yaml;

/// What is wrong with a document of objects as a whole; none for one that is as it should be.
pub(super) fn problem(doc: &Document) -> Option<Problem> {
    if !yaml::is_json(&doc.text) {
        return None;
    }
    let root = Raw::of(&doc.text).ok()?;
    // What is cut short is told by who reads to the end.
    if root.kind() != ValueKind::Object || !root.text().trim_end().ends_with('}') {
        return None;
    }
    let fault = if root.get("items").is_some() {
        list_fault(doc, root)
    } else {
        single_fault(root)
    };
    fault.map(|fault| doc.problem(&fault))
}

fn list_fault(doc: &Document, root: Raw<'_>) -> Option<TextFault> {
    let mut items = None;
    let mut kind = None;
    for (key, value) in root.members() {
        let seen = match &*key {
            "items" => &mut items,
            "kind" => &mut kind,
            "metadata" => {
                let next = value.string_at("continue").unwrap_or_default();
                if !next.is_empty() {
                    let what = "the list is only its first part: `metadata.continue` is set";
                    return Some(TextFault::new(value.offset(), what));
                }
                continue;
            }
            _ => continue,
        };
        if seen.replace(value).is_some() {
            let what = format!("`{key}` is said twice; the first one is read");
            return Some(TextFault::new(value.offset(), what));
        }
    }
    let items = items?;
    // Go writes a list that was never made as `null`.
    let is_null = items.text().trim_end() == "null";
    if items.kind() != ValueKind::Array && !is_null {
        return Some(TextFault::new(items.offset(), "`items` is not a list"));
    }
    let kind = kind?;
    let listed = kind.string()?;
    let (_, path) = doc.id.split();
    let Need::Objects(expected) = Need::of_path(path) else {
        return None;
    };
    match listed.strip_suffix("List") {
        Some(own) if !own.is_empty() && own != expected.singular() => {
            let what = format!(
                "the list is of {own} objects, where {} belong",
                expected.name()
            );
            Some(TextFault::new(kind.offset(), what))
        }
        _ => None,
    }
}

fn single_fault(root: Raw<'_>) -> Option<TextFault> {
    let kind = root.string_at("kind").unwrap_or_default();
    match &*kind {
        "" => Some(TextFault::new(
            root.offset(),
            "no Kubernetes object: there is no `kind`",
        )),
        "Status" => {
            let said = root.string_at("message").unwrap_or_default();
            let what = format!("an answer of the API server instead of objects: {said}");
            Some(TextFault::new(root.offset(), what))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::object::each;
    use crate::snapshot::{Builder, DocId, Need};

    #[test]
    fn a_list_that_is_not_all_there_proves_no_absence() {
        const POD: &str = r#"{"kind":"Pod","metadata":{"name":"a"}}"#;
        for (text, state) in [
            (
                format!(r#"{{"kind":"PodList","items":[{POD}]}}"#),
                "complete",
            ),
            (
                format!(r#"{{"kind":"List","items":[{POD}],"metadata":{{"continue":""}}}}"#),
                "complete",
            ),
            (r#"{"kind":"PodList","items":null}"#.to_owned(), "complete"),
            (POD.to_owned(), "complete"),
            (r#"{"kind":"PodList","items":{}}"#.to_owned(), "partial"),
            (r#"{"kind":"PodList","items":"none"}"#.to_owned(), "partial"),
            (r#"{"kind":"List","items":[null]}"#.to_owned(), "partial"),
            (r#"{"kind":"List","items":[7]}"#.to_owned(), "partial"),
            (r#"{"kind":"ServiceList","items":[]}"#.to_owned(), "partial"),
            (
                format!(r#"{{"kind":"PodList","items":[{POD}],"items":[]}}"#),
                "partial",
            ),
            (
                format!(r#"{{"kind":"PodList","metadata":{{"continue":"x"}},"items":[{POD}]}}"#),
                "partial",
            ),
            (
                r#"{"kind":"Status","message":"pods is forbidden"}"#.to_owned(),
                "partial",
            ),
            ("{}".to_owned(), "partial"),
            (format!(r#"{{"kind":"PodList","items":[{POD}"#), "partial"),
            (
                format!(r#"{{"kind":"PodList","items":[{POD},{{"kind":"Po"#),
                "partial",
            ),
            (
                format!(r#"{{"kind":"PodList","items":[{POD} {POD}]}}"#),
                "partial",
            ),
            (String::new(), "partial"),
            ("<html>502</html>".to_owned(), "partial"),
        ] {
            let mut builder = Builder::new();
            builder.add(
                DocId::new("k8s/pods.json"),
                "pods.json",
                text.clone().into(),
            );
            let snapshot = builder.finish();
            each(&snapshot, |_| {});
            let word = |path| snapshot.coverage(&Need::of_path(path)).word();
            assert_eq!(word("k8s/pods.json"), state, "{text}");
            assert_eq!(word("k8s/services.json"), "not-asked", "{text}");
        }
    }
}
