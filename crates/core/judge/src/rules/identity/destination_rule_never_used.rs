//! See the page beside this file.

use crate::rules::endpoints::called_service;
use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::host::covers;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0806",
    name: "destination-rule-never-used",
    aka: &["KIA0201", "KIA0204"],
    rung: Rung::Identity,
    severity: Severity::Warning,
    claim: "every DestinationRule is the one that some client's calls fall under",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Service, Kind::Pod]),
    uses: Inputs::of(&[Kind::ServiceEntry, Kind::Sidecar, Kind::ConfigMap]),
    explains: &[],
    docs: include_str!("destination_rule_never_used.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    let clients: BTreeSet<&str> = mesh
        .pods
        .iter()
        .filter(|pod| pod.has_proxy)
        .map(|pod| pod.namespace.as_str())
        .collect();
    let called = case.map(|_| called_service::services(facts, case));
    let mut known = UsedRules::default();
    for rule in mesh.objects.of_kind(Kind::DestinationRule) {
        let Some(node) = rule.spec_at(["host"]) else {
            continue;
        };
        let host = facts
            .mesh
            .domain
            .fqdn(node.str().unwrap_or_default(), &rule.id.namespace);
        // Wildcards are for what may come.
        let Some(service) = mesh.service_of_host(&host) else {
            continue;
        };
        if called.as_ref().is_some_and(|called| {
            !called
                .iter()
                .any(|called| covers(&host, &called.host(facts)))
        }) {
            continue;
        }
        out.examined();
        if clients.is_empty()
            || clients
                .iter()
                .any(|namespace| known.has(mesh, rule, namespace, &host))
        {
            continue;
        }
        let own = &rule.id.namespace;
        let winner = clients.iter().find_map(|ns| {
            mesh.destination_rule(mesh.namespace_scope(ns), &host)?
                .rules
                .first()
                .copied()
        });
        let message = match winner {
            Some(winner) => {
                format!(
                    "{} holds for no client: calls to {} fall under {}",
                    rule.id, service.id, winner.id
                )
            }
            None => format!(
                "{} holds for no client: a rule counts in the client's namespace, the Service's or the root namespace, and in {own} no pod has a proxy",
                rule.id
            ),
        };
        let finding = out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, node, "the host that it is for"),
        );
        finding.hits(service.id.clone());
        if let Some(winner) = winner {
            finding.see(Evidence::of(
                winner,
                winner.spec_at(["host"]).unwrap_or(&winner.node),
                "the rule that is used",
            ));
        }
        // What a request falls under is said by what it meets.
        if case.is_some() {
            finding.severity(Severity::Info);
        }
        finding.fix(Fix::advice(format!(
            "move it to {}, or into the namespace of the clients it is for",
            service.id.namespace
        )));
    }
}

/// The rules that clients of a namespace use for a host.
#[derive(Default)]
struct UsedRules<'m>(BTreeMap<(String, String), BTreeSet<&'m ObjectRef>>);

impl<'m> UsedRules<'m> {
    fn has(&mut self, mesh: &'m Mesh, rule: &Object, namespace: &'m str, host: &str) -> bool {
        let selects = |node: &Node| node.at(["workloadSelector", "matchLabels"]).is_some();
        // One with a selector is for some pods of its namespace.
        if rule.spec().is_some_and(selects) {
            return true;
        }
        let key = (namespace.to_owned(), host.to_owned());
        let used = self.0.entry(key).or_insert_with(|| {
            let used = mesh.destination_rule(mesh.namespace_scope(namespace), host);
            let rules = used.map_or(Vec::new(), |used| used.rules);
            rules.into_iter().map(|rule| &rule.id).collect()
        });
        used.contains(&rule.id)
    }
}
