use std::net::IpAddr;

use super::super::Tri;
use super::super::inspect::Protocols;
use super::*;

/// A connection: destination, source, transport, server name, protocols.
fn seen(destination: &str, source: Option<&str>) -> InspectedConnection<'static> {
    let parse = |text: &str| -> (IpAddr, u16) {
        let (ip, port) = text.rsplit_once(':').expect("a port");
        (
            ip.trim_matches(['[', ']']).parse().expect("an address"),
            port.parse().expect("a port"),
        )
    };
    InspectedConnection {
        destination: parse(destination),
        source: source.map(parse),
        direct_source: source.map(|source| parse(source).0),
        transport_protocol: "raw_buffer",
        server_name: "".into(),
        application_protocols: Protocols::None,
    }
}

fn tls<'r>(server_name: &'r str, alpn: &'r [String]) -> InspectedConnection<'r> {
    let protocols = if alpn.is_empty() {
        Protocols::None
    } else {
        Protocols::Offered(alpn)
    };
    let plain = seen("10.0.0.1:443", Some("10.9.9.9:40000"));
    InspectedConnection {
        transport_protocol: "tls",
        server_name: server_name.into(),
        application_protocols: protocols,
        ..plain
    }
}

fn alpn(list: &[&str]) -> Vec<String> {
    list.iter().map(|&protocol| protocol.to_owned()).collect()
}

/// A listener whose chains have these names and matches.
fn listener(chains: &[(&str, &str)], default: bool) -> String {
    let chains: Vec<_> = chains
        .iter()
        .map(|(name, criteria)| {
            format!(r#"{{"name":"{name}","filter_chain_match":{criteria},"filters":[]}}"#)
        })
        .collect();
    let default = if default {
        r#","default_filter_chain":{"name":"default","filters":[]}"#
    } else {
        ""
    };
    format!(
        r#"{{"name":"l","filter_chains":[{}]{default}}}"#,
        chains.join(",")
    )
}

fn find(listener: &str, seen: &InspectedConnection<'_>) -> String {
    let chains = FilterChains::compile(Raw::of(listener).expect("JSON"));
    match chains.find(seen, &mut DecisionRecord::dropping()) {
        ChainChoice::Chain(chain) => chain.name.to_string(),
        ChainChoice::None => "none".to_owned(),
        ChainChoice::Undecided(fact) => format!("undecided: {fact}"),
    }
}

/// The candidates, each as `name: matched, why`.
fn considered(listener: &str, seen: &InspectedConnection<'_>) -> Vec<String> {
    let chains = FilterChains::compile(Raw::of(listener).expect("JSON"));
    let mut record = DecisionRecord::keeping();
    chains.find(seen, &mut record);
    record
        .considered
        .iter()
        .map(|c| format!("{}: {}, {}", c.what, c.matched.word(), c.why))
        .collect()
}

#[test]
fn a_port_that_a_chain_names_is_not_left_again() {
    let strict = listener(
        &[
            ("catchall", r#"{"transport_protocol":"raw_buffer"}"#),
            (
                "0.0.0.0_8080",
                r#"{"destination_port":8080,"transport_protocol":"tls"}"#,
            ),
        ],
        false,
    );
    assert_eq!(find(&strict, &seen("10.0.0.1:8080", None)), "none");
    assert_eq!(find(&strict, &seen("10.0.0.1:9090", None)), "catchall");
    assert_eq!(
        considered(&strict, &seen("10.0.0.1:8080", None)),
        [
            "catchall: no, takes any destination port, but another chain names 8080 and Envoy does not come back",
            "0.0.0.0_8080: no, transport protocol is raw_buffer, the chain wants tls",
        ]
    );
}

#[test]
fn the_default_chain_takes_what_is_left() {
    let with_default = listener(
        &[("http", r#"{"application_protocols":["http/1.1","h2c"]}"#)],
        true,
    );
    let h2c = InspectedConnection {
        application_protocols: Protocols::Plain("h2c"),
        ..seen("10.0.0.1:80", None)
    };
    assert_eq!(find(&with_default, &h2c), "http");
    assert_eq!(find(&with_default, &seen("10.0.0.1:80", None)), "default");
    assert_eq!(
        considered(&with_default, &seen("10.0.0.1:80", None)),
        [
            "http: no, application protocol is not seen, the chain wants h2c or http/1.1",
            "default: yes, no other chain matches",
        ]
    );
    assert_eq!(find(&listener(&[], true), &h2c), "default");
    assert_eq!(find(&listener(&[], false), &h2c), "none");
}

#[test]
fn server_names_go_from_exact_to_the_widest_wildcard() {
    let chains = listener(
        &[
            ("exact", r#"{"server_names":["WWW.a.example"]}"#),
            ("deep", r#"{"server_names":["*.a.example"]}"#),
            ("wide", r#"{"server_names":["*.example","other.test"]}"#),
            ("any", "{}"),
        ],
        false,
    );
    for (server_name, chain) in [
        ("www.a.example", "exact"),
        ("x.www.a.example", "deep"),
        ("b.a.example", "deep"),
        ("a.example", "wide"),
        ("xa.example", "wide"),
        ("example", "any"),
        ("other.test", "wide"),
        ("x.other.test", "any"),
        ("a.example.", "any"),
        ("", "any"),
    ] {
        assert_eq!(
            find(&chains, &tls(server_name, &[])),
            chain,
            "{server_name}"
        );
    }
    assert_eq!(
        considered(&chains, &tls("www.a.example", &[])),
        [
            "exact: yes, server name www.a.example is www.a.example",
            "deep: no, server name *.a.example also matches, but www.a.example of another chain goes first",
            "wide: no, server name *.example also matches, but www.a.example of another chain goes first",
            "any: no, takes any server name, but another chain names www.a.example and Envoy does not come back",
        ]
    );
}

#[test]
fn the_client_decides_the_order_of_application_protocols() {
    let chains = listener(
        &[
            ("h2", r#"{"application_protocols":["h2"]}"#),
            ("h1", r#"{"application_protocols":["http/1.1"]}"#),
        ],
        false,
    );
    assert_eq!(find(&chains, &tls("", &alpn(&["h2", "http/1.1"]))), "h2");
    assert_eq!(
        find(&chains, &tls("", &alpn(&["x", "http/1.1", "h2"]))),
        "h1"
    );
    assert_eq!(find(&chains, &tls("", &alpn(&["x"]))), "none");
    assert_eq!(
        considered(&chains, &tls("", &alpn(&["http/1.1", "h2"])))[0],
        "h2: no, application protocol h2 also matches, but http/1.1 of another chain goes first"
    );
}

#[test]
fn the_longest_range_wins_and_families_stay_apart() {
    let range = |ranges: &[(&str, u8)]| {
        let ranges: Vec<_> = ranges
            .iter()
            .map(|(address, length)| {
                format!(r#"{{"address_prefix":"{address}","prefix_len":{length}}}"#)
            })
            .collect();
        format!(r#"{{"prefix_ranges":[{}]}}"#, ranges.join(","))
    };
    let (wide, narrow, v6) = (
        range(&[("10.0.0.0", 8)]),
        range(&[("10.1.0.0", 16), ("10.2.3.4", 32)]),
        range(&[("::", 0)]),
    );
    let chains = listener(&[("wide", &wide), ("narrow", &narrow), ("v6", &v6)], false);
    for (destination, chain) in [
        ("10.1.2.3:80", "narrow"),
        ("10.2.3.4:80", "narrow"),
        ("10.2.3.5:80", "wide"),
        ("11.0.0.1:80", "none"),
        ("[fd00::1]:80", "v6"),
    ] {
        assert_eq!(
            find(&chains, &seen(destination, None)),
            chain,
            "{destination}"
        );
    }
    assert_eq!(
        considered(&chains, &seen("11.0.0.1:80", None))[1],
        "narrow: no, destination address is 11.0.0.1, the chain wants 10.1.0.0/16 or 10.2.3.4/32"
    );
}

#[test]
fn local_means_the_same_address_or_the_canonical_loopback() {
    let chains = listener(
        &[
            ("local", r#"{"source_type":"SAME_IP_OR_LOOPBACK"}"#),
            ("external", r#"{"source_type":"EXTERNAL"}"#),
        ],
        false,
    );
    for (source, chain) in [
        ("10.0.0.1:1", "local"),
        ("127.0.0.1:1", "local"),
        ("[::1]:1", "local"),
        ("127.0.0.2:1", "external"),
        ("10.0.0.2:1", "external"),
    ] {
        assert_eq!(
            find(&chains, &seen("10.0.0.1:80", Some(source))),
            chain,
            "{source}"
        );
    }
}

#[test]
fn an_unknown_source_leaves_undecided_only_what_depends_on_it() {
    let by_source = listener(
        &[
            (
                "trusted",
                r#"{"destination_port":80,"source_prefix_ranges":[{"address_prefix":"10.0.0.0","prefix_len":8}]}"#,
            ),
            ("rest", r#"{"destination_port":80}"#),
            ("other", r#"{"destination_port":81}"#),
        ],
        false,
    );
    assert_eq!(
        find(&by_source, &seen("10.0.0.1:80", None)),
        "undecided: the source address"
    );
    assert_eq!(
        find(&by_source, &seen("10.0.0.1:80", Some("10.1.1.1:5"))),
        "trusted"
    );
    assert_eq!(find(&by_source, &seen("10.0.0.1:81", None)), "other");
    let mut record = DecisionRecord::keeping();
    let chains = FilterChains::compile(Raw::of(&by_source).expect("JSON"));
    chains.find(&seen("10.0.0.1:80", None), &mut record);
    let matched: Vec<_> = record
        .considered
        .iter()
        .map(|c| c.matched.clone())
        .collect();
    assert_eq!(matched, [Tri::unknown("x"), Tri::unknown("x"), Tri::No]);

    let port = r#"{"source_ports":[7]}"#;
    let by_port = listener(&[("port", port), ("any", "{}")], false);
    assert_eq!(
        find(&by_port, &seen("10.0.0.1:80", Some("10.1.1.1:0"))),
        "undecided: the source port"
    );
    assert_eq!(
        find(&by_port, &seen("10.0.0.1:80", Some("10.1.1.1:7"))),
        "port"
    );
}

#[test]
fn the_order_of_chains_in_the_document_does_not_matter() {
    let chains = [
        ("a", r#"{"destination_port":80}"#),
        (
            "b",
            r#"{"destination_port":80,"server_names":["x.example"]}"#,
        ),
        (
            "c",
            r#"{"server_names":["*.example"],"transport_protocol":"tls"}"#,
        ),
        ("d", "{}"),
    ];
    let reversed: Vec<_> = chains.iter().rev().copied().collect();
    for connection in [
        tls("x.example", &[]),
        tls("y.example", &[]),
        seen("10.0.0.1:80", None),
        seen("10.0.0.1:81", None),
    ] {
        assert_eq!(
            find(&listener(&chains, true), &connection),
            find(&listener(&reversed, true), &connection)
        );
    }
}

/// As a waypoint has it: address, then port, then what the bytes look like.
const TREE: &str = r#"{"filter_chain_matcher":{"matcher_tree":{
  "input":{"typed_config":{"@type":"type.googleapis.com/x.DestinationIPInput"}},
  "custom_match":{"typed_config":{"range_matchers":[
    {"ranges":[{"address_prefix":"10.0.0.0","prefix_len":8}],"on_match":{"action":{"typed_config":{"value":"wide"}}}},
    {"ranges":[{"address_prefix":"10.0.0.1","prefix_len":32}],"on_match":{"matcher":{"matcher_tree":{
      "input":{"typed_config":{"@type":"type.googleapis.com/x.DestinationPortInput"}},
      "exact_match_map":{"map":{"80":{"matcher":{
        "matcher_tree":{"input":{"typed_config":{"@type":"type.googleapis.com/x.ApplicationProtocolInput"}},
          "exact_match_map":{"map":{"'http/1.1'":{"action":{"typed_config":{"value":"http"}}}}}},
        "on_no_match":{"action":{"typed_config":{"value":"tcp"}}}}}}}}}}}]}}}},
  "filter_chains":[{"name":"wide"},{"name":"http"},{"name":"tcp"}]}"#;

#[test]
fn a_matcher_tree_names_the_chain() {
    for (address, chain) in [
        ("10.0.0.1:80", "tcp"),
        // A range that leads nowhere gives way to a wider one.
        ("10.0.0.1:81", "wide"),
        ("10.9.9.9:80", "wide"),
        ("192.0.2.1:80", "none"),
    ] {
        assert_eq!(find(TREE, &seen(address, None)), chain, "{address}");
    }
}

#[test]
fn a_matcher_tree_of_another_kind_is_not_modelled() {
    let doc = r#"{"filter_chain_matcher":{"matcher_list":{}},"filter_chains":[{"name":"a"}]}"#;
    assert_eq!(
        find(doc, &seen("10.0.0.1:80", None)),
        "undecided: what the listener's list of matchers decides, which is not modelled"
    );
}

#[test]
fn chains_without_a_name_go_by_what_they_take() {
    let doc = r#"{"filter_chains":[{"filter_chain_match":{"transport_protocol":"tls","server_names":["a","*.b"]}},{}]}"#;
    let what = |at: usize| considered(doc, &seen("10.0.0.1:80", None))[at].clone();
    assert!(
        what(0).starts_with("filter chain for server name *.b or a, transport protocol tls: no"),
        "{}",
        what(0)
    );
    assert!(
        what(1).starts_with("filter chain for everything: yes"),
        "{}",
        what(1)
    );
}
