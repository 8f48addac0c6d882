//! See the page beside this file.

use super::link::{self, Link};
use super::network_policy_blocks_istiod::{blocked, undecided};
use crate::finding::{Confidence, Evidence, Fix, Risk, Rung, Severity};
use crate::rules::authority;
use crate::rules::endpoints::called_service;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::services::is_ready;
use meshladder_text::shell;
use meshladder_text::tree::Value;

/// Why, as far as it can be told: no istiod of its revision, an expired certificate, or what its
/// own log says.
pub(super) static RULE: Rule = Rule {
    code: "ML0403",
    name: "proxy-disconnected",
    aka: &[],
    rung: Rung::Sync,
    severity: Severity::Error,
    claim: "every proxy is connected to istiod",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::NetworkPolicy,
        Kind::Namespace,
        Kind::Service,
        Kind::EndpointSlice,
        Kind::ConfigMap,
    ])
    .and(&[Part::Istiod, Part::Proxies, Part::Logs]),
    explains: &[
        "ML0312", "ML0313", "ML0409", "ML05", "ML06", "ML07", "ML08", "ML09", "ML10",
    ],
    docs: include_str!("proxy_disconnected.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    // Without istiod every proxy is disconnected, and that has a rule of its own.
    let istiods = facts.mesh.istiods(None);
    if istiods.is_empty() || !istiods.iter().any(|istiod| is_ready(istiod)) {
        return;
    }
    let links: Vec<Link<'_>> = link::all(facts).collect();
    out.examined += links.len();
    let distrusting = links.iter().filter(|link| distrusts(link)).count();
    // What nearly all proxies refuse is wrong with istiod, not with each of them.
    let looked_at = links.iter().filter(|link| link.summary.is_some()).count();
    let istiod = istiods
        .first()
        .filter(|_| distrusting > 1 && distrusting * 2 > looked_at);
    for link in &links {
        let signs = link.cut();
        if !signs.is_empty() && blocked(facts, link).is_none() {
            tell(facts, link, istiod.copied(), signs, out);
        }
    }
}

/// Whether its log says that it does not take istiod's certificate.
fn distrusts(link: &Link<'_>) -> bool {
    link.closed
        .as_ref()
        .is_some_and(|(_, text)| text.contains("x509"))
}

fn tell(
    facts: &Facts<'_>,
    link: &Link<'_>,
    istiod: Option<&Object>,
    mut signs: Vec<Evidence>,
    out: &mut Sink,
) {
    let odd = Some(link)
        .filter(|link| distrusts(link))
        .and_then(|link| authority::odd(facts.mesh, &link.pod.namespace));
    let workload = match (&odd, istiod.filter(|_| distrusts(link))) {
        (Some((own, _)), _) => own.object.id.clone(),
        (None, Some(istiod)) => called_service::workload_ref(facts.mesh, istiod),
        (None, None) => link.pod.workload(),
    };
    if let Some(known) = out
        .findings
        .iter_mut()
        .find(|finding| finding.subject == workload)
    {
        known.hits(link.pod.reference());
        known.evidence.extend(signs);
        return;
    }
    let name = format!("{}/{}", link.pod.namespace, link.pod.name);
    let revision = link.object.annotation("istio.io/rev");
    let because = match (revision, link.closed.as_ref().map(|(_, text)| *text)) {
        (Some(revision), _) if facts.mesh.istiods(Some(revision)).is_empty() => {
            format!(
                ": it was injected for revision {revision}, and no istiod of that revision runs"
            )
        }
        _ if odd.is_some() => {
            format!(": {workload} gives it other roots than those of all other namespaces")
        }
        (_, Some(text)) if text.contains("x509") || text.contains("certificate") => {
            ": istiod's certificate or its own is not accepted".to_owned()
        }
        (_, Some(text)) if text.contains("lookup ") => {
            ": it cannot resolve istiod's name".to_owned()
        }
        _ => String::new(),
    };
    let message =
        format!("the proxy of {name} is not connected to istiod and keeps what it has{because}");
    let proof = signs.remove(0);
    let finding = out.find(workload.clone(), message, proof);
    if because.is_empty() {
        finding.confidence(Confidence::Likely);
        finding.unsettled.extend(undecided(facts, link));
    }
    finding.evidence.extend(signs);
    finding.hits(link.pod.reference());
    if let Some((own, other)) = odd {
        finding.see(Evidence::of(
            own.object,
            own.node,
            "the roots that only this namespace has",
        ));
        let pem = other.node.str().unwrap_or_default();
        finding.fix(
            Fix::merge(
                &own.object.id,
                Value::nested(["data", "root-cert.pem"], pem),
            )
            .unchecked("the proxy's own state is still the old one"),
        );
        return;
    }
    let kind = workload.kind.to_lowercase();
    finding.fix(Fix::look(shell::command(
        "kubectl logs {} -n {} -c istio-proxy --tail=50",
        &[&link.pod.name, &link.pod.namespace],
    )));
    finding.fix(Fix::command(
        Risk::Disruptive,
        shell::command(
            "kubectl rollout restart {}/{} -n {}",
            &[&kind, &workload.name, &workload.namespace],
        ),
    ));
}
