use super::*;
use crate::request::{Claims, Connection};
use crate::{Request, Tri};
use meshladder_text::json::Raw;

fn raw(text: &str) -> Raw<'_> {
    Raw::of(text).expect("JSON")
}

fn request(path: &str, headers: &[(&str, &str)]) -> Request {
    Request {
        connection: Connection {
            destination: ([10, 0, 0, 1].into(), 80),
            source: None,
            tls: None,
            plain_http: Some("http/1.1"),
        },
        method: "GET".to_owned(),
        scheme: "http".to_owned(),
        authority: "a.test".to_owned(),
        path: path.to_owned(),
        headers: headers
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        claims: Claims::None,
        unknown_headers: Vec::new(),
    }
}

#[test]
fn string_matchers_heed_case_only_when_told() {
    for (matcher, value, expected) in [
        (r#"{"exact": "Ab"}"#, "ab", Tri::No),
        (r#"{"exact": "Ab", "ignore_case": true}"#, "aB", Tri::Yes),
        (
            r#"{"contains": "bC", "ignore_case": true}"#,
            "aBcd",
            Tri::Yes,
        ),
        (r#"{"suffix": "", "ignore_case": true}"#, "", Tri::Yes),
        (
            r#"{"safe_regex": {"regex": "a"}, "ignore_case": true}"#,
            "A",
            Tri::No,
        ),
        (r#"{"custom": {"name": "x"}}"#, "A", Tri::unknown("x")),
    ] {
        assert_eq!(
            StringMatcher::compile(raw(matcher)).matches(value),
            expected,
            "{matcher} on {value}"
        );
    }
}

#[test]
fn a_header_that_clients_add_is_unknown_until_stated() {
    let matcher = HeaderMatcher::compile(raw(
        r#"{"name": "User-Agent", "string_match": {"prefix": "curl"}}"#,
    ));
    assert_eq!(
        matcher.matches(&request("/", &[])),
        Tri::unknown("the header user-agent")
    );
    assert_eq!(
        matcher.matches(&request("/", &[("user-agent", "curl/8")])),
        Tri::Yes
    );
    assert_eq!(
        matcher.why(&request("/", &[("user-agent", "x")])),
        "header user-agent `x` does not start with `curl`"
    );
}

#[test]
fn each_line_of_a_header_is_judged_alone() {
    let exact = HeaderMatcher::compile(raw(r#"{"name": "x", "string_match": {"exact": "1"}}"#));
    let not = HeaderMatcher::compile(raw(
        r#"{"name": "x", "exact_match": "1", "invert_match": true}"#,
    ));
    let two = request("/", &[("x", "2"), ("x", "1")]);
    assert_eq!(
        (exact.matches(&two), not.matches(&two)),
        (Tri::Yes, Tri::No)
    );
    let joined = request("/", &[("x", "2,1")]);
    assert_eq!(
        (exact.matches(&joined), not.matches(&joined)),
        (Tri::No, Tri::Yes)
    );
}

#[test]
fn only_the_first_value_of_a_query_parameter_counts() {
    let matcher =
        QueryParameterMatcher::compile(raw(r#"{"name": "q", "string_match": {"exact": "1"}}"#));
    for (path, expected) in [
        ("/?q=1", true),
        ("/?a=b&q=1", true),
        ("/?q=2&q=1", false),
        ("/?q", false),
        ("/?Q=1", false),
    ] {
        assert_eq!(matcher.matches(path), expected.into(), "{path}");
    }
    assert_eq!(query_parameter("/?q", "q"), Some(""));
}

#[test]
fn a_missing_cookie_matches_only_inverted() {
    let text = r#"{"name": "a", "string_match": {"exact": "1"}, "invert_match": true}"#;
    let matcher = CookieMatcher::compile(raw(text));
    assert_eq!(matcher.matches(&request("/", &[])), Tri::Yes);
    assert_eq!(
        matcher.matches(&request("/", &[("cookie", "b=2; a=1")])),
        Tri::No
    );
}

#[test]
fn path_specifiers_differ_at_their_ends() {
    for (key, text, path, expected) in [
        ("prefix", r#""/foo""#, "/foobar", true),
        ("path_separated_prefix", r#""/foo""#, "/foobar", false),
        ("path_separated_prefix", r#""/foo""#, "/foo/", true),
        ("path", r#""/foo""#, "/foo/", false),
        ("safe_regex", r#"{"regex": "/f.*"}"#, "/foo", true),
        (
            "path_match_policy",
            r#"{"typed_config": {"path_template": "/foo/*"}}"#,
            "/foo/a",
            true,
        ),
        (
            "path_match_policy",
            r#"{"typed_config": {"path_template": "/foo/*"}}"#,
            "/foo/",
            false,
        ),
        (
            "path_match_policy",
            r#"{"typed_config": {"path_template": "/{a}/**"}}"#,
            "/x/",
            true,
        ),
        ("connect_matcher", "{}", "/", false),
    ] {
        let matcher = PathMatch::compile(key, raw(text)).expect("a path specifier");
        assert_eq!(
            matcher.matches(path),
            expected.into(),
            "{key} {text} on {path}"
        );
    }
}

#[test]
fn what_was_redacted_is_not_compared() {
    use super::StringMatcher;
    for (matcher, value, wanted) in [
        (
            StringMatcher::exact("Bearer [redacted]"),
            "Bearer abcdefghijk",
            Tri::unknown(""),
        ),
        (
            StringMatcher::exact("Bearer [redacted]"),
            "Basic abcdefghijk",
            Tri::No,
        ),
        (StringMatcher::exact("****"), "abcd", Tri::unknown("")),
        (StringMatcher::prefix("k-[redacted]"), "x-1", Tri::No),
        (
            StringMatcher::prefix("k-[redacted]"),
            "k-1",
            Tri::unknown(""),
        ),
        (
            StringMatcher::contains("[redacted]"),
            "k-1",
            Tri::unknown(""),
        ),
        (StringMatcher::regex("[redacted]"), "d", Tri::unknown("")),
        (StringMatcher::exact("abc"), "[redacted]", Tri::unknown("")),
        (StringMatcher::exact("*"), "*", Tri::Yes),
    ] {
        assert_eq!(matcher.matches(value), wanted, "{matcher:?} {value}");
    }
}
