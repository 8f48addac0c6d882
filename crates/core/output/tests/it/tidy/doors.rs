//! Foreign text goes through one place each on its way to a terminal and to a shell.

use super::source::Source;

/// What writes to the terminal, and the files that may.
const DOORS: [(&str, &[&str]); 6] = [
    ("println!", &[]),
    ("print!", &[]),
    ("eprint!", &[]),
    ("anstream::", &["crates/meshladder/src/out.rs"]),
    ("io::stdout()", &["crates/meshladder/src/out.rs"]),
    (
        "io::stderr()",
        &[
            "crates/meshladder/src/out.rs",
            "crates/meshladder/src/progress.rs",
        ],
    ),
];

/// Whoever prints goes around no door.
pub(super) fn around_the_terminal(source: &Source) -> Vec<String> {
    if !source.path.starts_with("crates/meshladder/src/") {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for (word, may) in DOORS {
        if may.contains(&source.path.as_str()) {
            continue;
        }
        let code = source.product_code();
        for (at, _) in code.match_indices(word) {
            let asks_only = code[at + word.len()..].starts_with(".is_terminal()");
            let is_longer = word == "print!" && code[..at].ends_with('e');
            if !asks_only && !is_longer {
                problems.push(source.problem(code, at, "text goes to the terminal by `out`"));
            }
        }
    }
    problems
}

/// Escape codes are made where they are printed, and a shell's quotes by one function.
pub(super) fn made_elsewhere(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    if source.is_test() || !source.path.contains("/src/") {
        return problems;
    }
    let product = source
        .text
        .find("#[cfg(test)]\nmod ")
        .map_or(source.text.as_str(), |tests| &source.text[..tests]);
    for (word, may, what) in [
        (
            "\\x1b[",
            "crates/meshladder/src/out.rs",
            "escape codes are made by `out`",
        ),
        (
            r#"r"'\''""#,
            "crates/core/text/src/shell.rs",
            "words are quoted by `text::shell`",
        ),
        (
            r#""'\\''""#,
            "crates/core/text/src/shell.rs",
            "words are quoted by `text::shell`",
        ),
        (
            "format!(\"kubectl ",
            "",
            "commands are made by `shell::command`",
        ),
        (
            "format!(\n            \"kubectl ",
            "",
            "commands are made by `shell::command`",
        ),
    ] {
        if source.path != may {
            let say = |(at, _)| source.problem(product, at, what);
            problems.extend(product.match_indices(word).map(say));
        }
    }
    problems
}
