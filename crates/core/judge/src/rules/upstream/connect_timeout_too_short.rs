//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::accounts;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Object;
use meshladder_text::duration::milliseconds;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1019",
    name: "connect-timeout-too-short",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "connections are given the time that they need",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Service,
        Kind::ServiceEntry,
        Kind::Sidecar,
        Kind::ConfigMap,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("connect_timeout_too_short.md"),
    check: Check::Request(check),
};

/// A lost packet is sent again after a second: who waits less gives up at the first one. Whoever
/// waits longer in vain meets a server that does not answer at all.
const SHORT_MS: u64 = 1000;

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let told = accounts::of(facts, case).into_iter().find(|told| {
        let is_tcp = told.line.is_some_and(|line| line.method.is_empty());
        told.details.contains("connection_timeout") || (is_tcp && told.has("UF"))
    });
    let Some(told) = told else { return };
    let Some((rule, node, text)) = short(facts, case) else {
        return;
    };
    let message = format!(
        "{} lets connections to {} take {text} only, and that was not enough",
        rule.id, case.host
    );
    let finding = out.find(
        rule.id.clone(),
        message,
        Evidence::of(rule, node, "the time that a connection may take"),
    );
    finding.see(told.proof).confidence(Confidence::Likely);
    finding
        .hits
        .extend(accounts::caller(facts, case).map(meshladder_mesh::PodFacts::reference));
    if rule.id.is(Kind::ConfigMap) {
        finding.fix(Fix::advice(
            "leave connectTimeout out of the mesh's settings: then it is 10s",
        ));
    } else {
        let path = rule.path_of(node);
        finding.fix(Fix::patch(&rule.id, [Op::replace(path, "10s")]));
    }
}

/// The setting that gives connections too little time: the rule's, else the mesh's.
pub(in crate::rules) fn short<'r>(
    facts: &Facts<'r>,
    case: &Case<'r>,
) -> Option<(&'r Object, &'r Node, &'r str)> {
    let pool = accounts::client_setting(facts, case, "connectionPool");
    let of_rule = pool.and_then(|(rule, pool)| {
        let node = pool.at(["tcp", "connectTimeout"])?;
        Some((rule, node, node.str()?))
    });
    let of_mesh = || {
        let config = &facts.mesh.config;
        let text = config.tree.as_ref()?.str_at("connectTimeout")?;
        let map = facts.mesh.objects.find(config.object.as_ref()?)?;
        Some((map, map.node.at(["data", "mesh"])?, text))
    };
    let set = of_rule.or_else(of_mesh)?;
    milliseconds(set.2)
        .is_some_and(|ms| ms < SHORT_MS)
        .then_some(set)
}
