use super::*;
use crate::ladder::{Question, Scope, climb};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Builder, DocId};

const OBJECTS: &str = "
kind: Namespace
apiVersion: v1
metadata: {name: shop, labels: {istio-injection: enabled}}
---
kind: Pod
apiVersion: v1
metadata: {name: cart-1, namespace: shop, labels: {app: cart}}
spec:
  serviceAccountName: cart
  containers: [{name: app, ports: [{containerPort: 8080}]}]
  initContainers: [{name: istio-proxy, image: proxyv2:1.27, restartPolicy: Always}]
status: {phase: Running, podIP: 10.0.0.1, conditions: [{type: Ready, status: 'True'}]}
---
kind: Service
apiVersion: v1
metadata: {name: cart, namespace: shop}
spec: {selector: {app: cart}, ports: [{port: 80, name: http, targetPort: 8080}, {port: 90}]}
---
kind: PeerAuthentication
apiVersion: security.istio.io/v1
metadata: {name: own, namespace: shop}
spec: {selector: {matchLabels: {app: cart}}, mtls: {mode: STRICT}, portLevelMtls: {90: {mode: PERMISSIVE}}}
---
kind: AuthorizationPolicy
apiVersion: security.istio.io/v1
metadata: {name: typo, namespace: shop}
spec: {selector: {matchLabels: {app: carts}}, action: DENY, rules: [{}]}
---
kind: AuthorizationPolicy
apiVersion: security.istio.io/v1
metadata: {name: callers, namespace: shop}
spec:
  selector: {matchLabels: {app: cart}}
  rules:
  - from: [{source: {principals: [cluster.local/ns/shop/sa/web, cluster.local/ns/shop/sa/app]}}]
    to: [{operation: {methods: [GET], paths: [/a]}}]
  - when: [{key: 'request.headers[x]', values: [b]}]
---
kind: DestinationRule
apiVersion: networking.istio.io/v1
metadata: {name: cart, namespace: shop}
spec: {host: cart, subsets: [{name: v2, labels: {version: v2}}], trafficPolicy: {outlierDetection: {consecutive5xxErrors: 3, interval: 5s}}}
---
kind: VirtualService
apiVersion: networking.istio.io/v1
metadata: {name: cart, namespace: shop}
spec: {hosts: [cart], http: [{timeout: 2s, route: [{destination: {host: cart, subset: v1}, weight: 90}, {destination: {host: cart}, weight: 10}]}]}
";

fn said(kind: &str, name: &str) -> Vec<String> {
    said_with(&[], kind, name)
}

/// That mesh with what proxies say of their endpoints.
fn said_with(callers: &[(&str, &str)], kind: &str, name: &str) -> Vec<String> {
    let mut builder = Builder::new();
    builder.add(DocId::new("k8s/a.yaml"), "a.yaml", OBJECTS.into());
    for (pod, text) in callers {
        builder.add(
            DocId::new(format!("proxies/shop/{pod}/clusters.json")),
            *pod,
            (*text).into(),
        );
    }
    let snapshot = builder.finish();
    let mesh = Mesh::build(&snapshot);
    let object = ObjectRef::new(kind, "shop", name);
    let question = Question {
        scope: Scope::Object(object.clone()),
        seen: None,
        threads: 1,
    };
    let report = climb(&snapshot, &mesh, &question);
    let description = describe(&snapshot, &mesh, &object, &report).expect("it has one");
    let facts = description
        .sections
        .iter()
        .flat_map(|section| section.facts.iter().map(move |fact| (section, fact)));
    facts
        .map(|(section, fact)| format!("{} | {} | {}", section.title, fact.about, fact.says))
        .collect()
}

#[test]
fn a_pod_tells_how_it_is_in_the_mesh_its_ports_and_policies() {
    let said = said("Pod", "cart-1");
    for line in [
        "In the mesh | yes | a native sidecar, image proxyv2:1.27",
        "In the mesh | identity | spiffe://cluster.local/ns/shop/sa/cart",
        "Configuration |  | unknown: no istiod was asked for its streams",
        "Ports | cart:80 → 8080 | HTTP, by its name http",
        "Ports | cart:90 → 90 | HTTP or TCP, the port has no name: by its first bytes",
        "mTLS for callers | port 8080 | STRICT: mutual TLS only",
        "mTLS for callers | port 90 | PERMISSIVE: plain text and mutual TLS",
        "Who may call | not: AuthorizationPolicy | it wants app=carts",
        "Who may call | AuthorizationPolicy | ALLOW from principals cluster.local/ns/shop/sa/web, \
         cluster.local/ns/shop/sa/app, to methods GET, paths /a; or when key request.headers[x], values b",
        "Routing | decides | everything: 90 % to cart v1, 10 % to cart, timeout 2s",
        "Routing | unless a route says otherwise | no timeout, 2 retries where no request got through",
        "How clients connect |  | subsets v2, outlier detection (consecutive5xxErrors 3, interval 5s)",
    ] {
        assert!(
            said.contains(&line.to_owned()),
            "{line} is not in {said:#?}"
        );
    }
}

#[test]
fn a_virtual_service_tells_where_it_leads() {
    let said = said("VirtualService", "cart");
    for line in [
        "For whom | gateways | mesh (sidecars)",
        "Leads to | cart.shop.svc.cluster.local subset v1 | no DestinationRule defines this subset",
        "Leads to | cart.shop.svc.cluster.local | known",
    ] {
        assert!(
            said.contains(&line.to_owned()),
            "{line} is not in {said:#?}"
        );
    }
}

#[test]
fn a_service_tells_its_endpoints() {
    let said = said("Service", "cart");
    assert!(
        said.contains(&"Endpoints | selector | app=cart selects 1 pod".to_owned()),
        "{said:#?}"
    );
}

/// A cluster of `/clusters`, with hosts and what is wrong with each.
fn cluster(subset: &str, hosts: &[(&str, &str)]) -> String {
    let host = |(address, wrong): &(&str, &str)| {
        let wrong = if wrong.is_empty() {
            String::new()
        } else {
            format!(r#""{wrong}":true"#)
        };
        format!(
            r#"{{"address":{{"socket_address":{{"address":"{address}","port_value":8080}}}},"health_status":{{{wrong}}}}}"#
        )
    };
    let hosts: Vec<String> = hosts.iter().map(host).collect();
    format!(
        r#"{{"name":"outbound|80|{subset}|cart.shop.svc.cluster.local","host_statuses":[{}]}}"#,
        hosts.join(",")
    )
}

fn clusters(all: &[String]) -> String {
    format!(r#"{{"cluster_statuses":[{}]}}"#, all.join(","))
}

#[test]
fn endpoints_are_told_as_each_caller_sees_them() {
    let fine = clusters(&[cluster("", &[("10.0.0.1", ""), ("10.0.0.2", "")])]);
    // Put aside for a subset only, and the second one not heard of.
    let ejects = clusters(&[
        cluster("", &[("10.0.0.1", "")]),
        cluster("v1", &[("10.0.0.1", "failed_outlier_check")]),
    ]);
    let none = clusters(&[]);
    let callers = [
        ("a-1", fine.as_str()),
        ("b-1", ejects.as_str()),
        ("c-1", none.as_str()),
    ];
    let first =
        "10.0.0.1:8080 | HEALTHY for 1 of 2 callers, EJECTED for b-1.shop: outlier detection";
    let second = "10.0.0.2:8080 | HEALTHY for 1 of 2 callers, not known to b-1.shop";
    for (kind, name, lines) in [
        ("Service", "cart", &[first, second][..]),
        ("Pod", "cart-1", &[first]),
    ] {
        let said = said_with(&callers, kind, name);
        let told: Vec<_> = said
            .iter()
            .filter_map(|line| line.strip_prefix("Endpoints as callers see them | "))
            .collect();
        assert_eq!(told, lines);
    }
}

#[test]
fn that_no_caller_was_asked_or_knows_is_not_that_there_are_no_endpoints() {
    let told = |callers: &[(&str, &str)]| {
        let said = said_with(callers, "Service", "cart");
        said.into_iter().find_map(|line| {
            Some(
                line.strip_prefix("Endpoints as callers see them |  | ")?
                    .to_owned(),
            )
        })
    };
    assert_eq!(
        told(&[]).as_deref(),
        Some("unknown: no proxy was asked for its endpoints")
    );
    let unknown = "1 proxy asked, and none knows cart.shop.svc.cluster.local";
    assert_eq!(told(&[("a-1", &clusters(&[]))]).as_deref(), Some(unknown));
    let empty = clusters(&[cluster("", &[])]);
    assert_eq!(
        told(&[("a-1", &empty)]).as_deref(),
        Some("1 caller of cart.shop.svc.cluster.local, and none has an endpoint of it")
    );
}

#[test]
fn the_proxies_to_ask_are_those_that_a_thing_is_about() {
    let mut builder = Builder::new();
    builder.add(DocId::new("k8s/a.yaml"), "a.yaml", OBJECTS.into());
    let mesh = Mesh::build(&builder.finish());
    for (kind, name) in [
        ("Pod", "cart-1"),
        ("Service", "cart"),
        ("VirtualService", "cart"),
    ] {
        let pods = concerned(&mesh, &ObjectRef::new(kind, "shop", name));
        assert_eq!(pods, [ObjectRef::of(Kind::Pod, "shop", "cart-1")], "{kind}");
    }
    assert_eq!(
        concerned(
            &mesh,
            &ObjectRef::of(Kind::AuthorizationPolicy, "shop", "typo")
        ),
        []
    );
}
