//! A difference as JSON v1.

use super::optional;
use crate::json::{self, Style};
use meshladder_capture::snapshot::DocId;
use meshladder_judge::diff::{Change, Diff, Edit, Fate};
use meshladder_mesh::ObjectRef;
use meshladder_text::json::{Raw, escape};

/// The difference as JSON.
pub fn to_json(diff: &Diff, show_noise: bool) -> String {
    let counts = diff
        .noise
        .counts
        .iter()
        .map(|(why, count)| format!("{}:{count}", escape(why)));
    let listed = diff
        .noise
        .listed
        .iter()
        .filter(|_| show_noise)
        .map(|(why, path, old, new)| {
            let [why, path, old, new] = [why, path.as_str(), old, new].map(escape);
            format!("{{\"why\":{why},\"path\":{path},\"a\":{old},\"b\":{new}}}")
        });
    let compact = format!(
        "{{\"apiVersion\":\"meshladder.dev/v1\",\"kind\":\"Diff\",\"a\":{},\"b\":{},\"same\":{},\"compared\":{},\"changes\":{},\"fates\":{},\"noise\":{{{}}},\"expected\":{},\"unknown\":{}}}",
        escape(&diff.a),
        escape(&diff.b),
        diff.is_empty(),
        diff.compared,
        list(diff.changes.iter().map(change)),
        list(diff.fates.iter().map(fate)),
        counts.collect::<Vec<_>>().join(","),
        list(listed),
        list(diff.unknown.iter().map(|fact| escape(fact))),
    );
    let mut text = String::new();
    match Raw::of(&compact).map(|raw| json::write(&mut text, raw, Style::PRETTY)) {
        Ok(Ok(())) => text,
        _ => compact,
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn change(change: &Change) -> String {
    let doc = |doc: &Option<DocId>| optional(doc.as_ref().map(DocId::as_str));
    format!(
        "{{\"change\":\"{}\",\"kind\":{},\"name\":{},\"means\":{},\"objects\":{},\"on\":{},\"docs\":{{\"a\":{},\"b\":{}}},\"edits\":{}}}",
        change.what.word(),
        escape(&change.kind),
        escape(&change.name),
        optional(change.means.as_deref()),
        list(change.objects.iter().map(object)),
        list(change.on.iter().map(|on| escape(on))),
        doc(&change.docs.0),
        doc(&change.docs.1),
        list(change.edits.iter().map(edit)),
    )
}

fn object(
    ObjectRef {
        kind,
        namespace,
        name,
    }: &ObjectRef,
) -> String {
    let [kind, namespace, name] = [kind, namespace, name].map(|text| escape(text));
    format!("{{\"kind\":{kind},\"namespace\":{namespace},\"name\":{name}}}")
}

fn edit(edit: &Edit) -> String {
    let at = |at: Option<usize>| at.map_or_else(|| "null".to_owned(), |at| at.to_string());
    format!(
        "{{\"change\":\"{}\",\"path\":{},\"a\":{},\"b\":{},\"at\":{{\"a\":{},\"b\":{}}}}}",
        edit.what.word(),
        escape(&edit.path),
        optional(edit.old.as_deref()),
        optional(edit.new.as_deref()),
        at(edit.at.0),
        at(edit.at.1),
    )
}

fn fate(
    Fate {
        request,
        from,
        was,
        is,
    }: &Fate,
) -> String {
    let [request, from, was, is] = [request, from, was, is].map(|text| escape(text));
    format!("{{\"request\":{request},\"from\":{from},\"a\":{was},\"b\":{is}}}")
}
