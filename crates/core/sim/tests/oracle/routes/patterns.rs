//! Regular expressions on which RE2 and others differ, and random ones made of their parts.

use meshladder_text::regex::Regex;

use crate::harness::Random;

/// For paths.
const PATHS: &[&str] = &[
    "/foo.*",
    "/f(o|O)+",
    "(?i)/FOO",
    r"/\Qa.b\E",
    "/[a&&b]+",
    "/a{,2}",
    "/a{2}",
    r"/\w+",
    "/[[:alpha:]]+/?",
    "/foo(/.*)?",
    "/[^/]+",
    "/.",
    "/foo|/bar",
    "(?:/foo|/bar)/.*",
    r"/\d+",
    r"/foo\b.*",
    "/foo$",
    "^/foo",
    ".*",
    r"/a\.b",
    r".*\.b",
    "/[a-c-e]+",
    r"/[\w-]+",
    "(?P<v>/foo)/?",
    r"/\x66oo",
    r"/\146oo",
    "/foo%2[fF].*",
];

/// For header values.
const VALUES: &[&str] = &[
    r"\d+",
    r"\w",
    r"\W",
    r"\s*",
    r"[^\d]",
    r"(?i)\w",
    "(?i)k",
    "(?i)s",
    "(?i)AB?",
    ".",
    "..",
    ".?",
    r"\pL",
    r"\PL",
    r"\p{Greek}",
    "[[:^alpha:]]",
    r"a\b.*",
    r"a\B.*",
    "[a&&b]",
    "[~~a]",
    r"[\d-z]",
    "a{,2}",
    "{",
    r"\Q{\E",
    "(?s).*",
    "[é-ü]",
    r"\x{e9}",
    "(?i)É",
    "a|ab",
    "(a|ab)(c|bcd)?",
    "[]a]",
    "a+?b*",
    "1|2",
];

/// What random patterns are made of.
const PARTS: &[&str] = &[
    "a",
    "b",
    "1",
    "é",
    "/",
    ".",
    r"\.",
    r"\w",
    r"\d",
    r"\b",
    r"\s",
    "[ab]",
    "[^a]",
    "[a-c-]",
    "[&&a]",
    "(",
    ")",
    "(?:",
    "(?i)",
    "(?i:",
    "|",
    "*",
    "+",
    "?",
    "{2}",
    "{0,1}",
    "{,2}",
    "{",
    "}",
    "^",
    "$",
    r"\Q",
    r"\E",
    r"\pL",
    "[[:alnum:]]",
    "k",
    "K",
    r"\-",
    "-",
    "]",
    r"\141",
    r"\x61",
    "(?-i)",
    "(?s)",
    "*?",
    "&&",
    "~",
];

/// A pattern for paths.
pub(super) fn for_path(random: &mut Random) -> String {
    if random.chance(70) {
        random.word(PATHS).to_owned()
    } else {
        composed(random, "/")
    }
}

/// A pattern for values.
pub(super) fn for_value(random: &mut Random) -> String {
    if random.chance(60) {
        random.word(VALUES).to_owned()
    } else {
        composed(random, "")
    }
}

/// A random pattern. Those we cannot evaluate are left out; one that Envoy refuses ends the run, as
/// it should.
fn composed(random: &mut Random, start: &str) -> String {
    loop {
        let length = random.below(6) + 1;
        let parts: String = (0..length).map(|_| random.word(PARTS)).collect();
        let pattern = format!("{start}{parts}");
        if Regex::full(&pattern).problem().is_none() {
            return pattern;
        }
    }
}
