use super::super::request::Tls;
use super::*;

/// A dump with these listeners, all dynamic and active, of a pod with the address 10.0.0.1.
fn dump(listeners: &[String]) -> String {
    let entries: Vec<_> = listeners
        .iter()
        .map(|listener| format!(r#"{{"name":"x","active_state":{{"listener":{listener}}}}}"#))
        .collect();
    format!(
        r#"{{"configs":[
            {{"@type":"type.googleapis.com/envoy.admin.v3.BootstrapConfigDump","bootstrap":{{"node":{{"metadata":{{
                "INSTANCE_IPS":"10.0.0.1,fd00::1","INTERCEPTION_MODE":"REDIRECT","ANNOTATIONS":{{
                    "traffic.sidecar.istio.io/excludeOutboundPorts":"3306, 3307",
                    "traffic.sidecar.istio.io/excludeOutboundIPRanges":"192.168.0.0/16,169.254.169.254",
                    "traffic.sidecar.istio.io/excludeInboundPorts":"7000"}}}}}}}}}},
            {{"@type":"type.googleapis.com/envoy.admin.v3.ListenersConfigDump","dynamic_listeners":[{}]}}]}}"#,
        entries.join(",")
    )
}

fn listener(name: &str, ip: &str, port: u16, more: &str) -> String {
    format!(
        r#"{{"name":"{name}","address":{{"socket_address":{{"address":"{ip}","port_value":{port}}}}},"filter_chains":[{{}}]{more}}}"#
    )
}

const UNBOUND: &str = r#","bind_to_port":false,"traffic_direction":"OUTBOUND""#;
const ORIGINAL_DST: &str = r#","traffic_direction":"INBOUND","listener_filters":[{"name":"envoy.filters.listener.original_dst"}]"#;

fn sidecar() -> String {
    dump(&[
        listener("metrics", "0.0.0.0", 15090, ""),
        listener("10.1.0.5_80", "10.1.0.5", 80, UNBOUND),
        listener("0.0.0.0_80", "0.0.0.0", 80, UNBOUND),
        listener("10.1.0.6_5432", "10.1.0.6", 5432, UNBOUND),
        listener("[::]_81", "::", 81, UNBOUND),
        listener(
            "virtualOutbound",
            "0.0.0.0",
            15001,
            r#","use_original_dst":true,"traffic_direction":"OUTBOUND""#,
        ),
        listener("virtualInbound", "0.0.0.0", 15006, ORIGINAL_DST),
    ])
}

fn connection(destination: &str) -> Connection {
    let (ip, port) = destination.rsplit_once(':').expect("a port");
    let destination = (
        ip.trim_matches(['[', ']']).parse().expect("an address"),
        port.parse().expect("a port"),
    );
    Connection {
        destination,
        source: None,
        tls: None,
        plain_http: None,
    }
}

fn accept(doc: &str, side: TrafficDirection, connection: &Connection) -> String {
    let dump = Dump::index(doc, &[Section::Listeners]).expect("a dump");
    match Listeners::compile(&dump).accept(side, connection, &mut DecisionRecord::dropping()) {
        ListenerOutcome::Taken(taken) => {
            format!("{} {:?}", resource_name(taken.listener.raw), taken.how)
        }
        ListenerOutcome::NotCaptured(why) => why.into_owned(),
        ListenerOutcome::NoListener => "nothing".to_owned(),
    }
}

fn resource_name(listener: Raw<'_>) -> String {
    listener.string_at("name").expect("a name").into_owned()
}

#[test]
fn outbound_connections_are_handed_to_the_address_then_to_the_port() {
    for (destination, expected) in [
        ("10.1.0.5:80", "10.1.0.5_80 Exact"),
        ("10.1.0.9:80", "0.0.0.0_80 Wildcard"),
        ("10.1.0.6:5432", "10.1.0.6_5432 Exact"),
        ("10.1.0.7:5432", "virtualOutbound Stays"),
        ("10.1.0.7:15001", "virtualOutbound Wildcard"),
        // What is bound is handed over to as well.
        ("10.1.0.7:15090", "metrics Wildcard"),
        ("10.1.0.7:15006", "virtualInbound Wildcard"),
        ("[fd00::9]:81", "[::]_81 Wildcard"),
        ("[fd00::9]:80", "virtualOutbound Stays"),
        ("10.1.0.9:81", "virtualOutbound Stays"),
    ] {
        assert_eq!(
            accept(
                &sidecar(),
                TrafficDirection::Outbound,
                &connection(destination)
            ),
            expected,
            "{destination}"
        );
    }
}

#[test]
fn an_ipv6_wildcard_takes_ipv4_only_when_it_says_so_and_nobody_else_does() {
    let compat = |port| {
        format!(
            r#"{{"name":"v6 {port}","bind_to_port":false,"address":{{"socket_address":{{"address":"::","port_value":{port},"ipv4_compat":true}}}}}}"#
        )
    };
    let entry = listener(
        "virtualOutbound",
        "0.0.0.0",
        15001,
        r#","use_original_dst":true"#,
    );
    for listeners in [
        [
            compat(80),
            listener("v4 80", "0.0.0.0", 80, UNBOUND),
            compat(81),
            entry.clone(),
        ],
        [
            listener("v4 80", "0.0.0.0", 80, UNBOUND),
            compat(80),
            compat(81),
            entry.clone(),
        ],
    ] {
        let doc = dump(&listeners);
        assert_eq!(
            accept(&doc, TrafficDirection::Outbound, &connection("10.1.0.9:80")),
            "v4 80 Wildcard"
        );
        assert_eq!(
            accept(&doc, TrafficDirection::Outbound, &connection("10.1.0.9:81")),
            "v6 81 Wildcard"
        );
    }
}

#[test]
fn inbound_connections_come_to_one_listener() {
    for (destination, expected) in [
        ("10.0.0.1:80", "virtualInbound Redirected"),
        ("10.0.0.1:15001", "virtualInbound Redirected"),
        ("10.0.0.1:15090", "metrics Bound"),
        (
            "10.0.0.1:15020",
            "port 15020 is the proxy's own and not redirected",
        ),
        (
            "10.0.0.1:7000",
            "the pod's annotations leave inbound port 7000 out",
        ),
    ] {
        assert_eq!(
            accept(
                &sidecar(),
                TrafficDirection::Inbound,
                &connection(destination)
            ),
            expected,
            "{destination}"
        );
    }
}

#[test]
fn what_is_not_redirected_does_not_come_to_envoy() {
    for (destination, expected) in [
        (
            "127.0.0.1:80",
            "127.0.0.1 is the pod itself, and its traffic to itself is not redirected",
        ),
        (
            "10.0.0.1:80",
            "10.0.0.1 is the pod itself, and its traffic to itself is not redirected",
        ),
        (
            "[fd00::1]:80",
            "fd00::1 is the pod itself, and its traffic to itself is not redirected",
        ),
        ("127.0.0.1:15001", "virtualOutbound Bound"),
        ("127.0.0.1:15090", "metrics Bound"),
        (
            "10.1.0.5:3307",
            "the pod's annotations leave outbound port 3307 out",
        ),
        (
            "192.168.1.1:80",
            "the pod's annotations leave 192.168.1.1 out",
        ),
        (
            "169.254.169.254:80",
            "the pod's annotations leave 169.254.169.254 out",
        ),
    ] {
        assert_eq!(
            accept(
                &sidecar(),
                TrafficDirection::Outbound,
                &connection(destination)
            ),
            expected,
            "{destination}"
        );
    }
    let passthrough = Connection {
        source: Some(([127, 0, 0, 6].into(), 1)),
        ..connection("10.1.0.5:80")
    };
    let expected = "what comes from 127.0.0.6 is on its way to the application already";
    assert_eq!(
        accept(&sidecar(), TrafficDirection::Outbound, &passthrough),
        expected
    );
}

#[test]
fn a_gateway_takes_what_comes_to_its_ports() {
    let gateway = dump(&[listener(
        "0.0.0.0_8080",
        "0.0.0.0",
        8080,
        r#","traffic_direction":"OUTBOUND""#,
    )]);
    assert_eq!(
        accept(
            &gateway,
            TrafficDirection::Inbound,
            &connection("10.0.0.1:8080")
        ),
        "0.0.0.0_8080 Bound"
    );
    assert_eq!(
        accept(
            &gateway,
            TrafficDirection::Inbound,
            &connection("10.0.0.1:80")
        ),
        "nothing"
    );
}

#[test]
fn listeners_that_are_warming_or_draining_take_nothing() {
    let doc = format!(
        r#"{{"configs":[{{"@type":"type.googleapis.com/envoy.admin.v3.ListenersConfigDump","dynamic_listeners":[
            {{"name":"a","warming_state":{{"listener":{}}}}},{{"name":"b","draining_state":{{"listener":{}}}}},
            {{"name":"v","active_state":{{"listener":{}}}}}]}}]}}"#,
        listener("a", "10.1.0.5", 80, UNBOUND),
        listener("b", "0.0.0.0", 80, UNBOUND),
        listener("v", "0.0.0.0", 15001, r#","use_original_dst":true"#),
    );
    assert_eq!(
        accept(&doc, TrafficDirection::Outbound, &connection("10.1.0.5:80")),
        "v Stays"
    );
}

#[test]
fn other_listeners_of_the_port_are_named_with_their_reason() {
    let doc = sidecar();
    let dump = Dump::index(&doc, &[Section::Listeners]).expect("a dump");
    let listeners = Listeners::compile(&dump);
    let considered = |destination: &str| -> Vec<String> {
        let mut record = DecisionRecord::keeping();
        listeners.accept(
            TrafficDirection::Outbound,
            &connection(destination),
            &mut record,
        );
        record
            .considered
            .iter()
            .map(|c| format!("{} {}", c.matched.word(), c.why))
            .collect()
    };
    assert_eq!(
        considered("10.1.0.5:80"),
        [
            "no another listener has the very address",
            "yes listens on the address and port that the client wants to reach"
        ]
    );
    assert_eq!(
        considered("10.1.0.9:80"),
        [
            "no listens on 10.1.0.5, the client wants to reach 10.1.0.9",
            "yes listens on the port that the client wants to reach, at any address"
        ]
    );
}

#[test]
fn what_the_first_listener_saw_stays_known() {
    let inspecting = r#","use_original_dst":true,"listener_filters":[{"name":"envoy.filters.listener.tls_inspector"}]"#;
    let doc = dump(&[
        listener("t", "0.0.0.0", 80, UNBOUND),
        listener("v", "0.0.0.0", 15001, inspecting),
    ]);
    let dump = Dump::index(&doc, &[Section::Listeners]).expect("a dump");
    let listeners = Listeners::compile(&dump);
    let tls = Some(Tls {
        sni: Some("a.example".to_owned()),
        ..Tls::default()
    });
    let connection = Connection {
        tls,
        ..connection("10.1.0.5:80")
    };
    let ListenerOutcome::Taken(taken) = listeners.accept(
        TrafficDirection::Outbound,
        &connection,
        &mut DecisionRecord::dropping(),
    ) else {
        unreachable!("the wildcard takes it")
    };
    assert_eq!(taken.how, Arrival::Wildcard);
    assert_eq!(
        taken
            .inspect(&connection)
            .expect("all is modelled")
            .server_name,
        "a.example"
    );
    assert!(taken.is_restored());
}
