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
    let library = !source.path.starts_with("crates/meshladder/") && source.path.contains("/src/");
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

/// Tests that may end before they have looked: a bare `return` in one passes it.
pub(super) fn early_ends(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    for start in places(&source.code, "#[test]") {
        let line = source.code[..start].rfind('\n').map_or(0, |at| at + 1);
        // A test ends at the first brace that stands as far in as its attribute.
        let end = format!("\n{}}}", &source.code[line..start]);
        let test = &source.code[start..];
        let test = &test[..test.find(&end).unwrap_or(test.len())];
        for at in places(test, "return") {
            let rest = test[at + "return".len()..].trim_start();
            if rest.starts_with([';', '}', ',']) {
                let what =
                    "a test that ends early passes without looking: give it something to look at";
                problems.push(source.problem(&source.code, start + at, what));
            }
        }
    }
    let is_helper =
        source.path.ends_with("tests/it/meshes.rs") || source.path.ends_with("tidy/words.rs");
    if let Some(at) = source
        .text
        .find("MESHLADDER_SHARED\"")
        .filter(|_| !is_helper)
    {
        let what = "only tests/it/meshes.rs looks where the large captures are";
        problems.push(source.problem(&source.text, at, what));
    }
    problems
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
fn a_test_that_ends_early_is_seen() {
    for (text, problems) in [
        (
            "#[test]\nfn a() {\n    let Some(x) = y() else { return };\n}\n",
            1,
        ),
        (
            "#[test]\nfn a() {\n    let Some(x) = y() else {\n        return;\n    };\n}\n",
            1,
        ),
        (
            "#[test]\nfn a() {\n    match y() { Some(_) => {}, None => return, }\n}\n",
            1,
        ),
        (
            "#[test]\nfn a() {\n    each(|x| { return x + 1; });\n}\n\nfn b() {\n    return;\n}\n",
            0,
        ),
        (
            "mod tests {\n    #[test]\n    fn a() {\n        if x { return }\n    }\n}\n",
            1,
        ),
        ("fn a() { env::var_os(\"MESHLADDER_SHARED\"); }", 1),
    ] {
        let found = early_ends(&Source::new("crates/collect/tests/it/a.rs", text));
        assert_eq!(found.len(), problems, "{text}: {found:?}");
    }
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
