use super::problem;

#[test]
fn what_the_language_allows_is_taken() {
    for text in [
        "response.code >= 400",
        "response.code >= 400 || connection.mtls == false",
        "!has(request.auth.claims.sub) && request.headers['x-a'] != ''",
        "'x-forwarded-for' in request.headers",
        "request.path.startsWith('/api') ? \"a\" : 'b'",
        "request.path.matches(r'^/v\\d+/')",
        "request.url_path.matches('^/v[0-9]+\\\\.json$')",
        "xds.cluster_name == 'outbound|80||a.b.svc.cluster.local'",
        "response.duration > duration('1s') && timestamp(\"2024-01-01T00:00:00Z\") < request.time",
        "[1, 2u, 0xff, 1.5e3, .5, -1, - 2,].exists(x, x == response.code)",
        "{'a': 1, \"b\": [true, false, null]}['a'] == 1",
        "filter_state['wasm.x'].y.z",
        "metadata.filter_metadata['envoy.filters.http.jwt_authn'].payload.iss",
        "response.code in [200, 201]",
        "(request.size + 10) % 3 * 2 - 1 / 4 == 0",
        "string(response.code) + '''a\n'b''' + b\"\\x00\\077\" + rb'\\d'",
        "!!a && --b == 1 && a[?'x'].?y.orValue(1) == 2",
        "google.protobuf.Duration{seconds: 5}.seconds == 5 // half a request",
        "a\n  || b",
        ".x.y == null",
        "'ünïcode' == request.headers.`x-y`",
    ] {
        assert_eq!(problem(text), None, "{text}");
    }
}

#[test]
fn what_is_none_is_told_with_the_first_thing_wrong() {
    for (text, what) in [
        ("", "it ends where a value is needed"),
        ("response.code >=", "it ends where a value is needed"),
        ("response.code => 400", "`=` means nothing"),
        ("response.code >> 400", "`>` stands where a value is needed"),
        ("response.code = 400", "`=` means nothing"),
        (
            "response.code >= 400 and connection.mtls",
            "`and` is out of place",
        ),
        ("(response.code >= 400", "it ends where `)` is needed"),
        ("response.code >= 400)", "`)` is out of place"),
        ("response.code >= '400", "a string is not closed: '400"),
        (
            "request.path.matches('\\d')",
            "`\\d` is no escape; a string with an r before its quotes has none",
        ),
        ("a ? b", "it ends where `:` is needed"),
        ("a & b", "`&` means nothing"),
        (
            "%RESPONSE_CODE% >= 400",
            "`%` stands where a value is needed",
        ),
        ("request.headers[x-y", "it ends where `]` is needed"),
        ("f(a,)", "`)` stands where a value is needed"),
        ("a..b", "`.` stands where a value is needed"),
        ("{'a' 1}", "`1` stands where `:` is needed"),
        ("a b", "`b` is out of place"),
        ("1 2", "`2` is out of place"),
    ] {
        assert_eq!(problem(text).as_deref(), Some(what), "{text}");
    }
}

#[test]
fn however_deep_or_long_it_ends() {
    assert_eq!(problem(&"(".repeat(100_000)), None);
    assert_eq!(
        problem(&"!".repeat(100_000)).as_deref(),
        Some("it ends where a value is needed")
    );
    assert_eq!(problem(&vec!["a"; 100_000].join(" && ")), None);
    let text = "a ? [b, {'c': d(e)[f]}] : g.h('i\\n') || -1.5e3 in j // k";
    for (at, _) in text.char_indices() {
        for cut in [&text[..at], &text[at..]] {
            let _ = problem(cut);
        }
    }
}
