use super::*;
use crate::Request;
use crate::request::{Claims, Connection, Tls};
use crate::state::{MetadataEntry, Peer};

fn request(method: &str, path: &str, peer: Option<&str>) -> Request {
    let tls = peer.map(|peer| Tls {
        sni: Some("a.test".to_owned()),
        alpn: Vec::new(),
        peer: Some(vec![peer.to_owned()]),
    });
    Request {
        connection: Connection {
            destination: ([10, 0, 0, 1].into(), 8080),
            source: Some(([10, 244, 0, 5].into(), 40_000)),
            tls,
            plain_http: Some("http/1.1"),
        },
        method: method.to_owned(),
        scheme: "http".to_owned(),
        authority: "cart.shop:8080".to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        claims: Claims::None,
        unknown_headers: Vec::new(),
    }
}

const CART: &str = "spiffe://cluster.local/ns/shop/sa/cart";
const CURL: &str = "spiffe://cluster.local/ns/tools/sa/curl";

fn rbac(doc: &str) -> Rbac {
    Rbac::compile(Raw::of(doc).expect("the test's document is JSON"))
}

/// One policy as istiod makes it: GET or POST below `/pay`, by `cart`.
const PAYMENTS: &str = r#""ns[shop]-policy[payments]-rule[0]":{
    "permissions":[{"and_rules":{"rules":[
        {"or_rules":{"rules":[{"header":{"name":":method","string_match":{"exact":"GET"}}},
                              {"header":{"name":":method","string_match":{"exact":"POST"}}}]}},
        {"or_rules":{"rules":[{"url_path":{"path":{"prefix":"/pay"}}}]}}]}}],
    "principals":[{"and_ids":{"ids":[{"or_ids":{"ids":[
        {"authenticated":{"principal_name":{"exact":"spiffe://cluster.local/ns/shop/sa/cart"}}}]}}]}}]}"#;
const ANYTHING: &str = r#"{"permissions":[{"any":true}],"principals":[{"any":true}]}"#;

fn decide(rbac: &Rbac, request: &Request) -> RbacDecision {
    rbac.evaluate(&RequestState::new(request), &mut DecisionRecord::dropping())
}

fn denied(policy: Option<&str>) -> RbacDecision {
    RbacDecision::Denied {
        policy: policy.map(Into::into),
        unless: None,
    }
}

#[test]
fn allow_needs_a_match_and_deny_needs_none() {
    let name = "ns[shop]-policy[payments]-rule[0]";
    let allow = rbac(&format!(r#"{{"policies":{{{PAYMENTS}}}}}"#));
    let deny = rbac(&format!(r#"{{"action":"DENY","policies":{{{PAYMENTS}}}}}"#));
    let log = rbac(&format!(r#"{{"action":"LOG","policies":{{{PAYMENTS}}}}}"#));
    let (good, bad) = (
        request("GET", "/pay?x=1", Some(CART)),
        request("GET", "/pay", Some(CURL)),
    );
    assert_eq!(
        decide(&allow, &good),
        RbacDecision::Allowed {
            policy: Some(name.into())
        }
    );
    assert_eq!(decide(&allow, &bad), denied(None));
    assert_eq!(decide(&deny, &good), denied(Some(name)));
    assert_eq!(decide(&deny, &bad), RbacDecision::Allowed { policy: None });
    assert_eq!(decide(&log, &bad), RbacDecision::Allowed { policy: None });
    assert_eq!(decide(&rbac("{}"), &good), denied(None));
}

#[test]
fn the_first_policy_by_name_is_the_one_that_denies() {
    for order in [["b", "a", "B"], ["B", "b", "a"]] {
        let policies: Vec<_> = order
            .iter()
            .map(|name| format!(r#""{name}":{ANYTHING}"#))
            .collect();
        let deny = rbac(&format!(
            r#"{{"action":"DENY","policies":{{{}}}}}"#,
            policies.join(",")
        ));
        assert_eq!(
            decide(&deny, &request("GET", "/", None)),
            denied(Some("B")),
            "{order:?}"
        );
    }
}

#[test]
fn what_is_unknown_only_matters_where_it_could_decide() {
    let cel = r#"{"permissions":[{"any":true}],"principals":[{"any":true}],"condition":{}}"#;
    let both = |action: &str, a: &str, b: &str| {
        rbac(&format!(
            r#"{{"action":"{action}","policies":{{"a":{a},"b":{b}}}}}"#
        ))
    };
    let request = request("GET", "/", None);
    let undecided = RbacDecision::Undecided {
        fact: "what the CEL condition of the policy a says".into(),
    };
    let nothing = r#"{"permissions":[{"not_rule":{"any":true}}],"principals":[{"any":true}]}"#;
    assert_eq!(decide(&both("ALLOW", cel, nothing), &request), undecided);
    assert_eq!(decide(&both("DENY", cel, nothing), &request), undecided);
    assert_eq!(
        decide(&both("ALLOW", cel, ANYTHING), &request),
        RbacDecision::Allowed { policy: None }
    );
    let RbacDecision::Denied { policy, unless } = decide(&both("DENY", cel, ANYTHING), &request)
    else {
        unreachable!("b denies everything")
    };
    assert_eq!(
        (policy.as_deref(), unless.map(|(name, _)| name).as_deref()),
        (Some("b"), Some("a"))
    );
}

#[test]
fn reasons_name_the_one_field_that_failed() {
    let allow = rbac(&format!(r#"{{"policies":{{{PAYMENTS}}}}}"#));
    let policy = &allow.policies[0];
    for (request, expected) in [
        (
            request("GET", "/pay", Some(CURL)),
            vec![
                "principal `spiffe://cluster.local/ns/tools/sa/curl` is not `spiffe://cluster.local/ns/shop/sa/cart`",
            ],
        ),
        (
            request("PUT", "/pay", Some(CART)),
            vec!["header :method `PUT` is not `GET`, `POST`"],
        ),
        (
            request("PUT", "/x", Some(CART)),
            vec![
                "header :method `PUT` is not `GET`, `POST`",
                "path `/x` does not start with `/pay`",
            ],
        ),
        (
            request("GET", "/pay", None),
            vec![
                "principal, which plain text has not, is not `spiffe://cluster.local/ns/shop/sa/cart`",
            ],
        ),
        (request("GET", "/pay", Some(CART)), vec![]),
    ] {
        assert_eq!(policy.failures(&RequestState::new(&request)), expected);
    }
    let mut record = DecisionRecord::keeping();
    allow.evaluate(&RequestState::new(&request("PUT", "/x", None)), &mut record);
    let considered = &record.considered[0];
    assert_eq!(
        considered.why,
        "header :method `PUT` is not `GET`, `POST` (and 2 more)"
    );
    assert_eq!(
        (considered.what.to_string(), &considered.matched),
        (
            "policy ns[shop]-policy[payments]-rule[0]".to_owned(),
            &Tri::No
        )
    );
}

#[test]
fn exclusions_say_what_is_excluded() {
    let deny = r#"{"action":"DENY","policies":{"a":{"permissions":[{"any":true}],
        "principals":[{"not_id":{"or_ids":{"ids":[{"authenticated":{"principal_name":{"prefix":"spiffe://"}}}]}}}]}}}"#;
    let deny = rbac(deny);
    let request = request("GET", "/", Some(CART));
    let expected = format!("principal `{CART}` starts with `spiffe://`, which is excluded");
    assert_eq!(
        deny.policies[0].failures(&RequestState::new(&request)),
        [expected]
    );
    assert_eq!(
        decide(&deny, &super::tests::request("GET", "/", None)),
        denied(Some("a"))
    );
}

#[test]
fn an_identity_that_nobody_stated_is_the_missing_fact() {
    let allow = rbac(&format!(r#"{{"policies":{{{PAYMENTS}}}}}"#));
    let request = request("GET", "/pay", None);
    let mut state = RequestState::new(&request);
    state.caller = Peer::Unknown;
    let decision = allow.evaluate(&state, &mut DecisionRecord::dropping());
    assert_eq!(
        decision,
        RbacDecision::Undecided {
            fact: "the caller's identity".into()
        }
    );
    // Where another condition fails anyway, it does not matter.
    let mut elsewhere = RequestState::new(&request);
    elsewhere.caller = Peer::Unknown;
    elsewhere.request.to_mut().path = "/other".to_owned();
    assert_eq!(
        allow.evaluate(&elsewhere, &mut DecisionRecord::dropping()),
        denied(None)
    );
}

#[test]
fn without_http_there_are_no_headers_and_no_path() {
    let permission = |json: &str| RbacRule::permission(Raw::of(json).expect("JSON"));
    let request = request("GET", "/pay", None);
    let (http, tcp) = (RequestState::new(&request), RequestState::tcp(&request));
    for (json, on_http, on_tcp) in [
        (
            r#"{"header":{"name":":method","string_match":{"exact":"GET"}}}"#,
            Tri::Yes,
            Tri::No,
        ),
        (
            r#"{"header":{"name":":method","string_match":{"exact":"PUT"},"invert_match":true}}"#,
            Tri::Yes,
            Tri::No,
        ),
        (
            r#"{"header":{"name":":method","present_match":false}}"#,
            Tri::No,
            Tri::Yes,
        ),
        (r#"{"url_path":{"path":{"prefix":"/"}}}"#, Tri::Yes, Tri::No),
        (r#"{"destination_port":8080}"#, Tri::Yes, Tri::Yes),
    ] {
        assert_eq!(
            (
                permission(json).matches(&http),
                permission(json).matches(&tcp)
            ),
            (on_http, on_tcp),
            "{json}"
        );
    }
}

#[test]
fn shadow_rules_are_noted_down_and_decide_nothing() {
    let doc = format!(
        r#"{{"shadow_rules":{{"action":"DENY","policies":{{"istio-ext-authz-opa-x":{ANYTHING}}}}},
            "shadow_rules_stat_prefix":"istio_ext_authz_"}}"#
    );
    let filter = RbacFilter::compile(Raw::of(&doc).expect("JSON"));
    let request = request("GET", "/", None);
    let mut state = RequestState::new(&request);
    let outcome = filter.evaluate(&mut state, &mut DecisionRecord::dropping());
    assert_eq!(
        (outcome.enforced, outcome.shadow),
        (None, Some(denied(Some("istio-ext-authz-opa-x"))))
    );
    let matcher = r#"{"filter":"envoy.filters.http.rbac","path":[{"key":"istio_ext_authz_shadow_effective_policy_id"}],
        "value":{"string_match":{"prefix":"istio-ext-authz-opa"}}}"#;
    assert_eq!(
        MetadataMatcher::compile(Raw::of(matcher).expect("JSON")).matches(&state),
        Tri::Yes
    );
}

#[test]
fn claims_are_texts_or_lists() {
    let matcher = |value: &str| {
        let json = format!(
            r#"{{"filter":"envoy.filters.http.jwt_authn","path":[{{"key":"payload"}},{{"key":"groups"}}],"value":{value}}}"#
        );
        MetadataMatcher::compile(Raw::of(&json).expect("JSON"))
    };
    let (text, list) = (
        matcher(r#"{"string_match":{"exact":"admin"}}"#),
        matcher(r#"{"list_match":{"one_of":{"string_match":{"exact":"admin"}}}}"#),
    );
    let request = request("GET", "/", None);
    for (claims, as_text, as_list) in [
        (vec![("groups", "admin")], Tri::Yes, Tri::Yes),
        (
            vec![("groups", "dev"), ("groups", "admin")],
            Tri::No,
            Tri::Yes,
        ),
        (vec![("groups", "dev")], Tri::No, Tri::No),
        (vec![], Tri::No, Tri::No),
    ] {
        let mut state = RequestState::new(&request);
        let known = claims
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        state.metadata.set(
            "envoy.filters.http.jwt_authn",
            "payload",
            MetadataEntry::Claims(known),
        );
        assert_eq!(
            (text.matches(&state), list.matches(&state)),
            (as_text, as_list),
            "{claims:?}"
        );
    }
}

#[test]
fn details_have_no_blanks() {
    assert_eq!(details(None), "rbac_access_denied_matched_policy[none]");
    assert_eq!(
        details(Some("a \t\n\r\u{b}\u{c}y")),
        "rbac_access_denied_matched_policy[a______y]"
    );
    let name = "ns[shop]-policy[x]-rule[0]";
    assert_eq!(
        details(Some(name)),
        format!("rbac_access_denied_matched_policy[{name}]")
    );
}

#[test]
fn a_near_miss_fails_in_one_condition_only() {
    let rbac = rbac(&format!(r#"{{"policies":{{{PAYMENTS}}}}}"#));
    for (method, path, peer, near) in [
        ("GET", "/pay", CURL, true),
        ("PUT", "/pay", CART, true),
        ("PUT", "/pay", CURL, false),
        ("GET", "/pay", CART, false),
    ] {
        let mut record = DecisionRecord::keeping();
        rbac.evaluate(
            &RequestState::new(&request(method, path, Some(peer))),
            &mut record,
        );
        let name = near_miss(&record.considered[0]);
        assert_eq!(
            name,
            near.then_some("ns[shop]-policy[payments]-rule[0]"),
            "{method} {path} {peer}"
        );
    }
}

#[test]
fn a_dry_run_is_told_from_what_chooses_requests_for_a_provider() {
    use crate::trace::DryRun;
    let outcome = |action: &str, name: &str, matches: bool| {
        let rule = if matches {
            r#"{"any":true}"#
        } else {
            r#"{"not_id":{"any":true}}"#
        };
        let policy =
            format!(r#""{name}":{{"permissions":[{{"any":true}}],"principals":[{rule}]}}"#);
        let filter =
            format!(r#"{{"shadow_rules":{{"action":"{action}","policies":{{{policy}}}}}}}"#);
        let filter = RbacFilter::compile(Raw::of(&filter).expect("JSON"));
        let request = request("GET", "/", None);
        DryRun::of(&filter.evaluate(
            &mut RequestState::new(&request),
            &mut DecisionRecord::dropping(),
        ))
    };
    let name = "ns[shop]-policy[x]-rule[0]";
    let dry = |denies, policy: Option<&str>| {
        Some(DryRun {
            denies,
            policy: policy.map(str::to_owned),
        })
    };
    assert_eq!(outcome("DENY", name, true), dry(true, Some(name)));
    assert_eq!(outcome("DENY", name, false), None);
    assert_eq!(outcome("ALLOW", name, true), dry(false, Some(name)));
    assert_eq!(outcome("ALLOW", name, false), dry(true, None));
    assert_eq!(
        outcome(
            "DENY",
            "istio-ext-authz-opa-ns[shop]-policy[x]-rule[0]",
            true
        ),
        None
    );
}
