//! How a file begins and how long it is.

use super::source::Source;

/// Lines before a file's tests; past this it is split, or listed in `LONG`. Calls that rustfmt
/// spreads over several lines count in full.
const MOST_LINES: usize = 600;

/// Files that are longer, each with its reason.
const LONG: &[(&str, &str)] = &[(
    "crates/core/judge/src/rules/codes.rs",
    "one table: every code of other tools beside what it says",
)];

/// A Rust file that does not start with its module docs. Unit tests need none: they belong to the
/// file above them.
pub(super) fn without_module_docs(source: &Source) -> Option<String> {
    let is_unit_tests = source.is_test() && source.path.contains("/src/");
    (!is_unit_tests && !source.text.starts_with("//! ")).then(|| {
        source.problem(
            "",
            0,
            "starts without `//!`: say in a sentence what the file is for",
        )
    })
}

/// A shell script that does not start with what it is for, or goes on after an error.
pub(super) fn without_strict_mode_or_purpose(source: &Source) -> Option<String> {
    let mut lines = source.text.lines();
    let is_run = lines.next() == Some("#!/usr/bin/env bash");
    let says = lines.next().is_some_and(|line| line.starts_with("# "));
    let stops = source.text.lines().any(|line| line == "set -euo pipefail");
    (is_run && !(says && stops)).then(|| {
        source.problem(
            "",
            0,
            "needs a second line `# what it is for`, and `set -euo pipefail`",
        )
    })
}

/// Files past the limit that are not listed, and listed ones that no longer need it.
pub(super) fn too_long(sources: &[Source]) -> Vec<String> {
    let is_listed = |source: &Source| LONG.iter().any(|(path, _)| *path == source.path);
    let mut problems = Vec::new();
    for source in sources {
        let lines = source.product_code().lines().count();
        match (lines > MOST_LINES, is_listed(source)) {
            (true, false) => problems.push(format!(
                "{}: {lines} lines before its tests, more than {MOST_LINES}: split it, or list it in LONG with the reason",
                source.path
            )),
            (false, true) => problems.push(format!("{}: {lines} lines: take it off LONG", source.path)),
            _ => {}
        }
    }
    problems
}

#[test]
fn a_file_without_a_purpose_is_seen() {
    for (path, text, is_bad) in [
        ("src/a.rs", "//! What it does.\n", false),
        ("src/a.rs", "use b;\n//! Late.\n", true),
        ("src/a.rs", "", true),
        ("crates/c/src/a/tests.rs", "use super::*;\n", false),
        ("crates/c/src/a/tests/odd.rs", "use super::*;\n", false),
        ("crates/c/tests/it/main.rs", "use super::*;\n", true),
    ] {
        assert_eq!(
            without_module_docs(&Source::new(path, text)).is_some(),
            is_bad,
            "{path}: {text}"
        );
    }
    for (text, is_bad) in [
        (
            "#!/usr/bin/env bash\n# Does it.\nset -euo pipefail\n",
            false,
        ),
        ("#!/usr/bin/env bash\n# Does it.\n", true),
        ("#!/usr/bin/env bash\nset -euo pipefail\n", true),
        ("#!/usr/bin/env python3\n", false),
    ] {
        assert_eq!(
            without_strict_mode_or_purpose(&Source::new("scripts/a", text)).is_some(),
            is_bad,
            "{text}"
        );
    }
}

#[test]
fn length_counts_up_to_the_tests() {
    let file = |lines: usize| {
        Source::new(
            "src/a.rs",
            format!("{}#[cfg(test)]\nmod tests {{}}\n", "x;\n".repeat(lines)),
        )
    };
    assert_eq!(too_long(&[file(MOST_LINES)]), Vec::<String>::new());
    assert_eq!(too_long(&[file(MOST_LINES + 1)]).len(), 1);
}
