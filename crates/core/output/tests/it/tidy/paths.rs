//! Paths that exist on one machine only.

use std::path::Path;

use super::source::Source;

/// Folders below which nothing is the same on two machines.
const OF_ONE_MACHINE: &[&str] = &["home", "root", "tmp", "Users"];

/// Folders that every system has.
const OF_EVERY_MACHINE: &[&str] = &["bin", "dev", "etc", "proc", "sys", "usr", "var"];

/// Absolute paths below such a folder, or that exist here.
pub(super) fn of_one_machine(source: &Source) -> Vec<String> {
    let what = |path: &str| {
        format!("`{path}` is a path of one machine: start at the repository, or ask for a folder")
    };
    let paths = absolute_paths(&source.text).filter(|(_, path)| is_of_one_machine(path));
    paths
        .map(|(at, path)| source.problem(&source.text, at, &what(path)))
        .collect()
}

fn is_of_one_machine(path: &str) -> bool {
    let mut parts = path.split('/').skip(1).filter(|part| !part.is_empty());
    let (Some(top), Some(_)) = (parts.next(), parts.next()) else {
        return false;
    };
    OF_ONE_MACHINE.contains(&top) || !OF_EVERY_MACHINE.contains(&top) && Path::new(path).exists()
}

/// What looks like an absolute path: a slash that starts a word, and what follows.
fn absolute_paths(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let starts = text.match_indices('/').map(|(at, _)| at);
    let starts = starts
        .filter(|&at| text[..at].ends_with(|c: char| c.is_whitespace() || "\"'`=(,:".contains(c)));
    starts.map(|at| {
        let end = text[at..].find(|c: char| !c.is_alphanumeric() && !"/._-+".contains(c));
        (at, &text[at..end.map_or(text.len(), |end| at + end)])
    })
}

#[test]
fn only_paths_of_one_machine_are_seen() {
    let here = env!("CARGO_MANIFEST_DIR");
    let (home, tmp) = (
        ["", "home", "me", "x"].join("/"),
        ["", "tmp", "x"].join("/"),
    );
    for (text, is_bad) in [
        (format!("let dump = \"{home}\";"), true),
        (format!("out={tmp}"), true),
        (format!("cd {here}"), true),
        (format!("https://example.com{home} and shop{tmp}"), false),
        ("#!/usr/bin/env bash\ncat </dev/null".to_owned(), false),
        ("root.pointer(\"/items/0/spec\"); // a/b".to_owned(), false),
    ] {
        assert_eq!(
            !of_one_machine(&Source::new("scripts/a", text.clone())).is_empty(),
            is_bad,
            "{text}"
        );
    }
}
