use super::RuleNamespace::{Client, Root, Service};
use super::*;
use crate::tests::mesh_of;
use meshladder_capture::Kind;

const HOST: &str = "cart.shop.svc.cluster.local";

const OBJECTS: &str = "kind: Service
metadata: {name: cart, namespace: shop}
---
kind: Pod
metadata: {name: p, namespace: tools, labels: {app: curl}}
---
kind: Pod
metadata: {name: p, namespace: shop, labels: {app: web}}
---
kind: Pod
metadata: {name: p, namespace: istio-system}
";

fn rule(namespace: &str, name: &str, day: u8, spec: &str) -> String {
    format!(
        "---\nkind: DestinationRule\nmetadata: {{name: {name}, namespace: {namespace}, \
         creationTimestamp: '2026-01-0{day}T00:00:00Z'}}\nspec: {{{spec}}}\n"
    )
}

fn names(rules: &[String], client: &str, host: &str) -> Option<(Vec<String>, RuleNamespace)> {
    let mesh = mesh_of(&format!("{OBJECTS}{}", rules.concat()));
    let scope = mesh.scope(
        mesh.objects
            .get(Kind::Pod, client, "p")
            .expect("it is there"),
    );
    let found = mesh.destination_rule(scope, host)?;
    Some((
        found
            .rules
            .iter()
            .map(|rule| rule.id.name.to_string())
            .collect(),
        found.found_in,
    ))
}

#[test]
fn the_client_s_namespace_goes_before_the_service_s_and_the_root_s() {
    let root = rule("istio-system", "root", 1, "host: '*.local'");
    let private_root = rule(
        "istio-system",
        "private-root",
        1,
        "host: '*.local', exportTo: [.]",
    );
    let service = rule("shop", "service", 1, "host: cart");
    let private = rule("shop", "private", 1, "host: cart, exportTo: [.]");
    let to_other = rule("shop", "to-other", 1, "host: cart, exportTo: [other]");
    let wide = rule("tools", "wide", 1, "host: '*.svc.cluster.local'");
    let exact = rule("tools", "exact", 1, &format!("host: {HOST}"));
    let short = rule("tools", "short", 1, "host: cart");
    let away = rule(
        "tools",
        "away",
        1,
        &format!("host: {HOST}, exportTo: [shop]"),
    );
    let elsewhere = rule("other", "elsewhere", 1, &format!("host: {HOST}"));
    for (rules, client, expected) in [
        (
            vec![&root, &service, &wide],
            "tools",
            Some(("wide", Client)),
        ),
        (
            vec![&root, &service, &wide, &exact],
            "tools",
            Some(("exact", Client)),
        ),
        (
            vec![&root, &service, &short],
            "tools",
            Some(("service", Service)),
        ),
        (
            vec![&root, &service, &away],
            "tools",
            Some(("service", Service)),
        ),
        (vec![&root, &service], "shop", Some(("service", Client))),
        (vec![&root, &private], "shop", Some(("private", Client))),
        (vec![&root, &private], "tools", Some(("root", Root))),
        (vec![&root, &to_other], "tools", Some(("root", Root))),
        (vec![&private_root], "tools", None),
        (
            vec![&private_root, &service],
            "istio-system",
            Some(("private-root", Client)),
        ),
        (
            vec![&root, &service],
            "istio-system",
            Some(("service", Service)),
        ),
        (vec![&elsewhere], "tools", None),
    ] {
        let rules: Vec<_> = rules.into_iter().cloned().collect();
        let found = names(&rules, client, HOST);
        let expected = expected.map(|(name, found_in)| (vec![name.to_owned()], found_in));
        assert_eq!(found, expected, "{client}: {}", rules.concat());
    }
}

#[test]
fn rules_of_one_host_merge_unless_selector_or_export_differ() {
    let old = rule("shop", "old", 1, "host: cart");
    let young = rule("shop", "young", 2, &format!("host: {HOST}"));
    let wide = rule("shop", "wide", 1, "host: '*.shop.svc.cluster.local'");
    let apart = rule("shop", "apart", 3, "host: cart, exportTo: [., tools]");
    let web = rule(
        "shop",
        "web",
        3,
        "host: cart, workloadSelector: {matchLabels: {app: web}}",
    );
    let api = rule(
        "shop",
        "api",
        1,
        "host: cart, workloadSelector: {matchLabels: {app: api}}",
    );
    for (rules, expected) in [
        (vec![&young, &old, &wide], vec!["old", "young"]),
        (vec![&young, &old, &apart], vec!["apart"]),
        (vec![&old, &web, &api], vec!["web"]),
        (vec![&old, &api], vec!["old"]),
    ] {
        let rules: Vec<_> = rules.into_iter().cloned().collect();
        let found = names(&rules, "shop", HOST).map(|(names, _)| names);
        assert_eq!(
            found,
            Some(expected.into_iter().map(str::to_owned).collect()),
            "{}",
            rules.concat()
        );
    }
    assert_eq!(names(&[api], "shop", HOST), None);
    let curl = rule(
        "shop",
        "curl",
        1,
        "host: cart, workloadSelector: {matchLabels: {app: curl}}",
    );
    assert_eq!(names(&[curl], "tools", HOST), None);
}

#[test]
fn settings_come_from_subset_and_port_with_no_inheritance_for_ports() {
    let first = rule(
        "shop",
        "first",
        1,
        "host: cart, subsets: [{name: v1, trafficPolicy: {tls: {mode: DISABLE}, portLevelSettings: \
         [{port: {number: 82}, loadBalancer: {simple: RANDOM}}]}}, {name: v2}]",
    );
    let second = rule(
        "shop",
        "second",
        2,
        "host: cart, subsets: [{name: v1}, {name: v3}], trafficPolicy: {tls: {mode: ISTIO_MUTUAL}, \
         portLevelSettings: [{port: {number: 81}, tls: {mode: SIMPLE}}], loadBalancer: {simple: ROUND_ROBIN}}",
    );
    let mesh = mesh_of(&format!("{OBJECTS}{first}{second}"));
    let scope = mesh.scope(
        mesh.objects
            .get(Kind::Pod, "shop", "p")
            .expect("it is there"),
    );
    let rule = mesh.destination_rule(scope, HOST).expect("it is there");
    for (key, field, port, subset, expected) in [
        ("tls", "mode", 80, None, Some(("second", "ISTIO_MUTUAL"))),
        ("tls", "mode", 81, None, Some(("second", "SIMPLE"))),
        ("tls", "mode", 81, Some("v1"), Some(("first", "DISABLE"))),
        ("tls", "mode", 82, Some("v1"), None),
        ("tls", "mode", 81, Some("v2"), Some(("second", "SIMPLE"))),
        (
            "loadBalancer",
            "simple",
            82,
            Some("v1"),
            Some(("first", "RANDOM")),
        ),
        ("loadBalancer", "simple", 81, None, None),
        (
            "loadBalancer",
            "simple",
            80,
            Some("v1"),
            Some(("second", "ROUND_ROBIN")),
        ),
    ] {
        let found = rule
            .setting(key, port, subset)
            .map(|(by, node)| (by.id.name.as_str(), node.str_at(field)));
        assert_eq!(
            found,
            expected.map(|(by, value)| (by, Some(value))),
            "{key} {port} {subset:?}"
        );
    }
    let subsets: Vec<_> = rule
        .subsets()
        .iter()
        .filter_map(|(_, subset)| subset.str_at("name"))
        .collect();
    assert_eq!(subsets, ["v1", "v2", "v3"]);
}
