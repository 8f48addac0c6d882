//! See the page beside this file.

use super::clients::Clients;
use super::nearest::nearest_service;
use super::{met, patch};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0513",
    name: "destination-rule-for-unknown-host",
    aka: &["IST0174", "KIA0202"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "the host of every DestinationRule is a Service's or a ServiceEntry's",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::of(&[Kind::Pod, Kind::Sidecar]),
    explains: &["ML0504", "ML06", "ML08"],
    docs: include_str!("destination_rule_for_unknown_host.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let clients = Clients::of(facts.mesh);
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        let Some(node) = rule.spec_at(["host"]) else {
            continue;
        };
        let host = facts
            .mesh
            .domain
            .fqdn(node.str().unwrap_or_default(), &rule.id.namespace);
        if host.starts_with('*') {
            continue;
        }
        let is_known = facts.mesh.registered(&host).next().is_some();
        let meant = if is_known {
            None
        } else {
            nearest_service(facts.mesh, &host)
        };
        if case.is_some_and(|case| !meets(facts, case, rule, meant.as_deref())) {
            continue;
        }
        out.examined();
        if !is_known {
            let is_used = case.is_some() || !clients.sidecars_seeing(rule).is_empty();
            tell(facts, rule, node, &host, meant.filter(|_| is_used), out);
        }
    }
}

/// Whether the request goes where the rule was meant for, and would see it.
fn meets(facts: &Facts<'_>, case: &Case<'_>, rule: &Object, meant: Option<&str>) -> bool {
    let is_seen = met::scope(facts, case)
        .is_none_or(|scope| facts.mesh.is_exported_to(rule, scope.namespace));
    is_seen && met::fails(case) && met::clusters(case).any(|cluster| Some(cluster.host) == meant)
}

fn tell(
    facts: &Facts<'_>,
    rule: &Object,
    node: &Node,
    host: &str,
    meant: Option<String>,
    out: &mut Sink,
) {
    let written = node.str().unwrap_or_default();
    let message = match &meant {
        Some(meant) => format!(
            "{} is for host {written}, which is no Service; {meant} is one",
            rule.id
        ),
        None => format!(
            "{} is for host {host}, which no Service and no ServiceEntry has",
            rule.id
        ),
    };
    let finding = out.find(
        rule.id.clone(),
        message,
        Evidence::of(rule, node, "the host it is for"),
    );
    match meant {
        None => {
            finding.severity(Severity::Info);
            finding.fix(Fix::delete(&rule.id));
        }
        Some(meant) => {
            if let Some((name, namespace)) = facts.mesh.domain.service_name(&meant) {
                finding.hits(ObjectRef::of(Kind::Service, namespace, name));
            }
            finding.fix(patch::replace(rule, node, &meant));
        }
    }
}
