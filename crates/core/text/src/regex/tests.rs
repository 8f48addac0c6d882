use super::*;

/// Pattern, text, and whether RE2 (google-re2, Latin-1, full match) says they match.
const SAID_BY_RE2: &[(&str, &str, bool)] = &[
    ("a{02}", "a{02}", true),
    ("a{02}", "aa", false),
    ("a{,3}", "a{,3}", true),
    ("a{2}?", "aa", true),
    ("{", "{", true),
    (r"\d", "٣", false),
    (r"\w", "é", false),
    (r"\W", "é", false),
    (r"\W\W", "é", true),
    (r"[^\d]", "é", false),
    (r"(?i)\w", "ſ", false),
    (r"\s", "\x0b", false),
    ("(?i)k", "\u{212a}", false),
    (r"\C\C", "é", true),
    ("é", "é", true),
    ("(?i)É", "é", false),
    ("..", "é", true),
    (".", "\n", false),
    ("(?s).", "\n", true),
    ("[^a]", "\n", true),
    (r"a\b.*", "aé", true),
    (r"\Qa.b\E+", "a.bb", true),
    (r"\Qa.b", "a.b", true),
    (r"\07", "\x07", true),
    (r"\1234", "S4", true),
    (r"\<a", "<a", true),
    (r"\_\/", "_/", true),
    (r"\x41\x{42}", "AB", true),
    ("[&&a]", "&", true),
    ("[a&&b]", "a", true),
    ("[~~a]", "~", true),
    ("[a-c-e]", "d", false),
    ("[a-c-e]", "-", true),
    ("[+--]", ",", true),
    (r"[\d-z]", "-", true),
    ("[[:word:]-z]", "-", true),
    ("[[:^alpha:]]", "a", false),
    ("[[:foo]]", "f]", true),
    ("[[.a.]]", "a]", true),
    ("[]a]", "]", true),
    ("[^]a]", "]", false),
    (r"\pL.", "é", true),
    (r".\pL", "é", false),
    (r"\P{^Lu}", "A", true),
    (r"\xc3\xa9", "é", true),
    ("[é-ü]", "é", false),
    ("[é-ü][é-ü]", "é", true),
    ("(?P<a>x)(?<b>y)", "xy", true),
    ("(?i-i:A)", "a", false),
    ("(?)a", "a", true),
    ("(?i)a|b", "B", true),
    ("^*a$", "a", true),
    ("a|", "", true),
    ("(?:a{500}){2}", "a", false),
];

/// Patterns that RE2 refuses.
const REFUSED_BY_RE2: &[&str] = &[
    "[[:foo:]]",
    "[[:^^alpha:]]",
    r"[a-\d]",
    r"[\b]",
    r"[\Q]",
    "[a--b]",
    "[a",
    "[]",
    r"\p{Cn}",
    r"\pX",
    r"\p{any}",
    r"\8",
    r"\1",
    r"\Z",
    r"\cA",
    r"\x4",
    r"\é",
    "\\",
    "a{0}{2}",
    "a**",
    "x*+",
    "a*??",
    "a|*",
    "*",
    "(*)",
    "a{1001}",
    "a{2,1}",
    "(a{100}){20}",
    "(?:a{500}){3}",
    "(a{2,}){501}",
    "(?i-)",
    "(?-)",
    "(?--i)",
    "(?x)a",
    "(?u)a",
    "(?=a)",
    "(a",
    "a)",
    "(?P<a.b>x)",
    r"\x{100}",
];

#[test]
fn patterns_mean_what_they_mean_to_re2() {
    for &(pattern, text, expected) in SAID_BY_RE2 {
        let regex = Regex::full(pattern);
        assert_eq!(
            regex.matches(text),
            expected.into(),
            "{pattern} on {text:?}: {:?}",
            regex.problem()
        );
    }
}

#[test]
fn what_re2_refuses_is_unknown_and_named() {
    for pattern in REFUSED_BY_RE2 {
        let Tri::Unknown(fact) = Regex::full(pattern).matches("a") else {
            panic!("{pattern} was accepted")
        };
        assert!(fact.contains(&format!("`{pattern}`")), "{fact}");
    }
}

#[test]
fn what_cannot_be_translated_is_unknown() {
    for pattern in [r"a(?i)*", r"\p{Cs}"] {
        assert!(Regex::full(pattern).problem().is_some(), "{pattern}");
    }
}

#[test]
fn only_whole_texts_match() {
    let regex = Regex::full("/a|/b");
    for (text, expected) in [
        ("/a", true),
        ("/b", true),
        ("/a/b", false),
        ("/b\n", false),
        ("", false),
    ] {
        assert_eq!(regex.matches(text), expected.into(), "{text:?}");
    }
}

#[test]
fn rewriting_refers_to_groups_by_number() {
    for (pattern, substitution, text, expected) in [
        (
            "^/service/([^/]+)(/.*)$",
            r"\2/instance/\1",
            "/service/foo/v1/api",
            "/v1/api/instance/foo",
        ),
        ("one", "two", "/xxx/one/yyy/one/zzz", "/xxx/two/yyy/two/zzz"),
        (
            "^(.*?)one(.*)$",
            r"\1two\2",
            "/xxx/one/yyy/one/zzz",
            "/xxx/two/yyy/one/zzz",
        ),
        ("(?i)/xxx/", "/yyy/", "/aaa/XxX/bbb", "/aaa/yyy/bbb"),
        ("(a)|b", r"[\1\\]", "ab", r"[a\][\]"),
    ] {
        assert_eq!(
            Rewrite::compile(pattern, substitution)
                .apply(text)
                .as_deref(),
            Some(expected),
            "{pattern}"
        );
    }
}

#[test]
fn what_a_match_starts_with_is_taken_only_from_what_is_plain() {
    for (pattern, prefix) in [
        ("/api/v[0-9]+", "/api/v"),
        ("/ab*", "/a"),
        ("/ab?c", "/a"),
        ("/a{2}", "/"),
        ("/a|/b", ""),
        ("/(a|b)", ""),
        ("(?i)/a", ""),
        ("/a.b", "/a"),
        ("^/a", ""),
        ("/é", "/"),
        ("*", ""),
    ] {
        assert_eq!(literal_prefix(pattern), prefix, "{pattern}");
    }
}
