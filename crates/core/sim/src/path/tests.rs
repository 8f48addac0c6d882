use super::*;
use crate::request::tests::get as request;

/// Host and path as matchers see them, or code, details and location of the answer.
fn enter(manager: &str, authority: &str, path: &str) -> (String, String) {
    let manager = RequestPreparation::compile(Raw::of(manager).expect("JSON"), &Runtime::default());
    match manager.enter(&request(authority, path)) {
        PreparedRequest::Request(request) => (request.authority.clone(), request.path.clone()),
        PreparedRequest::Answered { answer, location } => (
            format!("{} {}", answer.code, answer.details),
            location.unwrap_or_default(),
        ),
    }
}

#[test]
fn paths_are_normalized_as_envoy_was_seen_to_do() {
    for (path, expected) in [
        ("/f%6Fo", "/foo"),
        ("/foo%2e%2e", "/foo.."),
        ("/x/%2e%2e/foo", "/foo"),
        ("/x\\..\\foo", "/foo"),
        ("/foo%2fbar", "/foo%2fbar"),
        ("/x//../foo", "/x/foo"),
        ("/foo/bar/..", "/foo/"),
        ("/%zz", "/%zz"),
        ("/a%2", "/a%2"),
        ("//a//..//b", "//a//b"),
        ("/x/../../..", "/"),
        ("/a/...", "/a/..."),
        ("/a/..;x/b", "/b"),
        ("/a/.;x/b", "/a/b"),
        ("/a/..;x\\b", "/"),
        ("/a/%2e;x/b", "/a/.;x/b"),
        ("/a/..%3bx/b", "/a/..%3bx/b"),
        ("/a/..;%00/b", "/b"),
        ("/a?x/../%41", "/a?x/../%41"),
        ("/\"<>^`{|}", "/%22%3C%3E%5E%60%7B%7C%7D"),
    ] {
        assert_eq!(
            enter(r#"{"normalize_path": true}"#, "a", path).1,
            expected,
            "{path}"
        );
        assert_eq!(enter("{}", "a", path).1, path);
    }
    for path in ["/foo%00", "/foo#x", "/?a#x"] {
        assert_eq!(
            enter(r#"{"normalize_path": true}"#, "a", path).0,
            "400 path_normalization_failed",
            "{path}"
        );
    }
}

#[test]
fn slashes_are_merged_and_unescaped_when_told() {
    let merge = r#"{"merge_slashes": true}"#;
    for (path, expected) in [
        ("//a", "/a"),
        ("/a///", "/a/"),
        ("///", "//"),
        ("//?//", "//?//"),
        ("/a//..", "/a/.."),
    ] {
        assert_eq!(enter(merge, "a", path).1, expected, "{path}");
    }
    let with = |action: &str| {
        format!(r#"{{"normalize_path": true, "path_with_escaped_slashes_action": "{action}"}}"#)
    };
    assert_eq!(
        enter(&with("UNESCAPE_AND_FORWARD"), "a", "/a%5C..%2fb?%2f").1,
        "/b?%2f"
    );
    let (answer, location) = enter(&with("UNESCAPE_AND_REDIRECT"), "a", "/a%2fb");
    assert_eq!(
        (&*answer, &*location),
        ("307 path_normalization_failed", "/a/b")
    );
    assert_eq!(
        enter(&with("REJECT_REQUEST"), "a", "/a%2fb").0,
        "400 path_normalization_failed"
    );
    assert_eq!(
        enter(&with("REJECT_REQUEST"), "a", "/a%252f?%2f").1,
        "/a%252f?%2f"
    );
}

#[test]
fn hosts_lose_dot_and_port_when_told() {
    let any = r#"{"strip_trailing_host_dot": true, "strip_any_host_port": true}"#;
    for (host, expected) in [
        ("a.test.", "a.test"),
        ("a.test.:80", "a.test"),
        ("a.test:x", "a.test:x"),
        ("[::1]:80", "[::1]"),
        ("[::1]", "[::1]"),
        ("a..", "a."),
        ("a:+5", "a"),
        ("a:1:2", "a:1"),
        ("a b", "400 http.invalid_authority"),
    ] {
        assert_eq!(enter(any, host, "/").0, expected, "{host}");
    }
    let matching = r#"{"strip_matching_host_port": true}"#;
    assert_eq!(
        (
            enter(matching, "a:8080", "/").0,
            enter(matching, "a:80", "/").0
        ),
        ("a".to_owned(), "a:80".to_owned())
    );
}

#[test]
fn istio_lets_fragments_in_and_cuts_them_off() {
    let bootstrap = r#"{"layered_runtime": {"layers": [{"static_layer": {"envoy.reloadable_features.http_reject_path_with_fragment": false}}]}}"#;
    let runtime = Runtime::compile(Raw::of(bootstrap).expect("JSON"));
    let manager = RequestPreparation::compile(Raw::of("{}").expect("JSON"), &runtime);
    let request = request("a", "/a?b#c");
    let PreparedRequest::Request(entered) = manager.enter(&request) else {
        panic!("it was answered")
    };
    assert_eq!(entered.path, "/a?b");
}

#[test]
fn http_10_is_let_in_only_when_told() {
    let mut request = request("", "/");
    request.connection.plain_http = Some("http/1.0");
    let enter = |manager: &str| {
        let manager =
            RequestPreparation::compile(Raw::of(manager).expect("JSON"), &Runtime::default());
        match manager.enter(&request) {
            PreparedRequest::Request(request) => request.authority.clone(),
            PreparedRequest::Answered { answer, .. } => answer.details,
        }
    };
    assert_eq!(enter("{}"), "low_version");
    let text = r#"{"http_protocol_options": {"accept_http_10": true, "default_host_for_http_10": "ten.test"}}"#;
    assert_eq!(enter(text), "ten.test");
}

#[test]
fn headers_are_joined_and_taken_away_as_envoy_was_seen_to_do() {
    let after = |manager: &str, headers: &[(&str, &str)]| {
        let manager =
            RequestPreparation::compile(Raw::of(manager).expect("JSON"), &Runtime::default());
        let headers = headers
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let request = Request {
            headers,
            ..request("a", "/")
        };
        let PreparedRequest::Request(entered) = manager.enter(&request) else {
            panic!("it was answered")
        };
        entered
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        after(
            "{}",
            &[("user-agent", "a"), ("x", "1"), ("user-agent", "b")]
        ),
        ["user-agent: a,b", "x: 1"]
    );
    assert_eq!(
        after("{}", &[("x-request-id", ""), ("x-request-id", "b")]),
        ["x-request-id: b"]
    );
    assert_eq!(
        after(
            "{}",
            &[("x", "1"), ("x", "2"), ("cookie", "a=1"), ("cookie", "b=2")]
        )
        .len(),
        4
    );
    let gone = [
        ("keep-alive", "1"),
        ("te", "gzip"),
        ("upgrade", "x"),
        ("x-envoy-retry-on", "5xx"),
        ("x-forwarded-client-cert", "x"),
    ];
    assert_eq!(after("{}", &gone), [""; 0]);
    assert_eq!(
        after(
            "{}",
            &[
                ("te", "trailers"),
                ("connection", "upgrade"),
                ("upgrade", "x")
            ]
        )
        .len(),
        3
    );
    assert_eq!(
        after(r#"{"internal_address_config": {}}"#, &gone),
        ["x-envoy-retry-on: 5xx"]
    );
    let edge = [("x-envoy-original-path", "/x"), ("x-request-id", "1")];
    assert_eq!(
        (
            after("{}", &edge).len(),
            after(r#"{"use_remote_address": true}"#, &edge).len()
        ),
        (2, 0)
    );
    let forward = r#"{"forward_client_cert_details": "ALWAYS_FORWARD_ONLY"}"#;
    assert_eq!(after(forward, &gone), ["x-forwarded-client-cert: x"]);
}
