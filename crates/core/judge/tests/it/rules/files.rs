//! Files hold a part of a mesh: what is not among them may still be in the cluster.

use meshladder_capture::snapshot::{Builder, Coverage, DocId, Need, Part};
use meshladder_judge::finding::Severity;
use meshladder_judge::ladder::{self, Analysis};
use meshladder_judge::rules;
use meshladder_mesh::{Mesh, MeshOverrides};

/// A team's objects that refer to others of the cluster.
const TEAM: &str = "apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: cart, namespace: shop}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {selector: {app: cart}, ports: [{port: 80, name: http, targetPort: web}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: shop}
spec:
  template:
    metadata: {labels: {app: cart}}
    spec: {serviceAccountName: cart, containers: [{name: app, ports: [{name: web, containerPort: 8080}]}]}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: cart, namespace: shop}
spec:
  selector: {matchLabels: {app: cart}}
  rules: [{from: [{source: {principals: [cluster.local/ns/istio-system/sa/gateway, other.test/ns/a/sa/b]}}]}]
---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: default, namespace: shop}
spec: {egress: [{hosts: [istio-system/istiod.istio-system.svc.cluster.local, ./api.example.test]}]}
---
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: out, namespace: istio-system}
spec: {workloadSelector: {labels: {istio: egressgateway}}}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec: {exportTo: [., tools], hosts: [cart], http: [{route: [{destination: {host: cart}}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: ingress}]
  rules: [{backendRefs: [{name: cart, port: 80}, {name: pay, namespace: bank, port: 80}]}]
---
apiVersion: networking.istio.io/v1
kind: WorkloadGroup
metadata: {name: db, namespace: vms}
spec: {template: {serviceAccount: db}}
";

/// Mistakes that show in the same files.
const MISTAKES: &str = "---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: typo, namespace: shop}
spec:
  selector: {matchLabels: {app: cart}}
  rules: [{from: [{source: {principals: [cluster.local/ns/shop/sa/crat]}}]}]
---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: default, namespace: tools}
spec: {egress: [{hosts: [shop/crat.shop.svc.cluster.local]}]}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: typo, namespace: shop}
spec: {selector: {matchLabels: {app: crat}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: typo, namespace: shop}
spec: {rules: [{backendRefs: [{name: crat, port: 80}]}]}
";

#[test]
fn what_files_do_not_hold_is_not_taken_for_absent() {
    assert_eq!(codes(TEAM), Vec::<&str>::new());
    assert_eq!(
        codes(&format!("{TEAM}{MISTAKES}")),
        ["ML2550", "ML2652", "ML2656", "ML3002"]
    );
}

/// The loud findings that istioctl would not make.
fn codes(yaml: &str) -> Vec<&'static str> {
    let mut builder = Builder::new();
    builder.add(DocId::new("k8s/team.yaml"), "team.yaml", yaml.into());
    builder.note(
        Need::Part(Part::Everything),
        Coverage::Partial("only what the files hold".to_owned()),
    );
    let snapshot = builder.finish();
    let analysis = Analysis {
        least: Severity::Warning,
        ..Analysis::default()
    };
    let report = ladder::analyze(
        &snapshot,
        &Mesh::of_files(&snapshot, &MeshOverrides::default()),
        &analysis,
    );
    let found = report.findings.iter().map(|told| told.finding.code);
    let mut codes: Vec<_> = found
        .filter(|code| rules::named(code).is_some_and(|rule| rule.ist().is_none()))
        .collect();
    codes.sort_unstable();
    codes
}
