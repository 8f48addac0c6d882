use super::*;
use meshladder_sim::request::{Claims, Connection, Request, Tls};
use meshladder_text::json::Raw;

const CART: &str = "spiffe://cluster.local/ns/shop/sa/cart";
const CURL: &str = "spiffe://cluster.local/ns/tools/sa/curl";

fn node(doc: &str) -> Node {
    Node::from_json(Raw::of(doc).expect("a value")).expect("JSON")
}

fn policy(name: &str, spec: &str) -> Node {
    node(&format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"shop"}},"spec":{spec}}}"#
    ))
}

fn request(method: &str, path: &str, peer: Option<&str>) -> Request {
    Request {
        connection: Connection {
            destination: ([10, 0, 0, 1].into(), 8080),
            source: Some(([10, 244, 0, 5].into(), 40_000)),
            tls: peer.map(|peer| Tls {
                peer: Some(vec![peer.to_owned()]),
                ..Tls::default()
            }),
            plain_http: Some("http/1.1"),
        },
        method: method.to_owned(),
        scheme: "http".to_owned(),
        authority: "Cart.shop:8080".to_owned(),
        path: path.to_owned(),
        headers: vec![("x-team".to_owned(), "blue".to_owned())],
        claims: Claims::None,
        unknown_headers: Vec::new(),
    }
}

fn verdict(policies: &[Node], request: &Request, traffic: Traffic, mesh: &MeshConfig) -> String {
    let labels = node(r#"{"app":"cart"}"#);
    let workload = Workload {
        namespace: "shop",
        labels: Some(&labels),
        service: None,
    };
    let objects = PolicyObjects {
        authorization_policies: policies.iter().collect(),
        ..PolicyObjects::default()
    };
    let compiled = WorkloadPolicies::compile(&objects, &workload, mesh, traffic);
    let mut state = if traffic == Traffic::Http {
        RequestState::new(request)
    } else {
        RequestState::tcp(request)
    };
    match compiled.evaluate(
        &mut state,
        Time::from_seconds(0),
        &mut DecisionRecord::dropping(),
    ) {
        PolicyVerdict::Allowed { .. } => "allowed".to_owned(),
        PolicyVerdict::Denied { policy } => {
            format!("denied by {}", policy.as_deref().unwrap_or("none"))
        }
        PolicyVerdict::Refused(answer) => answer.details,
        PolicyVerdict::Undecided(fact) => format!("undecided: {fact}"),
    }
}

/// One policy for HTTP in a plain mesh.
fn one(spec: &str, request: &Request) -> String {
    verdict(
        &[policy("p", spec)],
        request,
        Traffic::Http,
        &MeshConfig::default(),
    )
}

#[test]
fn policies_without_rules_allow_nothing_and_deny_nothing() {
    let get = request("GET", "/", Some(CART));
    assert_eq!(one("{}", &get), "denied by none");
    assert_eq!(one(r#"{"action":"DENY"}"#, &get), "allowed");
    assert_eq!(one(r#"{"rules":[{}]}"#, &get), "allowed");
    assert_eq!(
        one(r#"{"action":"DENY","rules":[{}]}"#, &get),
        "denied by ns[shop]-policy[p]-rule[0]"
    );
    assert_eq!(
        verdict(&[], &get, Traffic::Http, &MeshConfig::default()),
        "allowed"
    );
}

#[test]
fn every_field_asks_what_istiod_makes_of_it() {
    let get = request("GET", "/pay/1?x=y", Some(CART));
    let source = |json: &str| format!(r#"{{"rules":[{{"from":[{{"source":{{{json}}}}}]}}]}}"#);
    let operation = |json: &str| format!(r#"{{"rules":[{{"to":[{{"operation":{{{json}}}}}]}}]}}"#);
    let when = |key: &str, values: &str| {
        format!(r#"{{"rules":[{{"when":[{{"key":"{key}","values":[{values}]}}]}}]}}"#)
    };
    for (spec, allowed) in [
        (
            source(r#""principals":["cluster.local/ns/shop/sa/cart"]"#),
            true,
        ),
        (source(r#""principals":["cluster.local/ns/shop/*"]"#), true),
        (source(r#""principals":["*/sa/cart"]"#), true),
        (source(r#""principals":["*"]"#), true),
        (
            source(r#""principals":["cluster.local/ns/shop/sa/car"]"#),
            false,
        ),
        (source(r#""notPrincipals":["*"]"#), false),
        (source(r#""namespaces":["shop"]"#), true),
        (source(r#""namespaces":["sh*"]"#), true),
        (source(r#""namespaces":["sho"]"#), false),
        (source(r#""notNamespaces":["tools"]"#), true),
        (source(r#""serviceAccounts":["cart"]"#), true),
        (source(r#""serviceAccounts":["tools/cart"]"#), false),
        (source(r#""trustDomains":["cluster.local"]"#), true),
        (source(r#""ipBlocks":["10.244.0.0/16"]"#), true),
        (source(r#""ipBlocks":["10.244.0.6"]"#), false),
        (source(r#""requestPrincipals":["*"]"#), false),
        (source(r#""notRequestPrincipals":["*"]"#), true),
        (operation(r#""methods":["GET"]"#), true),
        (operation(r#""methods":["get"]"#), false),
        (operation(r#""notMethods":["POST","PUT"]"#), true),
        (operation(r#""paths":["/pay/1"]"#), true),
        (operation(r#""paths":["/pay/*"]"#), true),
        (operation(r#""paths":["*/1"]"#), true),
        (operation(r#""paths":["/pay/{*}"]"#), true),
        (operation(r#""paths":["/{*}"]"#), false),
        (operation(r#""paths":["/{**}"]"#), true),
        (operation(r#""hosts":["cart.shop:8080"]"#), true),
        (operation(r#""hosts":["cart.shop"]"#), false),
        (operation(r#""hosts":["cart.*"]"#), true),
        (operation(r#""ports":["8080"]"#), true),
        (operation(r#""notPorts":["8080"]"#), false),
        (when("request.headers[X-Team]", r#""blue""#), true),
        (when("request.headers[x-team]", r#""b*""#), true),
        (when("request.headers[x-none]", r#""*""#), false),
        (when("source.ip", r#""10.244.0.5""#), true),
        (when("destination.port", r#""8080""#), true),
        (when("destination.ip", r#""10.0.0.0/8""#), true),
        (when("connection.sni", r#""*""#), false),
        (when("request.auth.claims[groups]", r#""admin""#), false),
        (when("no.such.attribute", r#""x""#), false),
    ] {
        assert_eq!(
            one(&spec, &get),
            if allowed { "allowed" } else { "denied by none" },
            "{spec}"
        );
    }
}

#[test]
fn plain_text_has_no_principal() {
    let plain = request("GET", "/", None);
    let deny = |json: &str| {
        format!(r#"{{"action":"DENY","rules":[{{"from":[{{"source":{{{json}}}}}]}}]}}"#)
    };
    assert_eq!(one(&deny(r#""principals":["*"]"#), &plain), "allowed");
    assert_eq!(
        one(
            &deny(r#""notPrincipals":["cluster.local/ns/shop/sa/cart"]"#),
            &plain
        ),
        "denied by ns[shop]-policy[p]-rule[0]"
    );
    assert_eq!(
        one(&deny(r#""notNamespaces":["shop"]"#), &plain),
        "denied by ns[shop]-policy[p]-rule[0]"
    );
}

#[test]
fn fields_of_http_drop_an_allow_rule_on_tcp_and_widen_a_deny_rule() {
    let request = request("GET", "/", Some(CART));
    let rule = r#""rules":[{"to":[{"operation":{"methods":["DELETE"]}}]}]"#;
    let tcp = |spec: &str| {
        verdict(
            &[policy("p", spec)],
            &request,
            Traffic::Tcp,
            &MeshConfig::default(),
        )
    };
    assert_eq!(tcp(&format!("{{{rule}}}")), "denied by none");
    assert_eq!(
        tcp(&format!(r#"{{"action":"DENY",{rule}}}"#)),
        "denied by ns[shop]-policy[p]-rule[0]"
    );
    let ports = r#"{"action":"DENY","rules":[{"to":[{"operation":{"methods":["DELETE"],"ports":["9090"]}}]}]}"#;
    assert_eq!(tcp(ports), "allowed");
}

#[test]
fn deny_goes_before_allow_and_dry_run_decides_nothing() {
    let get = request("GET", "/", Some(CART));
    let http = |policies: &[Node]| verdict(policies, &get, Traffic::Http, &MeshConfig::default());
    let (allow, deny) = (
        policy("a", r#"{"rules":[{}]}"#),
        policy("d", r#"{"action":"DENY","rules":[{}]}"#),
    );
    assert_eq!(
        http(&[allow.clone(), deny]),
        "denied by ns[shop]-policy[d]-rule[0]"
    );
    let dry = |action: &str| {
        let annotations = r#""annotations":{"istio.io/dry-run":"true"}"#;
        node(&format!(
            r#"{{"metadata":{{"name":"x","namespace":"shop",{annotations}}},"spec":{{"action":"{action}","rules":[{{}}]}}}}"#
        ))
    };
    assert_eq!(http(&[dry("DENY")]), "allowed");
    assert_eq!(
        http(&[dry("ALLOW")]),
        "allowed",
        "no implicit deny when all ALLOW policies are dry-run"
    );
    assert_eq!(http(&[policy("n", "{}"), dry("ALLOW")]), "denied by none");
}

#[test]
fn custom_asks_its_provider_and_denies_when_there_is_none() {
    let get = request("GET", "/admin", Some(CART));
    let custom = policy(
        "c",
        r#"{"action":"CUSTOM","provider":{"name":"opa"},"rules":[{"to":[{"operation":{"paths":["/admin*"]}}]}]}"#,
    );
    let bad =
        "denied by istio-ext-authz-opa-ns[shop]-policy[c]-rule[0]-deny-due-to-bad-CUSTOM-action";
    assert_eq!(
        verdict(
            std::slice::from_ref(&custom),
            &get,
            Traffic::Http,
            &MeshConfig::default()
        ),
        bad
    );
    let config = node(
        r#"{"extensionProviders":[{"name":"opa","envoyExtAuthzHttp":{"service":"opa.shop.svc","port":80}}]}"#,
    );
    let mesh = MeshConfig::read(&config);
    let asks = "undecided: the answer of the provider opa";
    assert_eq!(
        verdict(std::slice::from_ref(&custom), &get, Traffic::Http, &mesh),
        asks
    );
    assert_eq!(
        verdict(
            std::slice::from_ref(&custom),
            &request("GET", "/", None),
            Traffic::Http,
            &mesh
        ),
        "allowed"
    );
    assert_eq!(
        verdict(std::slice::from_ref(&custom), &get, Traffic::Tcp, &mesh),
        "allowed",
        "no HTTP provider on TCP"
    );
    let deny = policy("d", r#"{"action":"DENY","rules":[{}]}"#);
    assert_eq!(
        verdict(&[custom, deny], &get, Traffic::Http, &mesh),
        "denied by ns[shop]-policy[d]-rule[0]"
    );
}

#[test]
fn a_principal_of_the_mesh_stands_for_all_its_trust_domains() {
    let mesh = MeshConfig::read(&node(
        r#"{"trustDomain":"new.test","trustDomainAliases":["old.test"]}"#,
    ));
    let spec = |principal: &str| {
        format!(r#"{{"rules":[{{"from":[{{"source":{{"principals":["{principal}"]}}}}]}}]}}"#)
    };
    for (principal, peer, allowed) in [
        (
            "cluster.local/ns/shop/sa/cart",
            "spiffe://new.test/ns/shop/sa/cart",
            true,
        ),
        (
            "cluster.local/ns/shop/sa/cart",
            "spiffe://old.test/ns/shop/sa/cart",
            true,
        ),
        (
            "cluster.local/ns/shop/sa/cart",
            "spiffe://cluster.local/ns/shop/sa/cart",
            false,
        ),
        (
            "old.test/ns/shop/sa/cart",
            "spiffe://new.test/ns/shop/sa/cart",
            true,
        ),
        (
            "other.test/ns/shop/sa/cart",
            "spiffe://new.test/ns/shop/sa/cart",
            false,
        ),
        (
            "other.test/ns/shop/sa/cart",
            "spiffe://other.test/ns/shop/sa/cart",
            true,
        ),
        (
            "*/ns/shop/sa/cart",
            "spiffe://any.test/ns/shop/sa/cart",
            true,
        ),
    ] {
        let request = request("GET", "/", Some(peer));
        let seen = verdict(
            &[policy("p", &spec(principal))],
            &request,
            Traffic::Http,
            &mesh,
        );
        assert_eq!(seen == "allowed", allowed, "{principal} {peer}: {seen}");
    }
}

#[test]
fn policies_reach_by_namespace_selector_and_target() {
    let labels = node(r#"{"app":"cart","gateway.networking.k8s.io/gateway-name":"gw"}"#);
    let plain = node(r#"{"app":"cart"}"#);
    let object = |namespace: &str, spec: &str| {
        node(&format!(
            r#"{{"metadata":{{"name":"p","namespace":"{namespace}"}},"spec":{spec}}}"#
        ))
    };
    let target = |kind: &str, name: &str| {
        let group = if kind == "Service" {
            ""
        } else {
            "gateway.networking.k8s.io"
        };
        format!(r#"{{"targetRefs":[{{"group":"{group}","kind":"{kind}","name":"{name}"}}]}}"#)
    };
    let sidecar = Workload {
        namespace: "shop",
        labels: Some(&plain),
        service: None,
    };
    let gateway = Workload {
        labels: Some(&labels),
        ..sidecar
    };
    let waypoint = Workload {
        service: Some(("shop", "cart")),
        ..gateway
    };
    for (workload, namespace, spec, reaches) in [
        (sidecar, "shop", "{}".to_owned(), true),
        (sidecar, "istio-system", "{}".to_owned(), true),
        (sidecar, "tools", "{}".to_owned(), false),
        (
            sidecar,
            "shop",
            r#"{"selector":{"matchLabels":{"app":"cart"}}}"#.to_owned(),
            true,
        ),
        (
            sidecar,
            "istio-system",
            r#"{"selector":{"matchLabels":{"app":"web"}}}"#.to_owned(),
            false,
        ),
        (sidecar, "shop", target("Gateway", "gw"), false),
        (gateway, "shop", target("Gateway", "gw"), true),
        (gateway, "shop", target("Gateway", "other"), false),
        (gateway, "istio-system", target("Gateway", "gw"), false),
        (gateway, "shop", "{}".to_owned(), true),
        (waypoint, "shop", "{}".to_owned(), false),
        (waypoint, "shop", target("Service", "cart"), true),
        (waypoint, "shop", target("Service", "web"), false),
        (
            waypoint,
            "istio-system",
            target("GatewayClass", "istio-waypoint"),
            true,
        ),
    ] {
        let object = object(namespace, &spec);
        let found = select::reaching(&[&object], &workload, &MeshConfig::default());
        assert_eq!(
            !found.is_empty(),
            reaches,
            "{namespace} {spec} {workload:?}"
        );
    }
}

#[test]
fn claims_come_from_request_authentication() {
    let authentication = policy(
        "r",
        r#"{"jwtRules":[{"issuer":"https://i.test","jwksUri":"https://i.test/keys"}]}"#,
    );
    let needs_token = policy(
        "p",
        r#"{"rules":[{"from":[{"source":{"requestPrincipals":["https://i.test/alice"]}}]}]}"#,
    );
    let labels = node("{}");
    let workload = Workload {
        namespace: "shop",
        labels: Some(&labels),
        service: None,
    };
    let objects = PolicyObjects {
        authorization_policies: vec![&needs_token],
        request_authentications: vec![&authentication],
    };
    let compiled =
        WorkloadPolicies::compile(&objects, &workload, &MeshConfig::default(), Traffic::Http);
    let with = |claims: Claims| {
        let request = Request {
            claims,
            ..request("GET", "/", Some(CURL))
        };
        compiled.evaluate(
            &mut RequestState::new(&request),
            Time::from_seconds(0),
            &mut DecisionRecord::dropping(),
        )
    };
    let given = |sub: &str| {
        Claims::Given(vec![
            ("iss".to_owned(), "https://i.test".to_owned()),
            ("sub".to_owned(), sub.to_owned()),
        ])
    };
    let allowed = PolicyVerdict::Allowed {
        policy: Some("ns[shop]-policy[p]-rule[0]".into()),
    };
    assert_eq!(with(given("alice")), allowed);
    assert_eq!(with(given("bob")), PolicyVerdict::Denied { policy: None });
    assert_eq!(with(Claims::None), PolicyVerdict::Denied { policy: None });
    assert_eq!(
        with(Claims::Unknown),
        PolicyVerdict::Undecided("whether the request carries a token".into())
    );
}
