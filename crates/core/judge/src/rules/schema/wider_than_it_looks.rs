//! See the page beside this file.

use super::told::{KINDS_READ, tell_those};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::{Flaw, SchemaFault};
use meshladder_mesh::{Mesh, Object, policies, services};
use meshladder_text::tree::{Member, Node};

pub(super) static RULE: Rule = Rule {
    code: "ML2914",
    name: "wider-than-it-looks",
    aka: &["IST0133"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "an object reaches no further than it seems",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("wider_than_it_looks.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let advice = "say what is meant: the labels of the workloads, or the ports";
    tell_those(
        facts,
        Flaw::Wider,
        |fault| !meets_only_http(facts.mesh, fault),
        advice,
        out,
    );
}

/// Whether a policy's rule meets ports of HTTP alone, as far as the Services beside it tell: then
/// it is as wide as it looks.
fn meets_only_http(mesh: &Mesh, fault: &SchemaFault) -> bool {
    let policy = match mesh.objects.find(&fault.object) {
        Some(policy) if fault.place.starts_with("spec.rules") => policy,
        _ => return false,
    };
    let is_root = policy.id.namespace == *mesh.config.root_namespace;
    let services = if is_root {
        mesh.objects.of_kind(Kind::Service).iter()
    } else {
        mesh.objects
            .in_namespace(Kind::Service, &policy.id.namespace)
    };
    let wanted = policies::selector(policy.spec());
    let mut services = services.peekable();
    let is_told = services.peek().is_some();
    let mut ports = services
        .filter(|service| may_share_pods(service, wanted))
        .flat_map(services::ports);
    is_told && ports.all(|port| port.protocol.is_http())
}

/// Whether a pod can have the labels that the Service and the policy ask for.
fn may_share_pods(service: &Object, wanted: Option<&Node>) -> bool {
    let wanted = wanted.map_or(&[][..], Node::members);
    let labels = service.spec_at(["selector"]).map_or(&[][..], Node::members);
    let differs = |label: &Member| {
        wanted
            .iter()
            .any(|want| want.key == label.key && want.value.str() != label.value.str())
    };
    !labels.is_empty() && !labels.iter().any(differs)
}
