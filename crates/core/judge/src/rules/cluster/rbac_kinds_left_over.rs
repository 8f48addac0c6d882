//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3602",
    name: "rbac-kinds-left-over",
    aka: &["IST0002"],
    rung: Rung::ControlPlane,
    severity: Severity::Warning,
    claim: "no kind of rbac.istio.io, which Istio no longer reads, is left",
    needs: Inputs::of(&[Kind::CustomResourceDefinition]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("rbac_kinds_left_over.md"),
    check: Check::Object(check),
};

const KINDS: [&str; 4] = [
    "ClusterRbacConfig",
    "RbacConfig",
    "ServiceRole",
    "ServiceRoleBinding",
];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for crd in facts.mesh.objects.of_kind(Kind::CustomResourceDefinition) {
        out.examined();
        let is_rbac = crd.spec_at(["group"]).and_then(Node::str) == Some("rbac.istio.io");
        let Some(kind) = crd.spec_at(["names", "kind"]).filter(|_| is_rbac) else {
            continue;
        };
        let Some(name) = kind.str().filter(|name| KINDS.contains(name)) else {
            continue;
        };
        let message = format!("{} is for {name}, which Istio no longer reads", crd.id);
        out.find(crd.id.clone(), message, Evidence::of(crd, kind, "the kind"))
            .fix(Fix::advice(
                "write what is left as AuthorizationPolicies, then delete the definition",
            ));
    }
}
