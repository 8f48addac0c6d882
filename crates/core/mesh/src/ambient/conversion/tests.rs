//! The conversion against the rules that it follows, and against what a real istiod made.

use super::*;
use crate::tests::mesh_of;
use meshladder_capture::ztunnel::policy::{L4Connection, L4Decision, decide};

fn policy_of(spec: &str) -> (Option<L4Policy>, Option<Degraded>) {
    let mesh = mesh_of(&format!(
        "kind: AuthorizationPolicy\nmetadata: {{name: p, namespace: shop}}\nspec: {spec}\n"
    ));
    let object = &mesh.objects.of_kind(Kind::AuthorizationPolicy)[0];
    let conversion = convert(AuthorizationPolicy::of(object), "istio-system");
    let degraded = conversion.degraded();
    (conversion.policy, degraded)
}

#[test]
fn what_requests_say_is_left_out_and_what_that_comes_to_is_known() {
    for (spec, rules, degraded) in [
        (
            "{rules: [{from: [{source: {namespaces: [a]}}]}]}",
            Some(1),
            None,
        ),
        ("{}", Some(0), None),
        ("{rules: [{}]}", Some(1), None),
        (
            "{rules: [{to: [{operation: {methods: [GET]}}]}]}",
            Some(0),
            Some(Degraded::RefusesAll),
        ),
        (
            "{rules: [{to: [{operation: {methods: [GET]}}]}, {from: [{source: {namespaces: [a]}}]}]}",
            Some(1),
            Some(Degraded::AllowsLess),
        ),
        (
            "{action: DENY, rules: [{to: [{operation: {paths: [/admin]}}]}]}",
            Some(1),
            Some(Degraded::RefusesNothing),
        ),
        (
            "{action: DENY, rules: [{from: [{source: {principals: [x]}}], to: [{operation: {paths: [/admin]}}]}]}",
            Some(1),
            Some(Degraded::RefusesNothing),
        ),
        (
            "{action: DENY, rules: [{to: [{operation: {ports: ['80'], paths: [/admin]}}]}]}",
            Some(1),
            Some(Degraded::DeniesMore),
        ),
        (
            "{action: DENY, rules: [{when: [{key: 'request.headers[x]', values: [y]}]}]}",
            Some(1),
            Some(Degraded::RefusesNothing),
        ),
        ("{action: CUSTOM, rules: [{}]}", None, None),
        ("{action: AUDIT, rules: [{}]}", None, None),
        (
            "{targetRefs: [{kind: Service, name: a}], rules: [{}]}",
            None,
            None,
        ),
    ] {
        let (policy, found) = policy_of(spec);
        assert_eq!(policy.map(|policy| policy.rules.len()), rules, "{spec}");
        assert_eq!(found, degraded, "{spec}");
    }
}

#[test]
fn a_port_that_is_none_restricts_nothing_and_a_selector_makes_the_scope() {
    let (policy, _) = policy_of("{rules: [{to: [{operation: {ports: [http]}}]}]}");
    assert_eq!(
        policy.map(|policy| policy.rules[0][0][0].is_empty()),
        Some(true)
    );
    let (policy, _) = policy_of("{selector: {}, rules: [{}]}");
    assert_eq!(
        policy.map(|policy| policy.scope),
        Some(L4Scope::WorkloadSelector)
    );
    let (policy, _) = policy_of("{rules: [{}]}");
    assert_eq!(policy.map(|policy| policy.scope), Some(L4Scope::Namespace));
}

/// Every combination of action and of fields in one rule, converted and held against the reference:
/// an ALLOW with anything beyond connections lets nothing in, a DENY whose entry has only such
/// refuses nothing, and one that has both refuses by the rest alone.
#[test]
fn every_combination_of_fields_converts_as_the_reference_says() {
    let to = [
        "",
        "ports: ['8080']",
        "ports: ['9999']",
        "paths: [/x]",
        "ports: ['8080'], paths: [/x]",
    ];
    let from = [
        "",
        "namespaces: [tools]",
        "namespaces: [other]",
        "requestPrincipals: ['*']",
    ];
    let when = ["", "source.namespace", "request.headers[a]"];
    let connection = L4Connection {
        source: Some([10, 0, 0, 1].into()),
        identity: Some("cluster.local/ns/tools/sa/curl".to_owned()),
        destination: ([10, 0, 0, 2].into(), 8080),
    };
    for action in ["ALLOW", "DENY"] {
        for to in to {
            for from in from {
                for when in when {
                    let mut parts = Vec::new();
                    if !to.is_empty() {
                        parts.push(format!("to: [{{operation: {{{to}}}}}]"));
                    }
                    if !from.is_empty() {
                        parts.push(format!("from: [{{source: {{{from}}}}}]"));
                    }
                    if !when.is_empty() {
                        parts.push(format!("when: [{{key: '{when}', values: [tools]}}]"));
                    }
                    let spec = format!("{{action: {action}, rules: [{{{}}}]}}", parts.join(", "));
                    let (policy, _) = policy_of(&spec);
                    let policy = policy.expect("it is sent");
                    let is_beyond = to.contains("paths")
                        || from.contains("request")
                        || when.contains("request");
                    let l4_holds = !to.contains("9999") && !from.contains("other");
                    // An entry or a condition with nothing for ztunnel never holds.
                    let has_dead =
                        to == "paths: [/x]" || from.contains("request") || when.contains("request");
                    let expected = match action {
                        "ALLOW" => !is_beyond && l4_holds,
                        _ => !has_dead && l4_holds,
                    };
                    assert_eq!(policy.matches(&connection), expected, "{spec}");
                }
            }
        }
    }
}

fn listed(objects: &str) -> (Vec<String>, Vec<String>) {
    let mesh = mesh_of(&format!(
        "kind: Pod\nmetadata: {{name: cart, namespace: shop, labels: {{app: cart}}}}\n{objects}"
    ));
    let pod = mesh
        .objects
        .get(Kind::Pod, "shop", "cart")
        .expect("it is there");
    let sent = mesh.l4_policies().iter().map(L4Policy::key).collect();
    (mesh.l4_listed(pod), sent)
}

fn peer(namespace: &str, name: &str, spec: &str) -> String {
    format!(
        "---\nkind: PeerAuthentication\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {{{spec}}}\n"
    )
}

#[test]
fn strict_is_a_policy_that_workloads_list_and_ports_are_one_of_their_own() {
    const STRICT: &str = "istio-system/istio_converted_static_strict";
    const OWN: &str = "shop/converted_peer_authentication_own";
    const CART: &str = "selector: {matchLabels: {app: cart}}";
    let strict_mesh = peer("istio-system", "mesh", "mtls: {mode: STRICT}");
    let strict = peer("shop", "ns", "mtls: {mode: STRICT}");
    let unset = peer("shop", "ns", "mtls: {mode: UNSET}");
    let open = peer("shop", "ns", "mtls: {mode: DISABLE}");
    let own = |spec: &str| peer("shop", "own", &format!("{CART}, {spec}"));
    let port = |mode: &str, on: &str| {
        format!("mtls: {{mode: {mode}}}, portLevelMtls: {{8080: {{mode: {on}}}}}")
    };
    for (objects, lists, is_sent) in [
        (strict.clone(), vec![STRICT], false),
        (strict_mesh.clone(), vec![STRICT], false),
        (format!("{strict_mesh}{open}"), vec![], false),
        (own(&port("STRICT", "PERMISSIVE")), vec![OWN], true),
        (own(&port("STRICT", "DISABLE")), vec![OWN], true),
        (own(&port("STRICT", "STRICT")), vec![STRICT], false),
        (own(&port("PERMISSIVE", "STRICT")), vec![OWN], true),
        (own(&port("PERMISSIVE", "DISABLE")), vec![], false),
        (
            format!("{strict}{}", own(&port("UNSET", "PERMISSIVE"))),
            vec![OWN],
            true,
        ),
        // The port stays STRICT.
        (
            format!("{strict}{}", own(&port("UNSET", "DISABLE"))),
            vec![STRICT],
            false,
        ),
        // Listed and never sent: the port is not protected.
        (
            format!("{strict_mesh}{}", own(&port("PERMISSIVE", "STRICT"))),
            vec![OWN],
            false,
        ),
        // STRICT is taken back for a policy that is never made: all ports are open.
        (
            format!("{strict_mesh}{unset}{}", own(&port("UNSET", "PERMISSIVE"))),
            vec![OWN],
            false,
        ),
    ] {
        let (found, sent) = listed(&objects);
        assert_eq!(found, lists, "{objects}");
        assert_eq!(sent.iter().any(|key| key == OWN), is_sent, "{objects}");
    }
}

#[test]
fn a_converted_policy_refuses_plain_text_on_the_ports_that_it_says() {
    let own = peer(
        "shop",
        "own",
        "selector: {matchLabels: {app: cart}}, mtls: {mode: STRICT}, portLevelMtls: {8080: {mode: PERMISSIVE}}",
    );
    let mesh = mesh_of(&own);
    let policies = mesh.l4_policies();
    let converted = policies
        .iter()
        .find(|policy| policy.name.starts_with(CONVERTED))
        .expect("it is made");
    for (port, refused) in [(8080, false), (9090, true)] {
        let connection = L4Connection {
            source: None,
            identity: None,
            destination: ([10, 0, 0, 2].into(), port),
        };
        let decision = decide([converted], &connection);
        assert_eq!(matches!(decision, L4Decision::Denied(_)), refused, "{port}");
    }
}
