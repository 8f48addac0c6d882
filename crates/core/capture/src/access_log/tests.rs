//! Lines as proxies write them.

use super::*;

#[test]
fn istio_s_text_format_is_read_field_by_field() {
    let text = r#"[2026-11-15T06:31:02.101Z] "GET /debug/health?x=1 HTTP/1.1" 503 UF,URX upstream_reset_before_response_started{connection_failure} - "delayed connect error: 111" 0 152 1004 - "-" "curl/8" "a-b" "cart.shop:8080" "10.244.1.9:8080" outbound|8080||cart.shop.svc.cluster.local - 10.96.0.7:8080 10.244.1.4:4040 - default"#;
    let line = parse(text).expect("it is a line");
    assert_eq!(
        (line.code, line.method.as_str(), line.path_only()),
        (503, "GET", "/debug/health")
    );
    assert_eq!(line.flags, ["UF", "URX"]);
    assert_eq!(line.failure, "delayed connect error: 111");
    assert_eq!(
        (
            line.duration,
            line.authority.as_str(),
            line.upstream_host.as_str()
        ),
        (Some(1004), "cart.shop:8080", "10.244.1.9:8080")
    );
    assert_eq!(
        (line.cluster.as_str(), line.route.as_str()),
        ("outbound|8080||cart.shop.svc.cluster.local", "default")
    );
    assert_eq!(
        (
            line.local.as_str(),
            line.remote.as_str(),
            line.server_name.as_str()
        ),
        ("10.96.0.7:8080", "10.244.1.4:4040", "")
    );
}

#[test]
fn what_is_no_access_log_is_left_alone() {
    for text in [
        "",
        "2026-11-15T06:30:49.298228Z\tinfo\tStarting",
        "[Envoy (Epoch 0)] [2026]",
        "{\"level\":\"info\"}",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
    let json = r#"{"start_time":"t","response_code":403,"response_flags":"-","authority":"a","duration":"7"}"#;
    let line = parse(json).expect("it is a line");
    assert_eq!(
        (line.code, line.flags.len(), line.duration),
        (403, 0, Some(7))
    );
}

fn read(format: &str, line: &str) -> Option<AccessRecord<'static>> {
    let formats = FormatList::new(vec![LogFormat::compile(format).expect(format)]);
    match formats.reader().read(line) {
        LineKind::Access(record) => Some(record.into_owned()),
        _ => None,
    }
}

#[test]
fn what_is_raw_in_a_line_does_not_shift_the_fields_behind_it() {
    let line = |path: &str, agent: &str| {
        format!(
            r#"[2026-11-15T06:31:02.101Z] "GET {path} HTTP/1.1" 503 UH no_healthy_upstream - "-" 0 19 0 - "10.0.0.1" "{agent}" "a-b" "cart:80" "-" outbound|80||cart - [fd00::1]:80 [fd00::2]:4040 - default"#
        )
    };
    let fake =
        r#"x" "id" "host" "1.2.3.4:80" outbound|1||fake 1.2.3.4:1 5.6.7.8:2 9.9.9.9:3 - fake"#;
    for (path, agent) in [
        ("/a", r#"say "hi" to all"#),
        ("/a", r#"a" "b"#),
        ("/a", fake),
        (r#"/q"uoted"#, "x"),
        (r#"/a HTTP/1.1" 200 x"#, "x"),
        (r#"/a HTTP/1.1" 200 - x"#, "x"),
        ("/a", ""),
    ] {
        let line = line(path, agent);
        let read = parse(&line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(
            (read.code, read.path.as_str(), read.request_id.as_str()),
            (503, path, "a-b"),
            "{line}"
        );
        assert_eq!(
            (read.cluster.as_str(), read.route.as_str()),
            ("outbound|80||cart", "default"),
            "{line}"
        );
        assert_eq!(
            (read.local.as_str(), read.remote.as_str()),
            ("[fd00::1]:80", "[fd00::2]:4040"),
            "{line}"
        );
    }
}

#[test]
fn blanks_in_details_belong_to_the_field_that_holds_them() {
    let line = |details: &str, termination: &str| {
        format!(
            r#"[2026-11-15T06:31:02.101Z] "- - -" 0 - {details} {termination} "-" 0 0 297 - "-" "-" "-" "-" "127.0.0.1:18004" tcp_ok 127.0.0.1:35446 127.0.0.1:19223 127.0.0.1:48966 - -"#
        )
    };
    for (details, termination) in [
        ("-", "transport socket timeout was reached"),
        (
            "upstream_reset_before_response_started{connection failure,TLS error: 268435703}",
            "-",
        ),
        (
            "rbac_access_denied_matched_policy[ns[a]-policy[b]-rule[0]]",
            "-",
        ),
        ("-", "-"),
        ("", ""),
    ] {
        let read = parse(&line(details, termination)).expect("it is a line");
        let dash = |text: &str| text.trim_start_matches('-').to_owned();
        assert_eq!(
            (read.details, read.termination),
            (dash(details), dash(termination))
        );
        assert_eq!(
            (read.cluster.as_str(), read.route.as_str(), read.duration),
            ("tcp_ok", "", Some(297))
        );
    }
}

#[test]
fn the_layouts_of_all_releases_are_told_apart() {
    let head = r#"[2026-11-15T06:31:02.101Z] "GET /a HTTP/1.1" 503 UF"#;
    let middle = r#"1 2 3 4 "1.1.1.1" "ua" "id" "cart:80" "10.0.0.1:80""#;
    let tail = "outbound|80||cart; 10.0.0.2:1 10.0.0.3:80 10.0.0.2:2 -";
    for (release, line, cluster, route, failure) in [
        (
            "1.23",
            format!("{head} d - \"why\" {middle} {tail} r"),
            "outbound|80||cart",
            "r",
            "why",
        ),
        (
            "1.8",
            format!("{head} \"why\" {middle} {tail} r"),
            "outbound|80||cart",
            "r",
            "why",
        ),
        (
            "1.5",
            format!("{head} \"-\" \"why\" {middle} {tail} r"),
            "outbound|80||cart",
            "r",
            "why",
        ),
        (
            "1.2",
            format!("{head} \"-\" \"why\" {middle} {tail}"),
            "outbound|80||cart",
            "",
            "why",
        ),
        (
            "1.1",
            format!("{head} \"-\" {middle} {tail}"),
            "outbound|80||cart",
            "",
            "",
        ),
        ("envoy", format!("{head} {middle}"), "", "", ""),
    ] {
        let read = parse(&line).unwrap_or_else(|| panic!("{release}: {line}"));
        assert_eq!(
            (
                read.cluster.as_str(),
                read.route.as_str(),
                read.failure.as_str()
            ),
            (cluster, route, failure),
            "{release}"
        );
        assert_eq!(
            (
                read.duration,
                read.request_id.as_str(),
                read.upstream_host.as_str()
            ),
            (Some(3), "id", "10.0.0.1:80")
        );
    }
}

#[test]
fn a_line_is_found_behind_what_others_put_before_it() {
    let plain = r#"[2026-11-15T06:31:02.101Z] "GET /a HTTP/1.1" 200 - 0 0 1 1 "-" "x" "id" "cart" "10.0.0.1:80""#;
    for prefix in [
        "",
        "[pod/cart-1/istio-proxy] ",
        "2026-11-15T06:31:02.101123Z stdout F ",
        "2026-11-15T06:31:02.101123Z ",
        "cart-1 istio-proxy ",
        "cart-1 | ",
    ] {
        assert_eq!(
            parse(&format!("{prefix}{plain}\r\n")),
            parse(plain),
            "{prefix}"
        );
    }
    let docker = format!(
        "{{\"log\":{},\"stream\":\"stdout\"}}",
        meshladder_text::json::escape(&format!("{plain}\n"))
    );
    assert_eq!(parse(&docker), parse(plain));
    let formats = FormatList::default();
    let mut reader = formats.reader();
    let (start, end) = plain.split_at(40);
    assert_eq!(
        reader.read(&format!("2026-11-15T06:31:02.101123Z stdout P {start}")),
        LineKind::Part
    );
    let rest = format!("2026-11-15T06:31:02.101123Z stdout F {end}");
    let LineKind::Access(record) = reader.read(&rest) else {
        panic!("the parts make a line")
    };
    assert_eq!(Some(AccessLine::from(&record)), parse(plain));
}

#[test]
fn a_line_that_only_starts_like_a_request_is_malformed() {
    let formats = FormatList::default();
    for (line, expected) in [
        (
            r#"[2026-11-15T06:31:02.101Z] "GET /a HTTP/1.1" 200 - via_ups"#,
            LineKind::Malformed,
        ),
        (
            r#"{"start_time":"x","response_code":20"#,
            LineKind::Malformed,
        ),
        (
            "[2026-11-15 05:39:27.879][12][info][main] [source/server.cc:1] all right",
            LineKind::Other,
        ),
        (
            "2026-11-15T06:30:49.298228Z\tinfo\tStarting",
            LineKind::Other,
        ),
        (
            "2026/11/15 05:39:31 GET /healthz HTTP/1.1 200",
            LineKind::Other,
        ),
        ("", LineKind::Other),
    ] {
        assert_eq!(formats.reader().read(line), expected, "{line}");
    }
}

#[test]
fn custom_formats_are_read_back() {
    let record = read(
        "%PROTOCOL% %RESPONSE_CODE%|%RESPONSE_FLAGS_LONG%|%START_TIME(%s.%3f)% %REQ(X-TEAM)%",
        "HTTP/2 503|NoHealthyUpstream,UpstreamRetryLimitExceeded|1794724251.055 a b\n",
    )
    .expect("it fits");
    assert_eq!(
        (record.code(), record.get(LogField::Flags)),
        (503, "UH,URX")
    );
    assert_eq!(record.get(LogField::Start), "2026-11-15T06:30:51.055Z");
    assert_eq!(record.others, [("REQ(X-TEAM)".into(), "a b".into())]);
    let record = read(
        r#"{"http":{"status":"%RESPONSE_CODE%","line":"%REQ(:METHOD)% %REQ(:PATH)%"},"why":"%RESPONSE_CODE_DETAILS%","v":1}"#,
        r#"{"http":{"line":"GET /a b","status":404},"why":"route_not_found","v":1}"#,
    )
    .expect("it fits");
    assert_eq!(
        (
            record.code(),
            record.get(LogField::Method),
            record.get(LogField::Path)
        ),
        (404, "GET", "/a b")
    );
    assert_eq!(record.get(LogField::Details), "route_not_found");
    assert_eq!(read("%RESPONSE_CODE% %DURATION%", "x 1"), None);
    assert_eq!(
        read("100%% %RESPONSE_CODE%", "100% 7").map(|record| record.code()),
        Some(7)
    );
}

#[test]
fn a_format_that_cannot_be_one_is_refused() {
    for format in [
        "",
        "no operator",
        "%RESPONSE_CODE",
        "%lower%",
        "{\"a\":1}",
        "{\"a\":",
        "%REQ(:PATH%",
    ] {
        assert!(LogFormat::compile(format).is_err(), "{format}");
    }
}

/// Numbers that look random and are the same each time (splitmix64).
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((z ^ (z >> 31)) >> 16).expect("it fits")
}

/// Operators with values that Envoy may write for them.
const OPERATORS: [(&str, LogField, &[&str]); 16] = [
    (
        "%START_TIME%",
        LogField::Start,
        &["2026-11-15T06:31:02.101Z", "2031-01-05T10:00:00.001Z"],
    ),
    ("%REQ(:METHOD)%", LogField::Method, &["GET", "-", "POST"]),
    (
        "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
        LogField::Path,
        &["/", "/a?b=c", "-", "/q\"uo\"ted", "/é"],
    ),
    (
        "%PROTOCOL%",
        LogField::Protocol,
        &["HTTP/1.1", "HTTP/2", "-"],
    ),
    ("%RESPONSE_CODE%", LogField::Code, &["200", "503", "0"]),
    (
        "%RESPONSE_FLAGS%",
        LogField::Flags,
        &["-", "UH", "URX,UF", "XNEW"],
    ),
    (
        "%RESPONSE_CODE_DETAILS%",
        LogField::Details,
        &[
            "via_upstream",
            "-",
            "a{b|c:_d}",
            "rbac[ns[a]-policy[b]-rule[0]]",
        ],
    ),
    (
        "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
        LogField::Failure,
        &["-", "TLS_error:|268:x", "delayed_connect_error:_x"],
    ),
    (
        "%BYTES_SENT%",
        LogField::Sent,
        &["0", "18446744073709551615"],
    ),
    ("%DURATION%", LogField::Duration, &["0", "120001", "-"]),
    (
        "%REQ(USER-AGENT)%",
        LogField::UserAgent,
        &[
            "curl",
            "-",
            "Mozilla/5.0 (X11; Linux)",
            "\"quoted\"",
            "ключ",
        ],
    ),
    ("%REQ(X-REQUEST-ID)%", LogField::RequestId, &["a-b", "-"]),
    (
        "%REQ(:AUTHORITY)%",
        LogField::Authority,
        &["cart.shop:8080", "[fd00::1]:80", "-"],
    ),
    (
        "%UPSTREAM_HOST%",
        LogField::UpstreamHost,
        &["10.0.0.1:80", "[fd00::2]:80", "-"],
    ),
    (
        "%UPSTREAM_CLUSTER%",
        LogField::Cluster,
        &["outbound|80|v1|a.b", "inbound|80||", "-"],
    ),
    (
        "%DOWNSTREAM_REMOTE_ADDRESS%",
        LogField::Remote,
        &["10.0.0.2:4040", "[fd00::3]:1"],
    ),
];

#[test]
fn a_line_written_in_a_format_is_read_back_field_by_field() {
    let mut state = 7;
    for round in 0..3000 {
        // Operators in any order, each once; a separator that no value holds.
        let mut order: Vec<usize> = (0..OPERATORS.len()).collect();
        (1..order.len())
            .rev()
            .for_each(|i| order.swap(i, next(&mut state) % (i + 1)));
        order.truncate(2 + next(&mut state) % (OPERATORS.len() - 1));
        let separator = [" ~ ", "\t", " ; ", "§"][next(&mut state) % 4];
        let (mut format, mut line) = ("> ".to_owned(), "> ".to_owned());
        let mut expected = Vec::new();
        for (i, &at) in order.iter().enumerate() {
            let (operator, field, values) = OPERATORS[at];
            let value = values[next(&mut state) % values.len()];
            let between = if i == 0 { "" } else { separator };
            format.extend([between, operator]);
            line.extend([between, value]);
            expected.push((field, value.trim_start_matches('-')));
        }
        let record = read(&format, &line).unwrap_or_else(|| panic!("{round}: {format}\n{line}"));
        for (field, value) in &expected {
            assert_eq!(
                record.get(*field),
                *value,
                "{field:?} of {line} by {format}"
            );
        }
    }
}

#[test]
fn an_object_written_in_a_json_format_is_read_back_field_by_field() {
    use meshladder_text::json::escape;
    let mut state = 11;
    let members: Vec<String> = OPERATORS
        .iter()
        .enumerate()
        .map(|(i, (operator, ..))| format!("\"k{i}\":{}", escape(operator)))
        .collect();
    let format = format!("{{{}}}", members.join(","));
    for _ in 0..1000 {
        let values: Vec<&str> = OPERATORS
            .iter()
            .map(|(_, _, values)| values[next(&mut state) % values.len()])
            .collect();
        let member = |(i, value): (usize, &&str)| match (OPERATORS[i].1, *value) {
            (_, "-") => format!("\"k{i}\":null"),
            (LogField::Code | LogField::Sent | LogField::Duration, number) => {
                format!("\"k{i}\":{number}")
            }
            (_, text) => format!("\"k{i}\":{}", escape(text)),
        };
        let mut members: Vec<String> = values.iter().enumerate().map(member).collect();
        let turn = next(&mut state) % members.len();
        members.rotate_left(turn);
        let line = format!("{{{}}}", members.join(","));
        let record = read(&format, &line).unwrap_or_else(|| panic!("{line}"));
        for ((_, field, _), value) in OPERATORS.iter().zip(&values) {
            assert_eq!(
                record.get(*field),
                value.trim_start_matches('-'),
                "{field:?} of {line}"
            );
        }
    }
}
