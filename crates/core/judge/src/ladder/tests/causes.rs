//! Causes and symptoms, and causes that only a request shows.

use super::super::{Question, Scope, climb};
use super::call;
use crate::report::{Report, Verdict};
use crate::rules::Symptom;
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Builder, Coverage, DocId, Need, Part};
use meshladder_mesh::{Mesh, ObjectRef};
use meshladder_text::time::Time;

/// A Service and its pod, which runs and is ready; `PORT` is the Service's targetPort.
const CART: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {selector: {app: cart}, clusterIP: 10.96.0.7, ports: [{name: http, port: 8080, targetPort: PORT}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}
ports: PORTS
endpoints: ENDPOINTS
---
apiVersion: v1
kind: Pod
metadata:
  name: cart-5d-1
  namespace: shop
  labels: {app: cart, pod-template-hash: 5d}
  ownerReferences: [{kind: ReplicaSet, name: cart-5d, controller: true}]
spec:
  containers: [{name: app, ports: [{name: http, containerPort: 8080}]}, {name: istio-proxy}]
status: {phase: Running, podIP: 10.244.0.9, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: curl-1, namespace: tools, labels: {app: curl}}
spec: {containers: [{name: app}, {name: istio-proxy}]}
status: {phase: Running, podIP: 10.244.0.8, conditions: [{type: Ready, status: "True"}]}
"#;

fn cart(port: &str, ports: &str, endpoints: &str) -> String {
    CART.replace("PORTS", ports)
        .replace("PORT", port)
        .replace("ENDPOINTS", endpoints)
}

fn well() -> String {
    let endpoint = "[{addresses: [10.244.0.9], conditions: {ready: true}, targetRef: {kind: Pod, name: cart-5d-1}}]";
    cart("8080", "[{name: http, port: 8080}]", endpoint)
}

fn check(yaml: &str, log: &str, scope: Scope) -> Report {
    let mut builder = Builder::new();
    builder.add(
        DocId::new("k8s/all.yaml"),
        "all.yaml",
        yaml.as_bytes().to_vec(),
    );
    builder.add(
        DocId::new("logs/shop/cart-5d-1/istio-proxy.log"),
        "log",
        log.as_bytes().to_vec(),
    );
    builder.note(Need::Part(Part::Everything), Coverage::Complete);
    builder.taken_at(Time::parse("2026-11-15T06:00:00Z").expect("it is a time"));
    let snapshot = builder.finish();
    let mesh = Mesh::build(&snapshot);
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

fn workload() -> Scope {
    let object = ObjectRef::of(Kind::Deployment, "shop", "cart");
    Scope::Workload {
        object,
        pods: vec![ObjectRef::of(Kind::Pod, "shop", "cart-5d-1")],
    }
}

fn line(time: &str, path: &str, answer: &str) -> String {
    format!(
        "[2026-11-15T{time}Z] \"GET {path} HTTP/1.1\" {answer} - \"-\" 0 9 1 1 \"-\" \"curl\" \"id\" \"cart.shop:8080\" \
         \"10.244.0.9:8080\" inbound|8080|| - 10.244.0.9:8080 10.244.0.8:4000 - default\n"
    )
}

#[test]
fn findings_that_could_explain_each_other_leave_one_root() {
    let report = check(&cart("web", "[]", "[]"), "", Scope::Mesh);
    let roots: Vec<_> = report
        .findings
        .iter()
        .filter(|told| told.finding.is_loud())
        .map(|told| &told.finding)
        .collect();
    assert_eq!(report.verdict, Verdict::Broken);
    assert_eq!(
        (roots[0].code, roots[0].caused_by.len()),
        ("ML0706", 0),
        "{roots:?}"
    );
    assert!(
        roots[1..]
            .iter()
            .all(|finding| !finding.caused_by.is_empty()),
        "{roots:?}"
    );
}

#[test]
fn a_check_of_a_workload_names_what_its_log_shows() {
    let failed = line("05:59:58.000", "/", "500 - via_upstream");
    let report = check(&well(), &failed, workload());
    let first = report
        .findings
        .first()
        .map(|told| (told.finding.code, told.finding.subject.to_string()));
    assert_eq!(first, Some(("ML1001", "Deployment shop/cart".to_owned())));
    assert_eq!(report.verdict, Verdict::Broken);
}

#[test]
fn what_failed_long_ago_or_went_well_since_is_not_held_against_a_workload() {
    let again = line("05:59:58.000", "/", "500 - via_upstream")
        + &line("05:59:59.000", "/", "200 - via_upstream");
    let long_ago = line("05:00:00.000", "/", "500 - via_upstream");
    for log in [again, long_ago] {
        assert!(
            !check(&well(), &log, workload())
                .findings
                .iter()
                .any(|told| told.finding.is_loud()),
            "{log}"
        );
    }
}

#[test]
fn of_a_mesh_it_is_an_alarm_only_where_nothing_goes_well() {
    let is_loud = |log: &str, scope| {
        check(&well(), log, scope)
            .findings
            .iter()
            .any(|told| told.finding.is_loud())
    };
    let failed = line("05:59:58.000", "/", "500 - via_upstream");
    let some = line("05:59:57.000", "/well", "200 - via_upstream") + &failed;
    assert!(is_loud(&failed, Scope::Mesh));
    assert!(!is_loud(&some, Scope::Mesh) && !is_loud(&some, Scope::Namespace("shop".to_owned())));
    assert!(is_loud(&some, workload()));
}

/// A mesh, and what the proxies of curl and cart logged.
fn logged(yaml: String, client: &str, server: &str, question: &Question) -> Report {
    let mut builder = Builder::new();
    builder.add(DocId::new("k8s/all.yaml"), "all.yaml", yaml.into_bytes());
    builder.add(
        DocId::new("logs/tools/curl-1/istio-proxy.log"),
        "log",
        client.as_bytes().to_vec(),
    );
    builder.add(
        DocId::new("logs/shop/cart-5d-1/istio-proxy.log"),
        "log",
        server.as_bytes().to_vec(),
    );
    builder.note(Need::Part(Part::Everything), Coverage::Complete);
    builder.taken_at(Time::parse("2026-11-15T06:00:00Z").expect("it is a time"));
    let snapshot = builder.finish();
    climb(&snapshot, &Mesh::build(&snapshot), question)
}

/// A mesh whose pod cart has a limit, and what curl's proxy logged.
fn limited(limit: &str, log: &str) -> Report {
    let rule = format!(
        "---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {{name: cart, namespace: shop}}\n\
         spec: {{host: cart, trafficPolicy: {{connectionPool: {limit}}}}}\n"
    );
    logged(
        well() + &rule,
        log,
        "",
        &Question {
            scope: Scope::Mesh,
            seen: None,
            threads: 1,
        },
    )
}

fn outbound(second: u8, request: &str, answer: &str) -> String {
    format!(
        "[2026-11-15T05:59:5{second}.000Z] \"{request}\" {answer} - \"-\" 0 9 1 - \"-\" \"-\" \"id\" \"cart.shop:8080\" \"-\" \
         outbound|8080||cart.shop.svc.cluster.local - 10.96.0.7:8080 10.244.0.8:4000 - default\n"
    )
}

fn first(report: &Report) -> Option<(&str, &str)> {
    report
        .findings
        .first()
        .map(|told| (told.finding.code, told.finding.severity.word()))
}

#[test]
fn a_limit_that_somebody_wrote_is_told_of_a_mesh_though_some_requests_pass() {
    let answer = |second| {
        if second == 1 {
            "200 - via_upstream"
        } else {
            "503 UO overflow"
        }
    };
    let log: String = (1..6)
        .map(|second| outbound(second, "GET / HTTP/1.1", answer(second)))
        .collect();
    let report = limited("{http: {http1MaxPendingRequests: 1}}", &log);
    assert_eq!(
        first(&report),
        Some(("ML1011", "warning")),
        "{:?}",
        report.findings
    );
}

#[test]
fn connections_that_a_proxy_could_not_make_are_asked_about_too() {
    let log: String = (1..4)
        .map(|second| outbound(second, "- - -", "0 UO -"))
        .collect();
    let report = limited("{tcp: {maxConnections: 1}}", &log);
    assert_eq!(
        first(&report),
        Some(("ML1011", "error")),
        "{:?}",
        report.findings
    );
}

#[test]
fn a_route_is_as_good_as_what_it_leads_to() {
    let route = "---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: all, namespace: tools}\n\
                 spec: {hosts: [cart.shop.svc.cluster.local], http: [{route: [{destination: {host: cart.shop.svc.cluster.local}}]}]}\n";
    let yaml = cart("web", "[]", "[]") + route;
    let report = check(
        &yaml,
        "",
        Scope::Object(ObjectRef::of(Kind::VirtualService, "tools", "all")),
    );
    assert_eq!(
        report.findings.first().map(|told| told.finding.code),
        Some("ML0706")
    );
    assert_eq!(report.verdict, Verdict::Broken);
}

#[test]
fn a_servers_line_is_known_by_the_request_where_a_route_rewrites_the_path() {
    let call = call("tools", "curl-1", "http://cart.shop:8080/api/items");
    let seen = Some(Symptom {
        code: 500,
        ..Symptom::default()
    });
    let question = Question {
        scope: Scope::Request(Box::new(call)),
        seen,
        threads: 1,
    };
    let client = outbound(1, "GET /api/items HTTP/1.1", "500 - via_upstream");
    let server = line("05:59:51.000", "/items", "500 - via_upstream");
    assert_eq!(
        first(&logged(well(), &client, &server, &question)),
        Some(("ML1001", "error"))
    );
    let other = server.replace("\"id\"", "\"other\"");
    assert_ne!(
        first(&logged(well(), &client, &other, &question)),
        Some(("ML1001", "error"))
    );
}
