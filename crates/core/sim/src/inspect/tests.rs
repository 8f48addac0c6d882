use super::super::request::Tls;
use super::*;

const TLS: &str = r#"{"name":"envoy.filters.listener.tls_inspector","typed_config":{"@type":"type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"}}"#;
const HTTP: &str = r#"{"name":"envoy.filters.listener.http_inspector"}"#;
const ORIGINAL_DST: &str = r#"{"name":"envoy.filters.listener.original_dst"}"#;

fn connection(tls: Option<Tls>, plain_http: Option<&'static str>) -> Connection {
    Connection {
        destination: ([10, 0, 0, 1].into(), 8080),
        source: None,
        tls,
        plain_http,
    }
}

fn tls_connection() -> Connection {
    let tls = Tls {
        sni: Some("Shop.Example".to_owned()),
        alpn: vec!["h2".to_owned(), "istio".to_owned()],
        peer: None,
    };
    connection(Some(tls), None)
}

/// `transport server-name protocols` as a listener with these filters sees it.
fn seen(filters: &[&str], connection: &Connection) -> String {
    let doc = format!(r#"{{"listener_filters":[{}]}}"#, filters.join(","));
    let filters = ListenerFilters::compile(Raw::of(&doc).expect("JSON"));
    match filters.inspect(connection, 15006, InspectedConnection::unseen(connection)) {
        Ok(seen) => {
            let protocols: Vec<_> = seen.application_protocols.iter().collect();
            format!(
                "{} {:?} {protocols:?}",
                seen.transport_protocol, seen.server_name
            )
        }
        Err(fact) => fact.into(),
    }
}

#[test]
fn what_no_filter_looks_for_is_not_seen() {
    let nothing = "raw_buffer \"\" []";
    assert_eq!(seen(&[], &tls_connection()), nothing);
    assert_eq!(seen(&[HTTP], &tls_connection()), nothing);
    assert_eq!(seen(&[TLS], &connection(None, Some("http/1.1"))), nothing);
    assert_eq!(seen(&[TLS, HTTP], &connection(None, None)), nothing);
}

#[test]
fn the_tls_inspector_sees_what_the_client_hello_says() {
    let all = "tls \"shop.example\" [\"h2\", \"istio\"]";
    assert_eq!(seen(&[TLS], &tls_connection()), all);
    assert_eq!(seen(&[TLS, HTTP], &tls_connection()), all);
    assert_eq!(seen(&[HTTP, TLS], &tls_connection()), all);
    assert_eq!(
        seen(&[TLS], &connection(Some(Tls::default()), None)),
        "tls \"\" []"
    );
}

#[test]
fn the_http_inspector_sees_plain_text() {
    assert_eq!(
        seen(&[TLS, HTTP], &connection(None, Some("h2c"))),
        "raw_buffer \"\" [\"h2c\"]"
    );
}

#[test]
fn a_filter_is_switched_off_by_the_port_that_is_known_where_it_stands() {
    let off = |predicate: &str| {
        format!(
            r#"{{"name":"envoy.filters.listener.tls_inspector","filter_disabled":{predicate}}}"#
        )
    };
    let range = |start: u16, end: u16| {
        format!(r#"{{"destination_port_range":{{"start":{start},"end":{end}}}}}"#)
    };
    let is_off = |filters: &[&str]| seen(filters, &tls_connection()).starts_with("raw_buffer");
    for (predicate, restored, redirected) in [
        (range(8080, 8081), true, false),
        (range(8079, 8080), false, false),
        (range(15006, 15007), false, true),
        (
            format!(r#"{{"not_match":{}}}"#, range(8080, 8081)),
            false,
            true,
        ),
        (
            format!(
                r#"{{"or_match":{{"rules":[{},{}]}}}}"#,
                range(1, 2),
                range(8080, 8090)
            ),
            true,
            false,
        ),
        (
            format!(
                r#"{{"and_match":{{"rules":[{},{}]}}}}"#,
                range(1, 9000),
                range(8080, 8090)
            ),
            true,
            false,
        ),
        (
            format!(
                r#"{{"and_match":{{"rules":[{},{}]}}}}"#,
                range(1, 2),
                range(8080, 8090)
            ),
            false,
            false,
        ),
        (r#"{"any_match":true}"#.to_owned(), true, true),
    ] {
        assert_eq!(
            is_off(&[ORIGINAL_DST, &off(&predicate)]),
            restored,
            "{predicate}"
        );
        assert_eq!(
            is_off(&[&off(&predicate), ORIGINAL_DST]),
            redirected,
            "{predicate}, before the port is restored"
        );
    }
}

#[test]
fn a_filter_that_is_not_modelled_is_named() {
    let other = r#"{"name":"envoy.filters.listener.proxy_protocol"}"#;
    let fact = "what the listener filter envoy.filters.listener.proxy_protocol decides, which is not modelled";
    assert_eq!(seen(&[other, TLS], &tls_connection()), fact);
}
