//! See the page beside this file.

use super::effect::sidecar;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::config::is_registry_only;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0616",
    name: "sidecar-is-no-firewall",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Info,
    claim: "a Sidecar that leaves hosts out also refuses calls to them",
    needs: Inputs::of(&[Kind::Sidecar]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &[],
    docs: include_str!("sidecar_is_no_firewall.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    let own = case.map(|case| sidecar(mesh, case).and_then(|client| mesh.scope(client).sidecar));
    for object in mesh.objects.of_kind(Kind::Sidecar) {
        if own.is_some_and(|own| own.is_none_or(|own| own.id != object.id)) {
            continue;
        }
        out.examined();
        let only = object
            .spec()
            .and_then(is_registry_only)
            .unwrap_or(mesh.config.is_registry_only);
        let passed = case.filter(|case| passes(case));
        if let Some(hosts) = shut(object)
            .or_else(|| some_out(object).filter(|_| passed.is_some()))
            .filter(|_| !only)
        {
            let what = if let Some(case) = passed {
                case.host.as_str()
            } else {
                "all hosts"
            };
            let message = format!(
                "{} leaves out {what}, and its proxies may still call any: outboundTrafficPolicy is ALLOW_ANY",
                object.id
            );
            let finding = out.find(
                object.id.clone(),
                message,
                Evidence::of(object, hosts, "nothing is imported"),
            );
            finding.when_asked(Severity::Warning);
            // Who asks why a call works expected that it does not.
            if passed.is_some() {
                finding.severity(Severity::Warning);
            }
            let path = ["spec", "outboundTrafficPolicy", "mode"];
            let patch = Value::nested(path, "REGISTRY_ONLY");
            finding.fix(Fix::merge(&object.id, patch));
        }
    }
}

/// Whether the request left for a host that the proxy was not told of, and got there.
fn passes(case: &Case<'_>) -> bool {
    case.seen.is_some_and(Symptom::is_success)
        && case
            .clusters()
            .any(|cluster| cluster == "PassthroughCluster")
}

/// The list of hosts of a Sidecar that does not import everything.
fn some_out(object: &Object) -> Option<&Node> {
    let lists = || {
        object
            .spec_list("egress")
            .iter()
            .filter_map(|listener| listener.get("hosts"))
    };
    let has_all = lists()
        .flat_map(Node::items)
        .filter_map(Node::str)
        .any(|host| host == "*/*");
    lists().next().filter(|_| !has_all)
}

/// The list of hosts that lets nothing in: such a Sidecar is often meant to shut its pods off.
fn shut(object: &Object) -> Option<&Node> {
    let mut lists = object
        .spec_list("egress")
        .iter()
        .filter_map(|listener| listener.get("hosts"));
    let first = lists.next()?;
    let all = std::iter::once(first).chain(lists).flat_map(Node::items);
    all.filter_map(Node::str)
        .all(|host| host.starts_with("~/"))
        .then_some(first)
}
