//! Whole incidents: the object to change comes first.

use super::super::{Question, Scope, climb};
use crate::finding::Severity;
use crate::report::{Report, Verdict};
use crate::rules::Symptom;
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Builder, Coverage, DocId, Need, Part};
use meshladder_mesh::{Mesh, ObjectRef};
use meshladder_sim::request::Claims;
use meshladder_sim::walk::{Call, Caller, Url};
use meshladder_text::time::Time;

const SHOP: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {selector: {app: cart}, clusterIP: 10.96.0.7, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.244.0.9], conditions: {ready: true}, targetRef: {kind: Pod, name: cart-1}}]
---
apiVersion: v1
kind: Pod
metadata: {name: cart-1, namespace: shop, labels: {app: cart}, ownerReferences: [{kind: StatefulSet, name: cart}]}
spec: {containers: [{name: app, ports: [{containerPort: 8080}]}, {name: istio-proxy}]}
status: {phase: Running, podIP: 10.244.0.9, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: old-1, namespace: legacy, labels: {app: old}, ownerReferences: [{kind: StatefulSet, name: old}]}
spec: {containers: [{name: app}]}
status: {phase: Running, podIP: 10.244.0.7, conditions: [{type: Ready, status: "True"}]}
"#;

const LOG: &str = "logs/shop/cart-1/istio-proxy.log";

fn report(objects: &str, docs: &[(&str, String)], scope: Scope, seen: Option<Symptom>) -> Report {
    let mut builder = Builder::new();
    builder.add(
        DocId::new("k8s/all.yaml"),
        "all.yaml",
        format!("{SHOP}---{objects}").into_bytes(),
    );
    for (doc, text) in docs {
        builder.add(DocId::new(*doc), *doc, text.clone().into_bytes());
    }
    builder.note(Need::Part(Part::Everything), Coverage::Complete);
    builder.taken_at(Time::parse("2026-11-15T06:00:00Z").expect("it is a time"));
    let snapshot = builder.finish();
    let mesh = Mesh::build(&snapshot);
    climb(
        &snapshot,
        &mesh,
        &Question {
            scope,
            seen,
            threads: 1,
        },
    )
}

/// Code, severity and subject of the first finding of a rule.
fn told(report: &Report, code: &str) -> Option<(Severity, String)> {
    let found = report
        .findings
        .iter()
        .find(|told| told.finding.code == code)?;
    Some((found.finding.severity, found.finding.subject.to_string()))
}

const STRICT: &str = "
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
";

fn refusals(count: usize) -> [(&'static str, String); 1] {
    const LINE: &str = "[2026-11-15T05:59:00.000Z] \"- - -\" 0 NR filter_chain_not_found - \"-\" 0 0 0 - \"-\" \"-\" \"-\" \"-\" \"-\" - - 10.244.0.9:8080 10.244.0.7:4000 - -\n";
    [(LOG, LINE.repeat(count))]
}

#[test]
fn plain_text_that_goes_on_being_refused_is_an_alarm_and_one_try_is_none() {
    let policy = "PeerAuthentication shop/default".to_owned();
    let one = report(STRICT, &refusals(1), Scope::Mesh, None);
    assert_eq!(
        (one.verdict, told(&one, "ML0802")),
        (Verdict::Healthy, Some((Severity::Info, policy.clone())))
    );
    let many = report(STRICT, &refusals(3), Scope::Mesh, None);
    assert_eq!(
        (many.verdict, told(&many, "ML0802")),
        (Verdict::Broken, Some((Severity::Warning, policy.clone())))
    );
    let none = report(STRICT, &[], Scope::Mesh, None);
    assert_eq!(
        (none.verdict, told(&none, "ML0802")),
        (Verdict::Healthy, None)
    );
    let client = Scope::Workload {
        object: ObjectRef::of(Kind::StatefulSet, "legacy", "old"),
        pods: vec![ObjectRef::of(Kind::Pod, "legacy", "old-1")],
    };
    assert_eq!(
        told(&report(STRICT, &refusals(1), client, None), "ML0802"),
        Some((Severity::Warning, policy))
    );
}

#[test]
fn an_exemption_by_the_services_port_is_what_to_change() {
    let exempt = format!(
        "{STRICT}---
kind: PeerAuthentication
metadata: {{name: open, namespace: shop}}
spec: {{selector: {{matchLabels: {{app: cart}}}}, portLevelMtls: {{80: {{mode: PERMISSIVE}}}}}}
"
    );
    let report = report(&exempt, &refusals(3), Scope::Mesh, None);
    assert_eq!(
        told(&report, "ML0802"),
        Some((Severity::Warning, "PeerAuthentication shop/open".to_owned()))
    );
    let first = &report.findings[0].finding;
    assert!(
        first.fixes.iter().any(|fix| fix.change.is_some()),
        "{first:?}"
    );
}

/// A token of https://issuer.test for the audience shop, signed with the key k-2.
const TOKEN: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImstMiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci50ZXN0IiwiYXVkIjoic2hvcCIsInN1YiI6ImFsaWNlIiwiZXhwIjo0MTAyNDQ0ODAwfQ.c2ln";

fn token_refused(rule: &str, reason: &str) -> Option<(Severity, String)> {
    let policy = format!(
        "
kind: RequestAuthentication
metadata: {{name: cart, namespace: shop}}
spec: {{selector: {{matchLabels: {{app: cart}}}}, jwtRules: [{{{rule}}}]}}
"
    );
    let line = format!(
        "[2026-11-15T05:59:00.000Z] \"GET / HTTP/1.1\" 401 - jwt_authn_access_denied{{{reason}}} - \"-\" 0 0 2 - \"-\" \"curl\" \"id\" \"cart.shop\" \"-\" inbound|8080|| - 10.244.0.9:8080 10.244.0.7:4000 - default\n"
    );
    let call = Call {
        from: Caller::Pod {
            namespace: "legacy".to_owned(),
            name: "old-1".to_owned(),
        },
        to: Url::parse("http://cart.shop.svc.cluster.local/").expect("it is a URL"),
        method: "GET".to_owned(),
        headers: vec![("authorization".to_owned(), format!("Bearer {TOKEN}"))],
        http: "1.1".to_owned(),
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::None,
    };
    let seen = Symptom {
        code: 401,
        ..Symptom::default()
    };
    let report = report(
        &policy,
        &[(LOG, line)],
        Scope::Request(Box::new(call)),
        Some(seen),
    );
    told(&report, "ML0915")
}

#[test]
fn a_token_that_misses_by_a_slip_in_the_object_is_not_to_blame() {
    let object = Some((
        Severity::Error,
        "RequestAuthentication shop/cart".to_owned(),
    ));
    let request = Some((Severity::Error, "Request".to_owned()));
    let keys = |kid: &str| {
        format!(
            r#"issuer: "https://issuer.test", jwks: '{{"keys":[{{"kty":"RSA","kid":"{kid}"}}]}}'"#
        )
    };
    for (rule, reason, expected) in [
        (
            r#"issuer: "https://issuer.test/", jwksUri: x"#,
            "Jwt_issuer_is_not_configured",
            &object,
        ),
        (
            r#"issuer: "https://login.other.example", jwksUri: x"#,
            "Jwt_issuer_is_not_configured",
            &request,
        ),
        (
            r#"issuer: "https://issuer.test", audiences: [shopp], jwksUri: x"#,
            "Audiences_in_Jwt_are_not_allowed",
            &object,
        ),
        (
            r#"issuer: "https://issuer.test", audiences: [bank], jwksUri: x"#,
            "Audiences_in_Jwt_are_not_allowed",
            &request,
        ),
        (
            &keys("k-1"),
            "Jwks_doesn't_have_key_to_match_kid_or_alg_from_Jwt",
            &object,
        ),
        (&keys("k-2"), "Jwt_verification_fails", &request),
    ] {
        assert_eq!(&token_refused(rule, reason), expected, "{rule}");
    }
}
