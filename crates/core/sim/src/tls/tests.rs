use super::*;

const MUTUAL: &str = r#"{"name":"envoy.transport_sockets.tls","typed_config":{
    "@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
    "common_tls_context":{"alpn_protocols":["h2","http/1.1"],
        "tls_certificate_sds_secret_configs":[{"name":"default"}],
        "combined_validation_context":{
            "default_validation_context":{"match_subject_alt_names":[{"prefix":"spiffe://cluster.local/"}]},
            "validation_context_sds_secret_config":{"name":"ROOTCA"}}},
    "require_client_certificate":true}}"#;

const SIMPLE: &str = r#"{"name":"envoy.transport_sockets.tls","typed_config":{
    "@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
    "common_tls_context":{"tls_certificate_sds_secret_configs":[{"name":"kubernetes://shop-cert"}]}}}"#;

fn connection(tls: Option<Tls>) -> Connection {
    let plain_http = tls.is_none().then_some("http/1.1");
    Connection {
        destination: ([10, 0, 0, 1].into(), 443),
        source: None,
        tls,
        plain_http,
    }
}

fn client(peer: Option<&str>, alpn: &[&str]) -> Connection {
    let peer = peer.map(|name| vec![name.to_owned()]);
    connection(Some(Tls {
        sni: None,
        alpn: alpn.iter().map(|&p| p.to_owned()).collect(),
        peer,
    }))
}

/// What becomes of a connection at a chain with this socket.
fn accept(socket: &str, connection: &Connection, secrets: &Secrets<'_>) -> String {
    match Transport::compile(Some(Raw::of(socket).expect("JSON"))).accept(connection, secrets) {
        Handshake::Plain { speaks_tls } => format!("plain {speaks_tls}"),
        Handshake::Terminated { alpn, peer } => {
            format!(
                "{} {}",
                alpn.unwrap_or("-"),
                peer.map_or("-".into(), |p| p.join(","))
            )
        }
        Handshake::Failed { reason, .. } => reason.to_owned(),
        Handshake::Unknown(fact) => format!("unknown: {fact}"),
    }
}

#[test]
fn mutual_tls_demands_a_certificate_with_a_name_it_takes() {
    let friend = "spiffe://cluster.local/ns/a/sa/b";
    let all = Secrets::default();
    assert_eq!(
        accept(
            MUTUAL,
            &client(Some(friend), &["istio", "http/1.1", "h2"]),
            &all
        ),
        format!("h2 {friend}")
    );
    assert_eq!(
        accept(MUTUAL, &client(Some(friend), &["istio"]), &all),
        format!("- {friend}")
    );
    assert_eq!(
        accept(MUTUAL, &client(Some("spiffe://other/ns/a/sa/b"), &[]), &all),
        "CERTIFICATE_VERIFY_FAILED"
    );
    assert_eq!(
        accept(MUTUAL, &client(None, &[]), &all),
        "PEER_DID_NOT_RETURN_A_CERTIFICATE"
    );
    assert_eq!(accept(MUTUAL, &connection(None), &all), "HTTP_REQUEST");
}

#[test]
fn demanding_a_name_is_demanding_a_certificate() {
    let optional = MUTUAL.replace(
        r#""require_client_certificate":true"#,
        r#""require_client_certificate":false"#,
    );
    assert_eq!(
        accept(&optional, &client(None, &[]), &Secrets::default()),
        "PEER_DID_NOT_RETURN_A_CERTIFICATE"
    );
    let nameless = optional.replace(r#"{"prefix":"spiffe://cluster.local/"}"#, "");
    assert_eq!(
        accept(&nameless, &client(None, &[]), &Secrets::default()),
        "- -"
    );
}

#[test]
fn simple_tls_does_not_ask_who_the_client_is() {
    let all = Secrets::default();
    assert_eq!(
        accept(
            SIMPLE,
            &client(Some("spiffe://cluster.local/ns/a/sa/b"), &["h2"]),
            &all
        ),
        "- -"
    );
    assert_eq!(accept(SIMPLE, &client(None, &[]), &all), "- -");
}

#[test]
fn without_its_secret_a_chain_closes_everything() {
    let doc = r#"{"configs":[{"@type":"type.googleapis.com/envoy.admin.v3.SecretsConfigDump",
        "dynamic_active_secrets":[{"name":"default","secret":{}},{"name":"ROOTCA","secret":{}}],
        "dynamic_warming_secrets":[{"name":"kubernetes://shop-cert","secret":{}}]}]}"#;
    let secrets = Secrets::compile(&Dump::index(doc, &[Section::Secrets]).expect("a dump"));
    assert_eq!(
        accept(SIMPLE, &client(None, &[]), &secrets),
        "Secret_is_not_supplied_by_SDS"
    );
    assert_eq!(
        accept(MUTUAL, &client(None, &[]), &secrets),
        "PEER_DID_NOT_RETURN_A_CERTIFICATE"
    );
    let none =
        Secrets::compile(&Dump::index(r#"{"configs":[]}"#, &[Section::Secrets]).expect("a dump"));
    assert_eq!(accept(SIMPLE, &client(None, &[]), &none), "- -");
}

#[test]
fn bytes_stay_as_they_are_without_a_socket() {
    let raw = r#"{"name":"raw","typed_config":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"}}"#;
    assert_eq!(
        accept(raw, &client(None, &[]), &Secrets::default()),
        "plain true"
    );
    assert_eq!(
        accept(raw, &connection(None), &Secrets::default()),
        "plain false"
    );
    assert!(matches!(Transport::compile(None), Transport::Plain));
    let wrapped = format!(
        r#"{{"name":"w","typed_config":{{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.internal_upstream.v3.InternalUpstreamTransport","transport_socket":{SIMPLE}}}}}"#
    );
    assert!(matches!(
        Transport::compile(Some(Raw::of(&wrapped).expect("JSON"))),
        Transport::Tls(_)
    ));
    let other = r#"{"name":"envoy.transport_sockets.alts","typed_config":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.alts.v3.Alts"}}"#;
    let fact = "unknown: what the transport socket envoy.transport_sockets.alts decides, which is not modelled";
    assert_eq!(accept(other, &client(None, &[]), &Secrets::default()), fact);
}

#[test]
fn names_of_other_kinds_and_trust_domains() {
    let context = |validation: &str| {
        let doc = format!(r#"{{"common_tls_context":{{"validation_context":{validation}}}}}"#);
        let context = TlsContext::read(Raw::of(&doc).expect("JSON"));
        context.trusts(&["spiffe://cluster.local/ns/a/sa/b".to_owned()])
    };
    let dns = r#"{"san_type":"DNS","matcher":{"exact":"a.example"}}"#;
    let uri = r#"{"san_type":"URI","matcher":{"exact":"spiffe://cluster.local/ns/a/sa/b"}}"#;
    assert_eq!(context("{}"), Tri::Yes);
    assert_eq!(
        context(&format!(r#"{{"match_typed_subject_alt_names":[{uri}]}}"#)),
        Tri::Yes
    );
    assert_eq!(
        context(&format!(r#"{{"match_typed_subject_alt_names":[{dns}]}}"#)),
        Tri::unknown("x")
    );
    assert_eq!(
        context(&format!(
            r#"{{"match_typed_subject_alt_names":[{dns},{uri}]}}"#
        )),
        Tri::Yes
    );
    let trusting = |domain: &str| {
        format!(
            r#"{{"custom_validator_config":{{"typed_config":{{"trust_domains":[{{"name":"{domain}"}}]}}}}}}"#
        )
    };
    assert_eq!(context(&trusting("cluster.local")), Tri::Yes);
    assert_eq!(context(&trusting("cluster.locale")), Tri::No);
}
