//! Access logs that a real Envoy writes, in Istio's format and in formats of one's own, read back.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use meshladder_capture::access_log::{AccessRecord, FormatList, LineKind, LogField, LogFormat};
use serde_json::{Value, json};

use crate::harness::{
    Answer, Client, Envoy, Part, Random, bootstrap, cluster, connection_manager, listener,
};

/// Fields in an order that is not Istio's, with blanks, bars and quotes between them.
const TEXT: &str = r#"%RESPONSE_CODE%|%RESPONSE_FLAGS%|%RESPONSE_CODE_DETAILS%|%ROUTE_NAME% <%REQ(:METHOD)% %REQ(:PATH)%> "%REQ(USER-AGENT)%" %START_TIME(%s.%3f)% %PROTOCOL% %UPSTREAM_CLUSTER_RAW% %REQ(X-N)%
"#;

const OBJECT: &str = r#"{"end":{"status":"%RESPONSE_CODE%","flags":"%RESPONSE_FLAGS_LONG%","why":"%RESPONSE_CODE_DETAILS%"},"call":"%REQ(:METHOD)% %REQ(:PATH)%","route":"%ROUTE_NAME%","agent":"%REQ(USER-AGENT)%","cluster":"%UPSTREAM_CLUSTER_RAW%","n":"%REQ(X-N)%"}"#;

const ISTIO: &str = r#"[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%
"#;

const AGENTS: [&str; 6] = [
    "curl/8",
    "say \"hi\" to all",
    "a\" \"b",
    "x\" \"id\" \"host\" \"1.2.3.4:80\" outbound|1||fake 1.2.3.4:1 5.6.7.8:2 9.9.9.9:3 - fake",
    "Mozilla/5.0 (X11; Linux x86_64)",
    "-",
];

fn log(path: &Path, format: &Value) -> Value {
    json!({"name": "envoy.access_loggers.file", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
        "path": path, "log_format": format,
    }})
}

/// Every line of a log, once there are as many as expected.
fn lines(path: &Path, count: usize) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() >= count || Instant::now() > deadline {
            assert_eq!(lines.len(), count, "lines in {}", path.display());
            return lines;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Whether a line says what the client knows of its request.
fn agrees(record: &AccessRecord<'_>, sent: &Sent) {
    let told = [
        LogField::Method,
        LogField::Path,
        LogField::Flags,
        LogField::Details,
        LogField::Route,
        LogField::Cluster,
        LogField::UserAgent,
    ]
    .map(|field| record.get(field));
    let header = |name| sent.answer.header(name).trim_start_matches('-');
    let expected = [
        "GET",
        sent.path.as_str(),
        header("x-o-flags"),
        header("x-o-details"),
        header("x-o-route"),
        header("x-o-cluster"),
        sent.agent.trim_start_matches('-'),
    ];
    assert_eq!(
        (record.code(), told),
        (sent.answer.status, expected),
        "{sent:?}"
    );
}

#[derive(Debug)]
struct Sent {
    path: String,
    agent: &'static str,
    answer: Answer,
}

#[test]
fn lines_of_a_real_envoy_are_read_in_every_format() {
    let part = Part::begin("access logs", 480);
    let paths = ["istio.log", "text.log", "json.log"].map(Envoy::scratch);
    let inline = |text: &str| json!({"text_format_source": {"inline_string": text}});
    let object: Value = serde_json::from_str(OBJECT).expect("JSON");
    let logs = [
        log(&paths[0], &inline(ISTIO)),
        log(&paths[1], &inline(TEXT)),
        log(&paths[2], &json!({"json_format": object})),
    ];
    let routes = json!([
        {"name": "forwarded", "match": {"prefix": "/a"}, "route": {"cluster": "outbound|80||empty"}},
        {"name": "answered", "match": {"prefix": "/d"}, "direct_response": {"status": 201}},
        {"name": "nowhere", "match": {"prefix": "/n"}, "route": {"cluster": "missing"}},
    ]);
    let table = json!({"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}], "validate_clusters": false});
    let manager = connection_manager(table, Vec::new(), &json!({"access_log": logs}));
    let envoy = Envoy::start(&bootstrap(
        vec![listener("in", vec![manager])],
        vec![cluster("outbound|80||empty")],
    ));
    let mut client = Client::new(envoy.port("in"));
    let mut random = Random::new(part.seed);
    let sent: Vec<Sent> = (0..part.total)
        .map(|n| {
            let path = format!(
                "{}?n={n}",
                random.word(&["/a", "/d", "/n", "/other", "/a\"b", "/a/%20%22"])
            );
            let agent = random.word(&AGENTS);
            let head = format!(
                "GET {path} HTTP/1.1\r\nhost: a.test\r\nuser-agent: {agent}\r\nx-n: {n}\r\n\r\n"
            );
            let answer = client.send(head.as_bytes());
            Sent {
                path,
                agent,
                answer,
            }
        })
        .collect();
    let given = [TEXT, OBJECT].map(|format| LogFormat::compile(format).expect("a format"));
    let formats = FormatList::new(given.into());
    for path in &paths {
        let mut reader = formats.reader();
        for (line, sent) in lines(path, sent.len()).iter().zip(&sent) {
            match reader.read(line) {
                LineKind::Access(record) => agrees(&record, sent),
                other => panic!("{other:?}: {line}"),
            }
        }
        let _ = fs::remove_file(path);
    }
}
