//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3601",
    name: "gateway-api-too-old",
    aka: &["IST0176"],
    rung: Rung::ControlPlane,
    severity: Severity::Warning,
    claim: "the CustomResourceDefinitions of the Gateway API are as new as istiod needs them",
    needs: Inputs::of(&[Kind::CustomResourceDefinition]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("gateway_api_too_old.md"),
    check: Check::Object(check),
};

const VERSION: &str = "gateway.networking.k8s.io/bundle-version";

/// The first version that istiod reads each of them from.
const LEAST: [(&str, (u64, u64)); 4] = [
    ("grpcroutes.gateway.networking.k8s.io", (1, 1)),
    ("backendtlspolicies.gateway.networking.k8s.io", (1, 4)),
    ("tlsroutes.gateway.networking.k8s.io", (1, 5)),
    ("tcproutes.gateway.networking.k8s.io", (1, 6)),
];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for crd in facts.mesh.objects.of_kind(Kind::CustomResourceDefinition) {
        let Some((_, least)) = LEAST.iter().find(|(name, _)| *name == crd.id.name) else {
            continue;
        };
        out.examined();
        let Some(node) = crd.node.at(["metadata", "annotations", VERSION]) else {
            continue;
        };
        let Some(installed) = node
            .str()
            .and_then(version)
            .filter(|installed| installed < least)
        else {
            continue;
        };
        let message = format!(
            "{} is of version {}.{}, and istiod reads it only from {}.{} on",
            crd.id, installed.0, installed.1, least.0, least.1
        );
        out.find(
            crd.id.clone(),
            message,
            Evidence::of(crd, node, "its version"),
        )
        .fix(Fix::advice(
            "install the CustomResourceDefinitions of a newer Gateway API",
        ));
    }
}

/// Major and minor of `v1.4.0-rc.1`.
fn version(text: &str) -> Option<(u64, u64)> {
    let plain = text.trim().strip_prefix('v').unwrap_or(text.trim());
    let plain = plain.split(['-', '+']).next()?;
    let mut parts = plain.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next().unwrap_or(Some(0))?))
}
