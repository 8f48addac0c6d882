//! See the page beside this file.

use super::peers::{Reach, reach, tls_mode};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::holds;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::policies::Workload;

pub(super) static RULE: Rule = Rule {
    code: "ML2155",
    name: "mutual-tls-not-demanded",
    aka: &["KIA0205", "KIA0206"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "where clients are told to use mutual TLS, a PeerAuthentication speaks of it",
    needs: Inputs::of(&[
        Kind::DestinationRule,
        Kind::PeerAuthentication,
        Kind::ConfigMap,
    ]),
    uses: Inputs::of(&[Kind::Service]),
    explains: &[],
    docs: include_str!("mutual_tls_not_demanded.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    if facts.mesh.config.auto_mtls || !holds(facts, Kind::PeerAuthentication) {
        return;
    }
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        out.examined();
        let Some(mode) = tls_mode(rule).filter(|mode| mode.str() == Some("ISTIO_MUTUAL")) else {
            continue;
        };
        let (namespace, place) = match reach(facts, rule) {
            Reach::Mesh => (&*facts.mesh.config.root_namespace, "the mesh".to_owned()),
            Reach::Namespace(namespace) => (namespace, format!("namespace {namespace}")),
            Reach::Service(_) | Reach::Other => continue,
        };
        let workload = Workload {
            namespace,
            labels: None,
            service: None,
        };
        if facts.mesh.mutual_tls(&workload, 0).by.is_some() {
            continue;
        }
        let message = format!(
            "{} has clients use mutual TLS in {place}, and no PeerAuthentication demands it, so plain text is taken too",
            rule.id
        );
        out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, mode, "clients use mutual TLS"),
        )
        .fix(Fix::advice(
            "add a PeerAuthentication of mode STRICT if plain text should be refused",
        ));
    }
}
