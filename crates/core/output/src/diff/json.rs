//! A difference as JSON v1.

use std::collections::BTreeMap;

use crate::json::{API_VERSION, ObjectJson, to_pretty};
use meshladder_capture::snapshot::DocId;
use meshladder_judge::diff::{Diff, DiffChange, DiffEdit, Fate};
use serde::Serialize;

/// The difference as JSON; `show_noise` lists the expected differences, which are counted in any
/// case.
pub fn to_json(diff: &Diff, show_noise: bool) -> String {
    let mut expected = Vec::new();
    if show_noise {
        for (why, path, a, b) in &diff.noise.listed {
            expected.push(NoiseJson { why, path, a, b });
        }
    }
    let diff = DiffJson {
        api_version: API_VERSION,
        kind: "Diff",
        a: &diff.a,
        b: &diff.b,
        same: diff.is_empty(),
        compared: diff.compared,
        changes: diff.changes.iter().map(ChangeJson::from).collect(),
        fates: diff.fates.iter().map(FateJson::from).collect(),
        noise: &diff.noise.counts,
        expected,
        unknown: &diff.unknown,
    };
    to_pretty(&diff, 4)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiffJson<'a> {
    api_version: &'static str,
    kind: &'static str,
    a: &'a str,
    b: &'a str,
    same: bool,
    compared: usize,
    changes: Vec<ChangeJson<'a>>,
    fates: Vec<FateJson<'a>>,
    noise: &'a BTreeMap<&'static str, usize>,
    expected: Vec<NoiseJson<'a>>,
    unknown: &'a [String],
}

#[derive(Serialize)]
struct NoiseJson<'a> {
    why: &'static str,
    path: &'a str,
    a: &'a str,
    b: &'a str,
}

#[derive(Serialize)]
struct ChangeJson<'a> {
    change: &'static str,
    kind: &'a str,
    name: &'a str,
    means: Option<&'a str>,
    objects: Vec<ObjectJson<'a>>,
    on: &'a [String],
    docs: Sides<&'a str>,
    edits: Vec<EditJson<'a>>,
}

/// What the two sides have.
#[derive(Serialize)]
struct Sides<T> {
    a: Option<T>,
    b: Option<T>,
}

impl<'a> From<&'a DiffChange> for ChangeJson<'a> {
    fn from(change: &'a DiffChange) -> Self {
        let (a, b) = &change.docs;
        Self {
            change: change.what.word(),
            kind: &change.kind,
            name: &change.name,
            means: change.means.as_deref(),
            objects: change.objects.iter().map(ObjectJson::from).collect(),
            on: &change.on,
            docs: Sides {
                a: a.as_ref().map(DocId::as_str),
                b: b.as_ref().map(DocId::as_str),
            },
            edits: change.edits.iter().map(EditJson::from).collect(),
        }
    }
}

#[derive(Serialize)]
struct EditJson<'a> {
    change: &'static str,
    path: &'a str,
    a: Option<&'a str>,
    b: Option<&'a str>,
    at: Sides<usize>,
}

impl<'a> From<&'a DiffEdit> for EditJson<'a> {
    fn from(edit: &'a DiffEdit) -> Self {
        let (a, b) = edit.at;
        Self {
            change: edit.what.word(),
            path: &edit.path,
            a: edit.old.as_deref(),
            b: edit.new.as_deref(),
            at: Sides { a, b },
        }
    }
}

#[derive(Serialize)]
struct FateJson<'a> {
    request: &'a str,
    from: &'a str,
    a: &'a str,
    b: &'a str,
}

impl<'a> From<&'a Fate> for FateJson<'a> {
    fn from(fate: &'a Fate) -> Self {
        Self {
            request: &fate.request,
            from: &fate.from,
            a: &fate.was,
            b: &fate.is,
        }
    }
}
