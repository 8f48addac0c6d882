//! `flags --prometheus` against a real Prometheus, and against servers that refuse.

use serde_json::Value;

use super::server::{Once, Prometheus, Series};
use super::{program, run};
use crate::support::{Run, meshladder};

fn series(reporter: &str, more: &str, per_minute: [Option<f64>; 3]) -> Series {
    let labels = format!(
        "reporter=\"{reporter}\",destination_service_namespace=\"shop\",destination_service_name=\"cart\",{more}"
    );
    Series { labels, per_minute }
}

fn flags(url: &str, words: &[&str]) -> Run {
    meshladder(&[&["flags", "--prometheus", url], words].concat())
}

#[test]
fn the_most_abnormal_flag_comes_first_with_what_it_was() {
    let steady = |rate| [Some(rate); 3];
    let prometheus = Prometheus::with(&[
        series(
            "source",
            "response_code=\"200\",response_flags=\"-\"",
            steady(6000.0),
        ),
        series(
            "destination",
            "response_code=\"200\",response_flags=\"-\"",
            steady(5900.0),
        ),
        series(
            "destination",
            "response_code=\"503\",response_flags=\"UC\"",
            steady(60.0),
        ),
        series(
            "source",
            "response_code=\"503\",response_flags=\"URX,UF\"",
            [Some(30.0), Some(0.0), Some(0.0)],
        ),
        series(
            "source",
            "response_code=\"0\",response_flags=\"DC\"",
            [Some(600.0), Some(60.0), Some(60.0)],
        ),
    ]);
    let told = flags(&prometheus.url, &[]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    let rows: Vec<Vec<&str>> = told
        .stdout
        .lines()
        .map(|line| {
            line.split("  ")
                .filter(|c| !c.is_empty())
                .map(str::trim)
                .collect()
        })
        .collect();
    let order: Vec<_> = rows.iter().skip(1).map(|row| (row[0], row[1])).collect();
    assert_eq!(
        order,
        [
            ("URX,UF", "source"),
            ("UC", "destination"),
            ("DC", "source"),
            ("-", "destination")
        ],
        "{}",
        told.stdout
    );
    assert_eq!(
        rows[1][2..7],
        ["0.500", "0.45 %", "0", "0", "new"],
        "{}",
        told.stdout
    );
    assert_eq!(rows[2][6], "steady");
    assert_eq!(rows[3][6], "×10.0");
    assert!(
        told.stderr.contains("the servers' count is taken"),
        "{}",
        told.stderr
    );

    let split = flags(
        &prometheus.url,
        &["--by", "destination", "--by", "code", "-o", "json"],
    );
    let json: Value = serde_json::from_str(&split.stdout).expect("JSON");
    assert_eq!(
        (&json["kind"], &json["absent"]),
        (&Value::from("FlagRates"), &Value::Null)
    );
    let by = &json["rows"][0]["by"];
    assert_eq!(
        (&by["destination_service_name"], &by["response_code"]),
        (&Value::from("cart"), &Value::from("503"))
    );
    assert_eq!(json["rows"][0]["class"], "connection_failure");

    let other = flags(&prometheus.url, &["--service", "nobody"]);
    assert_eq!(
        (other.code, other.stdout.as_str()),
        (5, ""),
        "{}",
        other.stderr
    );
    assert!(
        other.stderr.contains("no series of what is asked for"),
        "{}",
        other.stderr
    );
    let tcp = flags(&prometheus.url, &["--tcp"]);
    assert!(
        tcp.code == 5
            && tcp
                .stderr
                .contains("istio_tcp_connections_closed_total is absent:"),
        "{}",
        tcp.stderr
    );
    let short = flags(&prometheus.url, &["--window", "10s"]);
    assert!(
        short.code == 5 && short.stderr.contains("no two samples of one within 10s"),
        "{}",
        short.stderr
    );
    let own = flags(&prometheus.url, &["--query", "count(istio_requests_total)"]);
    assert_eq!(
        (own.code, own.stdout.as_str()),
        (0, "VALUE  SERIES\n5      {}\n"),
        "{}",
        own.stderr
    );
}

#[test]
fn an_absent_metric_and_an_absent_label_are_not_zeros() {
    let gone = Prometheus::with(&[series(
        "source",
        "response_flags=\"-\"",
        [None, Some(60.0), None],
    )]);
    let told = flags(&gone.url, &[]);
    assert_eq!(told.code, 5, "{}", told.stderr);
    assert!(
        told.stderr.contains("was there within a day"),
        "{}",
        told.stderr
    );
    let unlabelled =
        Prometheus::with(&[series("source", "response_code=\"200\"", [Some(60.0); 3])]);
    let told = flags(&unlabelled.url, &[]);
    assert!(
        told.stderr.contains("no label response_flags"),
        "{}{}",
        told.stdout,
        told.stderr
    );
}

const EMPTY: &str = "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}";

fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn who_asks_is_told_to_the_server_and_to_nobody_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = super::file(&folder, "token", "s3cret\n")
        .display()
        .to_string();
    let server = Once::answering(http("200 OK", EMPTY));
    let words = [
        "--query",
        "up",
        "--tenant",
        "shop",
        "--header",
        "X-Team: mesh",
        "--bearer-token-file",
        &token,
    ];
    let told = flags(&server.url, &words);
    assert_eq!(told.code, 5, "{}", told.stderr);
    let request = server.request().to_lowercase();
    for header in [
        "x-scope-orgid: shop",
        "x-team: mesh",
        "authorization: bearer s3cret",
    ] {
        assert!(request.contains(header), "{request}");
    }
    // A redirect would take the token elsewhere.
    let server = Once::answering(
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
            .to_owned(),
    );
    let told = flags(
        &server.url,
        &["--query", "up", "--bearer-token-file", &token],
    );
    assert!(
        told.code == 3 && told.stderr.contains("it leads to http://127.0.0.1:1/"),
        "{}",
        told.stderr
    );
}

#[test]
fn what_goes_wrong_is_said_with_its_exit_code() {
    for (response, code, words) in [
        (http("401 Unauthorized", "no\n"), 4, "answers 401: no"),
        (http("403 Forbidden", "<html>"), 4, "answers 403\n"),
        (
            http("404 Not Found", "404 page not found"),
            3,
            "answers 404: 404 page not found",
        ),
        (http("200 OK", "<html>Sign in"), 3, "not an answer"),
        (
            http(
                "422 Unprocessable Entity",
                "{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"too many samples\"}",
            ),
            3,
            "execution: too many samples",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{".to_owned(),
            3,
            "cannot reach",
        ),
        ("nonsense\r\n\r\n".to_owned(), 3, "cannot reach"),
    ] {
        let server = Once::answering(response.clone());
        let told = flags(&server.url, &["--query", "up"]);
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (code, ""),
            "{response}: {}",
            told.stderr
        );
        assert!(
            told.stderr.contains(words) && told.stderr.contains("hint:"),
            "{response}: {}",
            told.stderr
        );
        server.request();
    }
    let partial = "{\"status\":\"success\",\"warnings\":[\"store-1 not reached\"],\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"2\"]}}";
    let server = Once::answering(http("200 OK", partial));
    let told = flags(&server.url, &["--query", "scalar(up)"]);
    assert!(
        told.code == 0 && told.stderr.contains("Prometheus says: store-1 not reached"),
        "{}",
        told.stderr
    );
}

#[test]
fn a_query_is_looked_at_before_anybody_is_asked() {
    let told = flags("http://127.0.0.1:1", &["--query", "sum by (x (up)"]);
    assert!(
        told.code == 2 && told.stderr.contains("not PromQL"),
        "{}",
        told.stderr
    );
    let told = flags("http://127.0.0.1:1", &["--query", "up"]);
    assert!(
        told.code == 3
            && told
                .stderr
                .contains("cannot reach http://127.0.0.1:1: connection refused"),
        "{}",
        told.stderr
    );
    for words in [
        &["--by", "nobody"][..],
        &["--timeout", "soon"],
        &["--key", "k.pem"],
        &["--cacert", "c.pem"],
        &["UH"],
        &["--header", "x"],
    ] {
        assert_eq!(flags("http://127.0.0.1:1", words).code, 2, "{words:?}");
    }
    for words in [
        &["flags", "--by", "code"][..],
        &["flags", "-o", "json"],
        &["flags", "UH", "--window", "5m"],
    ] {
        assert_eq!(meshladder(words).code, 2, "{words:?}");
    }
    assert_eq!(meshladder(&["flags", "UH"]).code, 0);
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let told = flags(&url, &["--query", "up", "--timeout", "1s"]);
    assert!(
        told.code == 3 && told.stderr.contains("did not answer within 1 s"),
        "{}",
        told.stderr
    );
}

#[test]
fn both_sides_may_want_certificates() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |name: &str| folder.path().join(name).display().to_string();
    for name in ["server", "client"] {
        let mut openssl = program("openssl");
        openssl.current_dir(folder.path()).args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ]);
        openssl.args([
            "-subj",
            "/CN=test",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ]);
        openssl.args([
            "-keyout",
            &of(&format!("{name}.key")),
            "-out",
            &of(&format!("{name}.pem")),
        ]);
        run(openssl);
    }
    let web = format!(
        "tls_server_config: {{cert_file: {}, key_file: {}, client_auth_type: RequireAndVerifyClientCert, client_ca_file: {}}}",
        of("server.pem"),
        of("server.key"),
        of("client.pem")
    );
    let web = super::file(&folder, "web.yml", &web).display().to_string();
    let access = meshladder_collect::prometheus::Credentials {
        cacert: Some(of("server.pem").into()),
        cert: Some(of("client.pem").into()),
        key: Some(of("client.key").into()),
        ..Default::default()
    };
    let prometheus = Prometheus::start("https", &access, "{}", |_, command| {
        command.arg(format!("--web.config.file={web}"));
    });
    let ask = ["--query", "vector(7)"];
    let ours = [
        "--cacert",
        &of("server.pem"),
        "--cert",
        &of("client.pem"),
        "--key",
        &of("client.key"),
    ];
    let told = flags(&prometheus.url, &[&ask[..], &ours[..]].concat());
    assert_eq!(
        (told.code, told.stdout.as_str()),
        (0, "VALUE  SERIES\n7      {}\n"),
        "{}",
        told.stderr
    );
    for words in [&ours[..2], &ours[2..], &[]] {
        let told = flags(&prometheus.url, &[&ask[..], words].concat());
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (3, ""),
            "{words:?}: {}",
            told.stderr
        );
    }
    let swapped = ["--cert", &of("client.key"), "--key", &of("client.pem")];
    assert_eq!(
        flags(&prometheus.url, &[&ask[..], &swapped[..]].concat()).code,
        2
    );
}
