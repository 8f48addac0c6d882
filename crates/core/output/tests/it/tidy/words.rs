//! Words that say a thing is unfinished, or that a check was switched off.

use super::source::Source;

const IN_CODE: &[(&str, &str)] = &[
    ("todo!", "finish it or leave it out"),
    ("unimplemented!", "finish it or leave it out"),
    ("dbg!", "left over from debugging"),
    (
        "#[ignore",
        "a test that does not run proves nothing: repair it or delete it",
    ),
    (
        "#[should_panic",
        "any panic would pass: assert on the value",
    ),
    (
        "[allow(",
        "use `#[expect(…, reason = \"…\")]`, which complains once it is not needed",
    ),
    (
        "fn test_",
        "a test's name is a sentence that says what holds",
    ),
];

/// The binary may print, by anstream or under an `expect`; clippy looks after it.
const IN_LIBRARIES: &[&str] = &["println!", "eprintln!", "print!", "eprint!"];

const IN_COMMENTS: &[&str] = &["FIXME", "XXX", "HACK"];

pub(super) fn in_rust(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    for (word, what) in IN_CODE {
        let say = |at| source.problem(&source.code, at, &format!("`{word}`: {what}"));
        problems.extend(places(&source.code, word).map(say));
    }
    let library = source.path.starts_with("crates/meshladder-") && source.path.contains("/src/");
    for word in IN_LIBRARIES.iter().filter(|_| library) {
        let say = |at| {
            source.problem(
                &source.code,
                at,
                &format!("`{word}`: a library returns text, the binary prints"),
            )
        };
        problems.extend(places(&source.code, word).map(say));
    }
    for at in places(&source.code, "[expect(") {
        let attribute = source.code[at..].split(")]").next().unwrap_or_default();
        if !attribute.contains("reason =") {
            problems.push(source.problem(&source.code, at, "`expect` without a `reason`"));
        }
    }
    problems.extend(marks(source, &source.comments));
    problems
}

pub(super) fn in_script(source: &Source) -> Vec<String> {
    marks(source, &source.text)
}

fn marks(source: &Source, text: &str) -> Vec<String> {
    let say =
        |(word, at)| source.problem(text, at, &format!("`{word}`: do it now, or open an issue"));
    IN_COMMENTS
        .iter()
        .flat_map(|word| places(text, word).map(move |at| (word, at)))
        .map(say)
        .collect()
}

/// Where the word stands as a word of its own. One that ends in `_` is the start of longer ones.
fn places(text: &str, word: &str) -> impl Iterator<Item = usize> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let goes_on_before = word.starts_with(in_word);
    let goes_on_behind = word.ends_with(char::is_alphanumeric);
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |&at| {
            !(goes_on_before && text[..at].ends_with(in_word)
                || goes_on_behind && text[at + word.len()..].starts_with(in_word))
        })
}

#[test]
fn unfinished_work_is_seen_in_code_and_in_comments_only() {
    for (text, problems) in [
        ("fn f() { todo!() }", 1),
        ("fn f() { dbg!(unimplemented!(\"x\")) }", 2),
        (
            "let s = \"todo! #[ignore] FIXME\"; // todo! #[allow(dead_code)]",
            0,
        ),
        ("my_todo!();", 0),
        ("#[test]\n#[ignore = \"slow\"]\nfn it_holds() {}", 1),
        ("#[test]\n#[should_panic]\nfn test_it() {}", 2),
        ("#![allow(dead_code)]", 1),
        ("#[expect(dead_code)]", 1),
        (
            "#[expect(\n    dead_code,\n    reason = \"(used [soon)]\"\n)]",
            0,
        ),
        ("// FIXME: later\n/* HACK */ let HACKED = 1; // XXXX", 2),
        ("println!(); eprint!(); std::print!();", 3),
    ] {
        let found = in_rust(&Source::new("crates/core/text/src/a.rs", text));
        assert_eq!(found.len(), problems, "{text}: {found:?}");
    }
    assert_eq!(
        in_rust(&Source::new("crates/meshladder/src/main.rs", "println!();")),
        Vec::<String>::new()
    );
    assert_eq!(
        in_script(&Source::new("scripts/a", "mktemp XXXXXX # XXX")),
        ["scripts/a:1: `XXX`: do it now, or open an issue"]
    );
}
