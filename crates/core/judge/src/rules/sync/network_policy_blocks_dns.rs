//! See the page beside this file.

use super::link::{self, Link};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::network_policy::Passage;

pub(super) static RULE: Rule = Rule {
    code: "ML0402",
    name: "network-policy-blocks-dns",
    aka: &[],
    rung: Rung::Sync,
    severity: Severity::Error,
    claim: "no NetworkPolicy keeps a disconnected proxy from DNS",
    needs: Inputs::of(&[Kind::Pod, Kind::NetworkPolicy]),
    uses: Inputs::of(&[Kind::Namespace, Kind::Service, Kind::EndpointSlice]).and(&[
        Part::Istiod,
        Part::Proxies,
        Part::Logs,
    ]),
    explains: &[
        "ML0312", "ML0313", "ML0403", "ML0409", "ML05", "ML06", "ML07", "ML08", "ML09", "ML10",
    ],
    docs: include_str!("network_policy_blocks_dns.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for link in link::all(facts).filter(|link| link::is_asked_about(case, link.pod)) {
        out.examined();
        let is_lookup = |text: &str| {
            ["lookup ", "no such host", "server misbehaving"]
                .iter()
                .any(|w| text.contains(w))
        };
        let cannot_find_istiod = link
            .closed
            .as_ref()
            .is_some_and(|(_, text)| is_lookup(text));
        let harm = if cannot_find_istiod {
            "it cannot find istiod and gets no new configuration".to_owned()
        } else if let Some(host) = case.and_then(|case| unresolved(case, &link)) {
            format!("nobody in it can look up {host}")
        } else {
            continue;
        };
        let mut reaches = facts
            .mesh
            .reach_dns(link.object)
            .into_iter()
            .filter(|reach| reach.protocol == "UDP");
        let Some(Passage::Blocked(blocked)) = reaches.next().map(|reach| reach.passage) else {
            continue;
        };
        let opening = &blocked[0].opening;
        let policy = &opening.policy.id;
        let name = format!("{}/{}", link.pod.namespace, link.pod.workload().name);
        let message = format!("{policy} keeps {name} from DNS (UDP 53), so {harm}");
        let part = &blocked[0].policies[0];
        let finding = out.find(
            policy.clone(),
            message,
            Evidence::of(part.policy, part.node, "DNS is not in it"),
        );
        finding.evidence.extend(link.cut());
        finding.hits(link.pod.reference());
        finding.fix(Fix::merge(policy, (&opening.merge).into()));
        finding.fix(Fix::delete(policy));
    }
}

/// The name that a caller that got no answer at all has to look up.
fn unresolved<'a>(case: &'a Case<'_>, link: &Link<'_>) -> Option<&'a str> {
    let is_client = case
        .client
        .is_some_and(|client| client.name == link.pod.name);
    let host = &case.call.to.host;
    (is_client && case.saw(0) && host.parse::<std::net::IpAddr>().is_err()).then_some(host)
}
