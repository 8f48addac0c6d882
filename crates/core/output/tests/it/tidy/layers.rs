//! Which room of the core may use which, and inside a room which module which.

use std::fmt::Write;

use super::source::Source;

/// The rooms of the core, each a crate, with those it may use. A room uses only rooms above it; its
/// manifest says the same, so the compiler holds it to that.
const ROOMS: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("capture", &["text"]),
    ("mesh", &["text", "capture"]),
    ("sim", &["text", "capture", "mesh"]),
    ("judge", &["text", "capture", "mesh", "sim"]),
    ("output", &["text", "capture", "mesh", "sim", "judge"]),
];

/// The modules of those rooms that are more than one subject, each with the modules of its room
/// that it may use. A row uses only rows above it, so there are no circles.
const MODULES: &[(&str, &str, &[&str])] = &[
    ("capture", "kind", &[]),
    ("capture", "snapshot", &["kind"]),
    ("capture", "envoy", &[]),
    ("capture", "istiod", &["envoy"]),
    ("capture", "flags", &[]),
    ("capture", "ztunnel", &[]),
    ("capture", "access_log", &["flags", "snapshot", "ztunnel"]),
    ("capture", "object", &["kind", "snapshot"]),
    ("capture", "clusters", &["envoy", "istiod", "snapshot"]),
    ("judge", "finding", &[]),
    ("judge", "fleet", &[]),
    ("judge", "policy", &[]),
    ("judge", "authz", &["policy"]),
    ("judge", "prometheus", &[]),
    ("judge", "canary", &["prometheus"]),
    ("judge", "diff", &[]),
    ("judge", "rules", &["finding", "fleet", "policy"]),
    ("judge", "logs", &["rules"]),
    ("judge", "report", &["finding", "rules"]),
    (
        "judge",
        "ladder",
        &["finding", "fleet", "logs", "report", "rules"],
    ),
    (
        "judge",
        "describe",
        &["finding", "fleet", "ladder", "report"],
    ),
    ("output", "json", &[]),
    ("output", "html", &[]),
    ("output", "paint", &[]),
    ("output", "question", &["json"]),
    ("output", "bundle", &["json"]),
    ("output", "yaml", &["json"]),
    ("output", "edit", &["yaml"]),
    ("output", "markdown", &["html"]),
    ("output", "authz", &["json", "question"]),
    ("output", "describe", &["json", "paint"]),
    ("output", "diff", &["html", "json", "paint"]),
    ("output", "trace", &["json", "paint", "question"]),
    (
        "output",
        "report",
        &["html", "json", "markdown", "paint", "question"],
    ),
    (
        "output",
        "analysis",
        &["edit", "html", "json", "markdown", "paint"],
    ),
    ("output", "messages", &["json", "paint", "yaml"]),
    ("output", "logs", &["json", "markdown", "report"]),
    ("output", "tables", &["json", "logs"]),
    ("output", "prometheus", &["json", "tables"]),
    ("output", "monitor", &["json", "tables", "yaml"]),
];

const HERE: &str = "crates/core/output/tests/it/tidy/layers.rs";
const CORE: &str = "crates/core/";

/// Both tables, for ARCHITECTURE.md.
pub(super) fn as_markdown() -> String {
    let mut table = "| room | may use |\n|---|---|\n".to_owned();
    for (room, uses) in ROOMS {
        writeln!(table, "| `{room}` | {} |", in_words(uses)).expect("a String takes all text");
    }
    table.push_str("\n| module | may use, of its room |\n|---|---|\n");
    for (room, module, uses) in MODULES {
        writeln!(table, "| `{room}::{module}` | {} |", in_words(uses))
            .expect("a String takes all text");
    }
    table
}

fn in_words(uses: &[&str]) -> String {
    if uses.is_empty() {
        return "nothing".to_owned();
    }
    let quoted: Vec<String> = uses.iter().map(|used| format!("`{used}`")).collect();
    quoted.join(", ")
}

/// Modules that the table does not know, of the rooms that it knows.
pub(super) fn modules_without_a_row(sources: &[Source]) -> Vec<String> {
    let mut modules: Vec<(&str, &str)> = Vec::new();
    for source in sources {
        let Some((room, module)) = place(source) else {
            continue;
        };
        let is_listed = MODULES.iter().any(|(listed, _, _)| *listed == room);
        if is_listed && row(room, module).is_none() {
            modules.push((room, module));
        }
    }
    modules.dedup();
    let what =
        "has no row in MODULES: add one below the modules it may use, then run scripts/bless";
    modules
        .iter()
        .map(|(room, module)| format!("{HERE}: the module `{room}::{module}` {what}"))
        .collect()
}

/// Paths from the file's module to one that its row does not name.
pub(super) fn edges_not_allowed(source: &Source) -> Vec<String> {
    let Some((room, module)) = place(source) else {
        return Vec::new();
    };
    let Some(allowed) = row(room, module) else {
        return Vec::new();
    };
    let code = source.product_code();
    let mut problems = Vec::new();
    for (at, used) in crate_paths(code) {
        // Items at the root of a crate are everybody's.
        let is_module = row(room, used).is_some();
        if is_module && used != module && !allowed.contains(&used) {
            let what = format!(
                "`{room}::{module}` may not use `{used}`: a new edge is a change of MODULES in {HERE}"
            );
            problems.push(source.problem(code, at, &what));
        }
    }
    // `super` out of the top module would be an edge that is not seen here.
    let depth = source.path.matches('/').count() - CORE.matches('/').count() - 1;
    for (at, _) in code.match_indices(&"super::".repeat(depth)) {
        problems.push(source.problem(code, at, "write `crate::` for another module"));
    }
    problems
}

/// The room and the top module of it that a file belongs to.
fn place(source: &Source) -> Option<(&str, &str)> {
    let (room, path) = source.path.strip_prefix(CORE)?.split_once("/src/")?;
    let module = path.strip_suffix(".rs")?.split('/').next()?;
    (module != "lib").then_some((room, module))
}

fn row(room: &str, module: &str) -> Option<&'static [&'static str]> {
    let row = MODULES
        .iter()
        .find(|(of, name, _)| *of == room && *name == module)?;
    Some(row.2)
}

/// The modules named by `crate::a` and `crate::{a, b::c}`, each with its place.
fn crate_paths(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (start, prefix) in code.match_indices("crate::") {
        let at = start + prefix.len();
        match code[at..].strip_prefix('{') {
            Some(group) => found.extend(group_heads(group).map(|head| (start, head))),
            None => found.push((start, first_word(&code[at..]))),
        }
    }
    found
}

/// The first names of a `use` group's members; `group` starts behind its brace.
fn group_heads(group: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let end = group.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth < 0
    });
    let mut depth = 0;
    let members = group[..end.unwrap_or(group.len())].split(move |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0 && c == ','
    });
    members
        .map(|member| first_word(member.trim_start()))
        .filter(|head| !head.is_empty())
}

fn first_word(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    &text[..end]
}

#[test]
fn a_row_uses_only_rows_above_it() {
    for (at, (room, uses)) in ROOMS.iter().enumerate() {
        for used in *uses {
            assert!(
                ROOMS[..at].iter().any(|(above, _)| above == used),
                "`{room}` uses `{used}`, which is not above it"
            );
        }
    }
    for (at, (room, module, uses)) in MODULES.iter().enumerate() {
        for used in *uses {
            let is_above = |(of, above, _): &(&str, &str, &[&str])| of == room && above == used;
            assert!(
                MODULES[..at].iter().any(is_above),
                "`{room}::{module}` uses `{used}`, which is not above it"
            );
        }
    }
}

#[test]
fn manifests_name_no_room_that_is_not_below() {
    for (room, uses) in ROOMS {
        let path = crate::expect::root()
            .join(CORE)
            .join(room)
            .join("Cargo.toml");
        let manifest = std::fs::read_to_string(path).expect("a manifest");
        let (_, dependencies) = manifest
            .split_once("[dependencies]")
            .expect("a room has dependencies");
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        let named: Vec<&str> = ROOMS
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| dependencies.contains(&format!("meshladder-{name}.")))
            .collect();
        assert_eq!(named, *uses, "the rooms that {room}/Cargo.toml names");
    }
}

#[test]
fn edges_are_seen_in_every_way_to_write_them() {
    for (path, text, problems) in [
        ("judge/src/finding.rs", "use crate::rules::Rule;", 1),
        (
            "judge/src/rules/a.rs",
            "use crate::rules::Rule;\n// crate::ladder\n",
            0,
        ),
        (
            "judge/src/rules/a.rs",
            "use crate::{\n    finding::{Fix, Rung},\n    ladder::{self, Scope},\n    logs,\n};",
            2,
        ),
        (
            "judge/src/rules/a/b.rs",
            "fn f() { let x = crate::logs::Line::parse(\"crate::ladder\"); }",
            1,
        ),
        ("capture/src/snapshot/id.rs", "use super::Builder;", 0),
        ("capture/src/snapshot/id.rs", "use super::super::object;", 1),
        ("capture/src/object.rs", "use super::snapshot;", 1),
        (
            "judge/src/finding.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests { use super::*; use crate::ladder; }",
            0,
        ),
        ("judge/src/lib.rs", "pub use crate::ladder::climb;", 0),
        ("judge/src/finding.rs", "use crate::Word;", 0),
    ] {
        let found = edges_not_allowed(&Source::new(format!("{CORE}{path}"), text));
        assert_eq!(found.len(), problems, "{path}: {text}: {found:?}");
    }
}

#[test]
fn a_new_module_needs_a_row() {
    let sources = ["finding.rs", "oracle.rs", "oracle/deep.rs", "lib.rs"]
        .map(|path| Source::new(format!("{CORE}judge/src/{path}"), ""));
    assert_eq!(modules_without_a_row(&sources).len(), 1);
}
