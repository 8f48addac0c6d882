//! Calls from outside that no gateway is known to have met, and callers without a proxy.

use super::super::{Question, Scope, climb};
use crate::report::Report;
use crate::rules::Symptom;
use meshladder_capture::snapshot::{Builder, Coverage, DocId, Need, Part};
use meshladder_mesh::Mesh;
use meshladder_sim::request::Claims;
use meshladder_sim::walk::{Call, Caller, Url};
use meshladder_text::time::Time;

/// A gateway that is well; `SELECTED` is what its Service selects.
const GATEWAY: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: gateway, namespace: edge}
spec: {type: LoadBalancer, clusterIP: 10.96.0.3, selector: {app: SELECTED, tier: edge}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: gateway-1, namespace: edge, labels: {app: gateway, tier: edge}, ownerReferences: [{kind: StatefulSet, name: gateway}]}
spec: {containers: [{name: istio-proxy, args: [proxy, router], ports: [{containerPort: 8080}]}]}
status: {phase: Running, podIP: 10.244.0.9, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: shop, namespace: edge}
spec: {selector: {app: gateway}, servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: [shop.example.com]}]}
"#;

fn why(yaml: &str, docs: &[(&str, &str)], from: Caller, to: &str, seen: &str) -> Report {
    let mut builder = Builder::new();
    builder.add(
        DocId::new("k8s/all.yaml"),
        "all.yaml",
        yaml.as_bytes().to_vec(),
    );
    for (doc, text) in docs {
        builder.add(DocId::new(*doc), *doc, text.as_bytes().to_vec());
    }
    builder.note(Need::Part(Part::Everything), Coverage::Complete);
    builder.taken_at(Time::parse("2026-11-15T06:00:00Z").expect("it is a time"));
    let snapshot = builder.finish();
    let mesh = Mesh::build(&snapshot);
    let call = Call {
        from,
        to: Url::parse(to).expect("a URL"),
        method: "GET".to_owned(),
        headers: Vec::new(),
        http: "1.1".to_owned(),
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::None,
    };
    let question = Question {
        scope: Scope::Request(Box::new(call)),
        seen: Some(Symptom::parse(seen).expect("what was seen")),
        threads: 1,
    };
    climb(&snapshot, &mesh, &question)
}

fn first(report: &Report) -> (&str, &str) {
    let first = &report.findings.first().expect("something is told").finding;
    (first.code, first.subject.name())
}

#[test]
fn a_gateway_that_nothing_leads_to_is_told_of_a_call_without_an_answer() {
    let yaml = GATEWAY.replace("SELECTED", "gatewy");
    let report = why(&yaml, &[], Caller::Outside, "http://shop.example.com/", "0");
    assert_eq!(first(&report), ("ML0702", "gateway"));
}

#[test]
fn a_gateway_that_answered_is_not_looked_for() {
    let yaml = GATEWAY.replace("SELECTED", "gatewy");
    let report = why(
        &yaml,
        &[],
        Caller::Outside,
        "http://shop.example.com/",
        "404/NR",
    );
    assert!(
        report
            .findings
            .iter()
            .all(|told| told.finding.code != "ML0702")
    );
}

#[test]
fn what_others_met_at_a_server_is_told_to_a_caller_without_a_proxy() {
    const SHOP: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: api, namespace: legacy}
spec: {clusterIP: 10.96.0.7, selector: {app: api}, ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: api-1, namespace: legacy, labels: {kubernetes.io/service-name: api}}
ports: [{name: http, port: 80}]
endpoints: [{addresses: [10.244.0.7], conditions: {ready: true}, targetRef: {kind: Pod, name: api-1}}]
---
apiVersion: v1
kind: Pod
metadata: {name: api-1, namespace: legacy, labels: {app: api}, ownerReferences: [{kind: StatefulSet, name: api}]}
spec: {containers: [{name: app}]}
status: {phase: Running, podIP: 10.244.0.7, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: old-1, namespace: legacy, labels: {app: old}}
spec: {containers: [{name: app}]}
status: {phase: Running, podIP: 10.244.0.6, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: curl-1, namespace: tools, labels: {app: curl}}
spec: {containers: [{name: app}, {name: istio-proxy}]}
status: {phase: Running, podIP: 10.244.0.8, conditions: [{type: Ready, status: "True"}]}
"#;
    let line = "[2026-11-15T05:59:00.000Z] \"GET / HTTP/1.1\" 0 DC downstream_remote_disconnect - \"-\" 0 0 3991 - \"-\" \"curl\" \"id\" \
                \"api.legacy\" \"10.244.0.7:80\" outbound|80||api.legacy.svc.cluster.local LOCAL 10.96.0.7:80 10.244.0.8:40000 - default\n";
    let caller = || Caller::Pod {
        namespace: "legacy".to_owned(),
        name: "old-1".to_owned(),
    };
    let log = "logs/tools/curl-1/istio-proxy.log";
    for (local, code) in [("-", "ML0731"), ("10.244.0.8:50000", "ML1022")] {
        let line = line.replace("LOCAL", local);
        let report = why(SHOP, &[(log, &line)], caller(), "http://api.legacy/", "0");
        assert_eq!(first(&report), (code, "api"), "{local}");
    }
}
