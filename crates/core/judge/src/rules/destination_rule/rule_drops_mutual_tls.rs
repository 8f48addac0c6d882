//! See the page beside this file.

use super::peers::tls_mode;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::host::specificity;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML2154",
    name: "rule-drops-mutual-tls",
    aka: &["KIA0204"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "a DestinationRule beside a wider one that has clients use mutual TLS does too",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::ConfigMap]),
    uses: Inputs::of(&[Kind::Service]),
    explains: &[],
    docs: include_str!("rule_drops_mutual_tls.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    // With it, clients use mutual TLS without being told.
    if facts.mesh.config.auto_mtls {
        return;
    }
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        out.examined();
        let Some(node) = rule
            .spec_at(["host"])
            .filter(|_| rule.spec_at(["trafficPolicy", "tls"]).is_none())
        else {
            continue;
        };
        let host = facts
            .mesh
            .domain
            .fqdn(node.str().unwrap_or_default(), &rule.id.namespace);
        let is_wider = |other: &&Object| {
            let own = other
                .spec_at(["host"])
                .and_then(Node::str)
                .unwrap_or_default();
            specificity(own) > specificity(&host)
                && facts.mesh.is_exported_to(other, &rule.id.namespace)
        };
        let wider = facts
            .mesh
            .destination_rules_of(&host)
            .into_iter()
            .filter(is_wider);
        let widest = wider.filter_map(|other| Some((other, tls_mode(other)?)));
        let Some((other, mode)) = widest
            .into_iter()
            .find(|(_, mode)| mode.str() == Some("ISTIO_MUTUAL"))
        else {
            continue;
        };
        let message = format!(
            "{} goes before {}, which has clients of {host} use mutual TLS, and says nothing of TLS, so they send plain text",
            rule.id, other.id
        );
        out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, node, "the host that it is for"),
        )
        .see(Evidence::of(other, mode, "what no longer holds"))
        .fix(Fix::merge(
            &rule.id,
            Value::nested(["spec", "trafficPolicy", "tls", "mode"], "ISTIO_MUTUAL"),
        ));
    }
}
