//! See the page beside this file.

use super::link::{self, Link};
use super::network_policy_blocks_istiod::{blocked, undecided};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::istiod::syncz::SyncStatus;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0409",
    name: "proxy-stale",
    aka: &[],
    rung: Rung::Sync,
    severity: Severity::Warning,
    claim: "every proxy acknowledged what istiod sent it",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Istiod]),
    uses: Inputs::of(&[
        Kind::NetworkPolicy,
        Kind::Namespace,
        Kind::Service,
        Kind::EndpointSlice,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &["ML05", "ML06", "ML07", "ML08", "ML09", "ML10"],
    docs: include_str!("proxy_stale.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for link in link::all(facts) {
        out.examined();
        harmless(facts, &link, out);
        let (Some(proof), true) = (link.stale(), link.cut().is_empty()) else {
            continue;
        };
        if blocked(facts, &link).is_some() {
            continue;
        }
        let workload = link.pod.workload();
        if let Some(known) = out
            .findings
            .iter_mut()
            .find(|f| f.subject == workload && f.is_loud())
        {
            known.hits(link.pod.reference()).see(proof);
            continue;
        }
        let name = format!("{}/{}", link.pod.namespace, link.pod.name);
        let seconds = link
            .unacknowledged
            .iter()
            .filter_map(|one| one.seconds)
            .max()
            .unwrap_or_default();
        let message =
            format!("the proxy of {name} has not acknowledged what istiod sent it {seconds} s ago");
        let finding = out.find(workload, message, proof);
        finding.confidence(Confidence::Likely);
        finding.hits(link.pod.reference());
        finding.unsettled.extend(undecided(facts, &link));
        finding.fix(Fix::look(shell::command(
            "meshladder ps -n {}",
            &[&link.pod.namespace],
        )));
    }
}

/// Nothing is missing: a type that the proxy never asked for, or that istiod has nothing of.
fn harmless(facts: &Facts<'_>, link: &Link<'_>, out: &mut Sink) {
    let name = format!("{}/{}", link.pod.namespace, link.pod.name);
    let stale = link
        .unacknowledged
        .iter()
        .filter(|one| link.is_harmless(one))
        .map(|one| (one.stream, one.kind));
    let streams = facts.fleet.streams_of(&link.pod.namespace, &link.pod.name);
    let not_sent = streams.flat_map(|stream| {
        let open = stream
            .types
            .iter()
            .filter(|(_, watch)| watch.sync == SyncStatus::NotSent);
        open.map(move |(kind, _)| (stream, kind.as_str()))
    });
    for (stream, kind) in stale.chain(not_sent) {
        let message =
            format!("{kind} of {name} is not acknowledged because it has none: nothing is missing");
        let proof = Evidence::offset(&stream.doc, stream.at, format!("istiod's view of {name}"));
        out.find(link.pod.reference(), message, proof)
            .severity(Severity::Info)
            .hits(link.pod.reference());
    }
}
