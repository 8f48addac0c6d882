//! Facts that were refused: the answer is right, or it is that it cannot be decided.

use super::super::{Question, Scope, climb, climb_along};
use super::call;
use crate::report::{Report, Verdict};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Builder, Coverage, DocId, Need, Part, Snapshot};
use meshladder_mesh::{Mesh, ObjectRef};
use meshladder_sim::trace::{Branch, End, EndKind, Trace};

/// istiod was scaled to zero; its webhook must be asked about every pod of `shop`.
const ISTIOD_DOWN: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: istiod, namespace: istio-system, labels: {app: istiod}}
spec:
  replicas: 0
  selector: {matchLabels: {app: istiod}}
  template: {metadata: {labels: {app: istiod}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: cart}}
  template: {metadata: {labels: {app: cart}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: istiod-5d
  namespace: istio-system
  labels: {app: istiod}
  annotations: {deployment.kubernetes.io/revision: "2"}
  ownerReferences: [{kind: Deployment, name: istiod, controller: true}]
spec: {replicas: 0, selector: {matchLabels: {app: istiod}}, template: {metadata: {labels: {app: istiod}}}}
---
apiVersion: v1
kind: Service
metadata: {name: istiod, namespace: istio-system}
spec: {selector: {app: istiod}, ports: [{name: https-webhook, port: 443, targetPort: 15017}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: istio-sidecar-injector, labels: {app: sidecar-injector}}
webhooks:
- name: namespace.sidecar-injector.istio.io
  failurePolicy: Fail
  clientConfig: {service: {name: istiod, namespace: istio-system, path: /inject, port: 443}}
  namespaceSelector: {matchLabels: {istio-injection: enabled}}
---
apiVersion: v1
kind: Pod
metadata: {name: cart-1, namespace: shop, labels: {app: cart}}
spec: {containers: [{name: app}, {name: istio-proxy}]}
status: {phase: Running, podIP: 10.244.0.9, conditions: [{type: Ready, status: "True"}]}
"#;

/// A route leads to a subset of which no pod is there, because its Deployment cannot make any.
const NO_CANARY: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: catalog, namespace: shop}
spec: {selector: {app: catalog}, clusterIP: 10.96.0.7, ports: [{name: http, port: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: catalog-1, namespace: shop, labels: {app: catalog, version: v1}}
spec: {containers: [{name: app}]}
status: {phase: Running, podIP: 10.244.0.9, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: catalog-1, namespace: shop, labels: {kubernetes.io/service-name: catalog}}
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.244.0.9], conditions: {ready: true}, targetRef: {kind: Pod, name: catalog-1}}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: catalog, namespace: shop}
spec: {host: catalog, subsets: [{name: v2, labels: {version: v2}}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: catalog, namespace: shop}
spec: {hosts: [catalog], http: [{route: [{destination: {host: catalog, subset: v2}}]}]}
"#;

const DEPLOYMENTS: &str = "k8s/deployments.apps.json";
const SETS: &str = "k8s/replicasets.apps.json";
const PODS: &str = "k8s/pods.json";

pub(super) fn read(yaml: &str, without: &[(&str, &str)]) -> (Snapshot, Mesh) {
    let mut builder = Builder::new();
    let refused = |object: &&str| {
        without
            .iter()
            .any(|(kind, _)| object.contains(&format!("\nkind: {kind}\n")))
    };
    let parts = yaml
        .split("---")
        .map(|object| format!("\n{}", object.trim_start()));
    let parts: Vec<String> = parts.filter(|object| !refused(&object.as_str())).collect();
    builder.add(
        DocId::new("k8s/all.yaml"),
        "all.yaml",
        parts.join("---").into_bytes(),
    );
    builder.note(Need::Part(Part::Everything), Coverage::Complete);
    for (_, path) in without {
        builder.note(
            Need::of_path(path),
            Coverage::Denied("forbidden".to_owned()),
        );
    }
    let snapshot = builder.finish();
    let mesh = Mesh::build(&snapshot);
    (snapshot, mesh)
}

fn case(yaml: &str, without: &[(&str, &str)], scope: Scope) -> Report {
    let (snapshot, mesh) = read(yaml, without);
    climb(
        &snapshot,
        &mesh,
        &Question {
            scope,
            seen: None,
            threads: 1,
        },
    )
}

/// The object that is blamed first.
fn first(report: &Report) -> String {
    report
        .findings
        .first()
        .map(|told| told.finding.subject.to_string())
        .unwrap_or_default()
}

#[test]
fn an_istiod_that_is_down_is_told_by_what_its_deployment_made() {
    for without in [&[][..], &[("Deployment", DEPLOYMENTS)]] {
        let report = case(ISTIOD_DOWN, without, Scope::Mesh);
        assert_eq!(
            first(&report),
            "Deployment istio-system/istiod",
            "without {without:?}"
        );
        assert_eq!(report.verdict, Verdict::Broken, "without {without:?}");
    }
}

#[test]
fn a_service_is_not_blamed_while_what_stands_behind_it_cannot_be_read() {
    for without in [
        &[("Pod", PODS)][..],
        &[("Deployment", DEPLOYMENTS), ("ReplicaSet", SETS)],
    ] {
        let report = case(ISTIOD_DOWN, without, Scope::Mesh);
        assert_eq!(first(&report), "Coverage", "without {without:?}");
        assert_eq!(report.verdict, Verdict::Undecided, "without {without:?}");
    }
}

#[test]
fn a_subset_is_not_blamed_while_it_may_be_a_workload_that_lacks_its_pods() {
    let whole = case(NO_CANARY, &[], Scope::Mesh);
    assert_eq!(first(&whole), "DestinationRule shop/catalog");
    let without_deployments = case(NO_CANARY, &[("Deployment", DEPLOYMENTS)], Scope::Mesh);
    assert_eq!(
        first(&without_deployments),
        "DestinationRule shop/catalog",
        "ReplicaSets tell as well"
    );
    let without_both = case(
        NO_CANARY,
        &[("Deployment", DEPLOYMENTS), ("ReplicaSet", SETS)],
        Scope::Mesh,
    );
    assert_eq!(
        (first(&without_both), without_both.verdict),
        ("Coverage".to_owned(), Verdict::Undecided)
    );
}

#[test]
fn a_connection_is_not_said_to_be_well_while_nobody_knows_whom_it_reaches() {
    let call = || call("shop", "catalog-1", "tcp://db.shop:3306");
    let walked = || {
        let end = End::new(
            EndKind::Forwarded,
            200,
            "via_upstream",
            "it reaches an address",
        );
        let branch = Branch {
            weight: Some(1.0),
            cluster: None,
            endpoint: None,
            end: end.clone(),
        };
        Trace {
            hops: Vec::new(),
            outcome: end,
            branches: vec![branch],
        }
    };
    let ask = |without: &[(&str, &str)]| {
        let (snapshot, mesh) = read(NO_CANARY, without);
        let question = Question {
            scope: Scope::Request(Box::new(call())),
            seen: None,
            threads: 1,
        };
        climb_along(&snapshot, &mesh, &question, Some(walked())).verdict
    };
    assert_eq!(ask(&[]), Verdict::Healthy);
    assert_eq!(ask(&[("Service", "k8s/services.json")]), Verdict::Undecided);
}

#[test]
fn a_workload_of_a_kind_that_cannot_be_read_is_not_judged() {
    let object = ObjectRef::of(Kind::Deployment, "shop", "cart");
    let scope = Scope::Workload {
        object,
        pods: Vec::new(),
    };
    let report = case(NO_CANARY, &[("Deployment", DEPLOYMENTS)], scope);
    assert_eq!(report.verdict, Verdict::Undecided);
    assert!(
        report
            .unknown
            .iter()
            .any(|fact| fact.to_string().starts_with("deployments.apps")),
        "{:?}",
        report.unknown
    );
}
