use super::*;
use crate::Request;
use crate::request::{Claims, Connection};

fn request(headers: &[(&str, &str)]) -> Request {
    Request {
        connection: Connection {
            destination: ([10, 0, 0, 1].into(), 8080),
            source: Some(([10, 244, 0, 5].into(), 40_000)),
            tls: None,
            plain_http: Some("http/1.1"),
        },
        method: "GET".to_owned(),
        scheme: "http".to_owned(),
        authority: "cart.shop:8080".to_owned(),
        path: "/".to_owned(),
        headers: headers
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        claims: Claims::None,
        unknown_headers: Vec::new(),
    }
}

fn filter(name: &str, kind: &str, config: &str) -> String {
    let comma = if config.is_empty() { "" } else { "," };
    format!(
        r#"{{"name":"{name}","typed_config":{{"@type":"type.googleapis.com/envoy.extensions.filters.http.{kind}"{comma}{config}}}}}"#
    )
}

fn manager(filters: &[String]) -> String {
    let router = filter("envoy.filters.http.router", "router.v3.Router", "");
    let filters: Vec<_> = filters.iter().cloned().chain([router]).collect();
    format!(
        r#"{{"use_remote_address":true,"http_filters":[{}]}}"#,
        filters.join(",")
    )
}

/// Walks a request through the filters; every cluster but `missing` can be reached.
fn walk(manager: &str, overrides: &str, request: &Request, check: impl FnOnce(&FilterWalk<'_>)) {
    let runtime = Runtime::default();
    let chain = HttpFilters::compile(Raw::of(manager).expect("JSON"), &runtime, &|_| None);
    let overrides = Overrides::compile(&[Raw::of(overrides).expect("JSON")], &runtime);
    let upstream = |name: &str| {
        if name == "missing" {
            UpstreamState::Missing
        } else {
            UpstreamState::Usable
        }
    };
    let environment = FilterEnvironment {
        now: Time::from_seconds(0),
        upstream: &upstream,
        cluster: Some("out"),
    };
    check(&chain.evaluate(
        &overrides,
        &mut RequestState::new(request),
        &environment,
        &mut DecisionRecord::dropping(),
    ));
}

const DENY_ALL: &str = r#""rules":{"action":"DENY","policies":{"all":{"permissions":[{"any":true}],"principals":[{"any":true}]}}}"#;

#[test]
fn the_first_filter_that_answers_ends_the_chain() {
    let wasm = filter("plugin", "wasm.v3.Wasm", "");
    let rbac = filter("rbac", "rbac.v3.RBAC", DENY_ALL);
    walk(
        &manager(&[rbac.clone(), wasm.clone()]),
        "{}",
        &request(&[]),
        |walk| {
            let answer = walk.answer().expect("denied");
            assert_eq!(
                (answer.code, answer.details.as_str()),
                (403, "rbac_access_denied_matched_policy[all]")
            );
            assert_eq!(walk.steps.len(), 1, "what comes behind is never asked");
        },
    );
    walk(&manager(&[wasm, rbac]), "{}", &request(&[]), |walk| {
        assert_eq!(
            walk.undecided.as_deref(),
            Some("what the filter plugin does, which is not modelled")
        );
        assert!(walk.answer().is_none());
    });
}

#[test]
fn a_denial_of_grpc_is_a_200_with_a_status() {
    let rbac = filter("rbac", "rbac.v3.RBAC", DENY_ALL);
    walk(
        &manager(&[rbac]),
        "{}",
        &request(&[("content-type", "application/grpc")]),
        |walk| {
            let answer = walk.answer().expect("denied");
            assert_eq!((answer.code, answer.grpc_status), (200, Some(7)));
        },
    );
}

#[test]
fn faults_split_by_their_percentage() {
    let fault = filter(
        "fault",
        "fault.v3.HTTPFault",
        r#""abort":{"http_status":503,"percentage":{"numerator":20}},"delay":{"fixed_delay":"2s","percentage":{"numerator":50}}"#,
    );
    walk(&manager(&[fault]), "{}", &request(&[]), |walk| {
        let seen: Vec<_> = walk
            .branches
            .iter()
            .map(|branch| {
                let flags = branch
                    .answer
                    .as_ref()
                    .map_or(&branch.flags, |answer| &answer.flags);
                (
                    branch.weight.unwrap_or_default(),
                    flags.join(","),
                    branch.answer.is_some(),
                )
            })
            .collect();
        let expected = [
            (0.1, "DI,FI", true),
            (0.4, "DI", false),
            (0.1, "FI", true),
            (0.4, "", false),
        ];
        assert_eq!(seen.len(), expected.len());
        for ((weight, flags, ends), (expected_weight, expected_flags, expected_ends)) in
            seen.iter().zip(expected)
        {
            assert!((weight - expected_weight).abs() < 1e-9, "{seen:?}");
            assert_eq!((flags.as_str(), *ends), (expected_flags, expected_ends));
        }
    });
}

#[test]
fn a_bucket_may_be_empty_or_not() {
    let limit = filter(
        "limit",
        "local_ratelimit.v3.LocalRateLimit",
        r#""token_bucket":{"max_tokens":3},"filter_enabled":{"default_value":{"numerator":100}},
           "filter_enforced":{"default_value":{"numerator":100}}"#,
    );
    walk(&manager(&[limit]), "{}", &request(&[]), |walk| {
        let [limited, passed] = walk.branches.as_slice() else {
            unreachable!("two ways")
        };
        let answer = limited.answer.as_ref().expect("limited");
        assert_eq!(
            (
                answer.code,
                answer.flags.as_slice(),
                answer.details.as_str()
            ),
            (429, &["RL"][..], "local_rate_limited")
        );
        assert!(limited.weight.is_none() && passed.answer.is_none());
    });
}

#[test]
fn authorization_that_cannot_be_asked_is_an_error_and_one_that_can_is_unknown() {
    let authz = |cluster: &str| {
        filter(
            "authz",
            "ext_authz.v3.ExtAuthz",
            &format!(r#""grpc_service":{{"envoy_grpc":{{"cluster_name":"{cluster}"}}}}"#),
        )
    };
    walk(&manager(&[authz("missing")]), "{}", &request(&[]), |walk| {
        let answer = walk.answer().expect("an error");
        assert_eq!(
            (
                answer.code,
                answer.flags.as_slice(),
                answer.details.as_str()
            ),
            (403, &["UAEX"][..], "ext_authz_error")
        );
    });
    walk(&manager(&[authz("opa")]), "{}", &request(&[]), |walk| {
        assert_eq!(
            walk.undecided.as_deref(),
            Some("the answer of the authorization service opa")
        );
    });
}

#[test]
fn only_requests_that_a_custom_policy_matches_are_asked_about() {
    let shadow = filter(
        "custom",
        "rbac.v3.RBAC",
        r#""shadow_rules_stat_prefix":"istio_ext_authz_","shadow_rules":{"action":"DENY","policies":{
            "istio-ext-authz-opa-ns[a]-policy[b]-rule[0]":{"permissions":[{"any":true}],
            "principals":[{"header":{"name":"x-ask","present_match":true}}]}}}"#,
    );
    let authz = filter(
        "authz",
        "ext_authz.v3.ExtAuthz",
        r#""grpc_service":{"envoy_grpc":{"cluster_name":"missing"}},"filter_enabled_metadata":{
            "filter":"envoy.filters.http.rbac","path":[{"key":"istio_ext_authz_shadow_effective_policy_id"}],
            "value":{"string_match":{"prefix":"istio-ext-authz-opa"}}}"#,
    );
    let manager = manager(&[shadow, authz]);
    walk(&manager, "{}", &request(&[]), |walk| {
        assert!(walk.answer().is_none() && walk.undecided.is_none());
        assert!(
            matches!(walk.steps[1].verdict, FilterVerdict::Skipped(_)),
            "{:?}",
            walk.steps[1]
        );
    });
    walk(&manager, "{}", &request(&[("x-ask", "1")]), |walk| {
        assert_eq!(walk.answer().map(|a| a.code), Some(403));
    });
}

#[test]
fn routes_turn_filters_off_on_and_upside_down() {
    let rbac = filter("rbac", "rbac.v3.RBAC", DENY_ALL);
    let per_route = |config: &str| format!(r#"{{"typed_per_filter_config":{{"rbac":{config}}}}}"#);
    let kind =
        |name: &str, rest: &str| format!(r#"{{"@type":"type.googleapis.com/{name}"{rest}}}"#);
    let replaced = kind(
        "envoy.extensions.filters.http.rbac.v3.RBACPerRoute",
        r#","rbac":{}"#,
    );
    let emptied = kind("envoy.extensions.filters.http.rbac.v3.RBACPerRoute", "");
    let disabled = kind("envoy.config.route.v3.FilterConfig", r#","disabled":true"#);
    for (config, expected) in [
        (None, Some(403)),
        (Some(replaced), None),
        (Some(emptied), None),
        (Some(disabled), None),
    ] {
        let overrides = config.map_or_else(|| "{}".to_owned(), |config| per_route(&config));
        walk(
            &manager(std::slice::from_ref(&rbac)),
            &overrides,
            &request(&[]),
            |walk| {
                assert_eq!(
                    walk.answer().map(|answer| answer.code),
                    expected,
                    "{overrides}"
                );
            },
        );
    }
    let off = rbac.replacen('{', r#"{"disabled":true,"#, 1);
    walk(
        &manager(std::slice::from_ref(&off)),
        "{}",
        &request(&[]),
        |walk| assert!(walk.answer().is_none()),
    );
    let on = per_route(&kind("envoy.config.route.v3.FilterConfig", ""));
    walk(&manager(&[off]), &on, &request(&[]), |walk| {
        assert_eq!(walk.answer().map(|answer| answer.code), Some(403));
    });
}

#[test]
fn a_filter_whose_configuration_never_came_answers_500() {
    let missing = r#"{"name":"plugin","config_discovery":{"type_urls":["x"]}}"#.to_owned();
    walk(
        &manager(std::slice::from_ref(&missing)),
        "{}",
        &request(&[]),
        |walk| {
            let answer = walk.answer().expect("no configuration");
            assert_eq!(
                (
                    answer.code,
                    answer.flags.as_slice(),
                    answer.details.as_str()
                ),
                (500, &["NFCF"][..], "")
            );
        },
    );
    let manager = manager(&[missing]);
    let delivered = format!(
        r#"{{"typed_config":{{"@type":"x/envoy.extensions.filters.http.rbac.v3.RBAC",{DENY_ALL}}}}}"#
    );
    let found = Raw::of(&delivered).expect("JSON");
    let chain = HttpFilters::compile(
        Raw::of(&manager).expect("JSON"),
        &Runtime::default(),
        &|name| (name == "plugin").then_some(found),
    );
    assert_eq!(chain.filters()[0].kind(), "rbac");
}

#[test]
fn the_client_is_who_the_trusted_hops_say() {
    let rbac = filter(
        "rbac",
        "rbac.v3.RBAC",
        r#""rules":{"policies":{"a":{"permissions":[{"any":true}],
            "principals":[{"remote_ip":{"address_prefix":"192.0.2.0","prefix_len":24}}]}}}"#,
    );
    let hops = |json: &str| {
        manager(std::slice::from_ref(&rbac)).replacen(r#""use_remote_address":true"#, json, 1)
    };
    for (json, forwarded, allowed) in [
        (r#""use_remote_address":true"#, "192.0.2.1", Some(false)),
        (
            r#""use_remote_address":true,"xff_num_trusted_hops":1"#,
            "192.0.2.1",
            Some(true),
        ),
        (
            r#""use_remote_address":true,"xff_num_trusted_hops":2"#,
            "192.0.2.1,203.0.113.9",
            Some(true),
        ),
        (
            r#""use_remote_address":false"#,
            "203.0.113.9, 192.0.2.1",
            Some(true),
        ),
        (
            r#""use_remote_address":false"#,
            "192.0.2.1, 203.0.113.9",
            Some(false),
        ),
        (r#""use_remote_address":false"#, "", None),
    ] {
        let headers = [("x-forwarded-for", forwarded)];
        let request = request(if forwarded.is_empty() { &[] } else { &headers });
        walk(&hops(json), "{}", &request, |walk| {
            let seen = walk.undecided.is_none().then(|| walk.answer().is_none());
            assert_eq!(seen, allowed, "{json} {forwarded}");
        });
    }
}
