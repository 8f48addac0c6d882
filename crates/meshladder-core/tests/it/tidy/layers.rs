//! Which module of the core may use which.

use std::fmt::Write;

use super::source::Source;

/// Every module of the core with the modules it may use. A row uses only rows above it, so there
/// are no circles.
const LAYERS: &[(&str, &[&str])] = &[
    ("doc", &[]),
    ("parallel", &[]),
    ("tri", &[]),
    ("cidr", &["doc"]),
    ("time", &[]),
    ("snapshot", &["doc", "time"]),
    ("x509", &["time"]),
    ("envoy", &["doc", "time"]),
    ("istiod", &["doc", "envoy", "time"]),
    ("model", &["doc", "parallel", "snapshot"]),
    ("target", &["doc", "envoy", "model", "snapshot"]),
    (
        "mesh",
        &["cidr", "doc", "model", "snapshot", "time", "tri", "x509"],
    ),
    (
        "sim",
        &["cidr", "doc", "envoy", "mesh", "snapshot", "time", "tri"],
    ),
    (
        "walk",
        &["doc", "envoy", "mesh", "sim", "snapshot", "time", "x509"],
    ),
    (
        "diff",
        &["doc", "envoy", "mesh", "sim", "snapshot", "walk", "x509"],
    ),
    (
        "authz",
        &[
            "cidr", "doc", "envoy", "mesh", "model", "sim", "snapshot", "target", "time", "tri",
            "walk",
        ],
    ),
    ("flags", &[]),
    ("access_log", &["doc", "flags", "snapshot", "time"]),
    ("prometheus", &["doc", "mesh"]),
    ("canary", &["doc", "mesh", "prometheus"]),
    ("finding", &["doc", "mesh", "snapshot"]),
    ("fleet", &["doc", "envoy", "istiod", "mesh", "snapshot"]),
    ("schema", &["doc", "flags", "mesh", "sim", "snapshot"]),
    (
        "rules",
        &[
            "access_log",
            "doc",
            "envoy",
            "finding",
            "fleet",
            "istiod",
            "mesh",
            "model",
            "schema",
            "sim",
            "snapshot",
            "time",
            "tri",
            "walk",
            "x509",
        ],
    ),
    (
        "logs",
        &[
            "access_log",
            "doc",
            "envoy",
            "flags",
            "mesh",
            "rules",
            "sim",
            "snapshot",
            "time",
            "walk",
        ],
    ),
    ("report", &["doc", "finding", "snapshot", "time"]),
    (
        "ladder",
        &[
            "access_log",
            "doc",
            "envoy",
            "finding",
            "fleet",
            "logs",
            "mesh",
            "parallel",
            "report",
            "rules",
            "schema",
            "sim",
            "snapshot",
            "time",
            "walk",
        ],
    ),
    (
        "describe",
        &[
            "doc", "envoy", "finding", "fleet", "ladder", "mesh", "report", "snapshot", "tri",
        ],
    ),
    (
        "render",
        &[
            "access_log",
            "authz",
            "describe",
            "diff",
            "doc",
            "finding",
            "flags",
            "logs",
            "mesh",
            "report",
            "rules",
            "sim",
            "snapshot",
            "time",
        ],
    ),
    (
        "tables",
        &[
            "canary",
            "doc",
            "envoy",
            "flags",
            "istiod",
            "logs",
            "prometheus",
            "render",
            "sim",
            "snapshot",
            "time",
            "x509",
        ],
    ),
    (
        "monitor",
        &[
            "canary",
            "doc",
            "envoy",
            "finding",
            "fleet",
            "istiod",
            "mesh",
            "prometheus",
            "render",
            "report",
            "rules",
            "snapshot",
            "tables",
            "time",
            "x509",
        ],
    ),
];

const HERE: &str = "crates/meshladder-core/tests/it/tidy/layers.rs";

/// The table, for ARCHITECTURE.md.
pub(super) fn as_markdown() -> String {
    let mut table = "| module | may use |\n|---|---|\n".to_owned();
    for (module, uses) in LAYERS {
        let uses: Vec<_> = uses.iter().map(|used| format!("`{used}`")).collect();
        writeln!(
            table,
            "| `{module}` | {} |",
            if uses.is_empty() {
                "nothing".to_owned()
            } else {
                uses.join(", ")
            }
        )
        .expect("a String takes all text");
    }
    table
}

/// Modules of the core that the table does not know.
pub(super) fn modules_without_a_row(sources: &[Source]) -> Vec<String> {
    let mut modules: Vec<_> = sources
        .iter()
        .filter_map(module)
        .filter(|module| row(module).is_none())
        .collect();
    modules.dedup();
    let what = "has no row in LAYERS: add one below the modules it may use, then run scripts/bless";
    modules
        .iter()
        .map(|module| format!("{HERE}: the module `{module}` {what}"))
        .collect()
}

/// Paths from the file's module to one that its row does not name.
pub(super) fn edges_not_allowed(source: &Source) -> Vec<String> {
    let Some((module, allowed)) = module(source).and_then(row) else {
        return Vec::new();
    };
    let code = source.product_code();
    let is_allowed = |used: &str| used == *module || allowed.contains(&used);
    let edges =
        crate_paths(code)
            .into_iter()
            .filter(|(_, used)| !is_allowed(used))
            .map(|(at, used)| {
                source.problem(
            code,
            at,
            &format!("`{module}` may not use `{used}`: a new edge is a change of LAYERS in {HERE}"),
        )
            });
    // `super` out of the top module would be an edge that is not seen here.
    let depth = source.path.matches('/').count() - CORE.matches('/').count() + 1;
    let climb = "super::".repeat(depth);
    let climbs = code
        .match_indices(&climb)
        .map(|(at, _)| source.problem(code, at, "write `crate::` for another module"));
    edges.chain(climbs).collect()
}

const CORE: &str = "crates/meshladder-core/src/";

/// The top module of the core that a file belongs to.
fn module(source: &Source) -> Option<&str> {
    let path = source.path.strip_prefix(CORE)?.strip_suffix(".rs")?;
    path.split('/').next().filter(|module| *module != "lib")
}

fn row(module: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    LAYERS.iter().find(|(name, _)| *name == module)
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
    for (at, (module, uses)) in LAYERS.iter().enumerate() {
        for used in *uses {
            assert!(
                LAYERS[..at].iter().any(|(above, _)| above == used),
                "`{module}` uses `{used}`, which is not above it"
            );
        }
    }
}

#[test]
fn edges_are_seen_in_every_way_to_write_them() {
    for (path, text, problems) in [
        ("doc.rs", "use crate::snapshot::Snapshot;", 1),
        (
            "doc/json.rs",
            "use crate::doc::tree;\n// crate::snapshot\n",
            0,
        ),
        (
            "doc/json.rs",
            "use crate::{\n    doc::{tree, json},\n    snapshot::{self, Builder},\n    time,\n};",
            2,
        ),
        (
            "doc/json/text.rs",
            "fn f() { let x = crate::time::Time::parse(\"crate::snapshot\"); }",
            1,
        ),
        (
            "snapshot/id.rs",
            "use crate::time::Time;\nuse super::Builder;",
            0,
        ),
        ("snapshot/id.rs", "use super::super::tables;", 1),
        ("doc.rs", "use super::snapshot;", 1),
        (
            "doc.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests { use super::*; use crate::snapshot; }",
            0,
        ),
        ("lib.rs", "pub use crate::tables::all;", 0),
    ] {
        let found = edges_not_allowed(&Source::new(format!("{CORE}{path}"), text));
        assert_eq!(found.len(), problems, "{path}: {text}: {found:?}");
    }
}

#[test]
fn a_new_module_needs_a_row() {
    let sources = ["doc.rs", "oracle.rs", "oracle/deep.rs", "lib.rs"]
        .map(|p| Source::new(format!("{CORE}{p}"), ""));
    assert_eq!(modules_without_a_row(&sources).len(), 1);
}
