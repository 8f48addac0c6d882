//! See the page beside this file.

use std::collections::BTreeSet;

use super::certs::{self, Held};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::ObjectRef;

pub(super) static RULE: Rule = Rule {
    code: "ML0812",
    name: "no-common-root",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "proxies that talk to each other trust a common root",
    needs: Inputs::NONE.and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &["ML10"],
    docs: include_str!("no_common_root.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let of_mesh = |held: &Held| held.trust_domain().is_some();
    let held: Vec<Held> = certs::held(facts, case)
        .into_iter()
        .filter(of_mesh)
        .collect();
    if held.is_empty() {
        return;
    }
    // Two on a request's way do not tell which of them is the odd one; all of them do.
    let all: Vec<Held> = certs::held(facts, None)
        .into_iter()
        .filter(of_mesh)
        .collect();
    let roots = |held: &Held| {
        held.roots
            .iter()
            .map(|cert| cert.serial.clone())
            .collect::<BTreeSet<String>>()
    };
    // Most agree, so who does not is told apart from the set that most have.
    let mut sets: Vec<BTreeSet<String>> = all.iter().map(roots).collect();
    sets.sort();
    let common = sets
        .chunk_by(|a, b| a == b)
        .max_by_key(|same| same.len())
        .map(|same| same[0].clone());
    let common = common.unwrap_or_default();
    for one in &held {
        out.examined();
        let own = roots(one);
        let Some(root) = one
            .roots
            .first()
            .filter(|_| !common.is_empty() && own.is_disjoint(&common))
        else {
            continue;
        };
        let pod = ObjectRef::of(Kind::Pod, &one.proxy.namespace, &one.proxy.pod);
        let subject = facts
            .mesh
            .pod(&pod.namespace, &pod.name)
            .map_or_else(|| pod.clone(), meshladder_mesh::PodFacts::workload);
        let message = format!(
            "the proxy of {pod} trusts none of the roots that the other proxies trust, so mutual TLS with them fails"
        );
        let finding = out.find(
            subject,
            message,
            Evidence::offset(&one.doc, root.at, "a root that only it trusts"),
        );
        let other = all.iter().find(|other| roots(other) == common);
        if let Some((other, root)) = other.and_then(|other| Some((other, other.roots.first()?))) {
            finding.see(Evidence::offset(
                &other.doc,
                root.at,
                "a root that the others trust",
            ));
        }
        finding.hits(pod);
        finding.fix(Fix::advice("rotate roots in steps: let every proxy trust the old and the new one before certificates change, and restart what still has the old one alone"));
    }
}
