//! See the page beside this file.

use super::meets::{hit_ends, is_captured};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::ambient::conversion::has_targets;
use meshladder_mesh::policies::Workload;
use meshladder_mesh::{Object, PodFacts};

pub(super) static RULE: Rule = Rule {
    code: "ML4029",
    name: "request-policy-ignored-in-ambient",
    aka: &["KIA1110"],
    rung: Rung::Authorization,
    severity: Severity::Warning,
    claim: "no token is asked of pods that only ztunnel stands before",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::RequestAuthentication,
        Kind::Namespace,
        Kind::ConfigMap,
        Kind::WasmPlugin,
    ]),
    explains: &["ML09"],
    docs: include_str!("request_policy_ignored_in_ambient.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let is_asked = |pod: &Object| {
        case.is_none_or(|case| {
            case.servers
                .iter()
                .any(|server: &&PodFacts| server.reference() == pod.id)
        })
    };
    for kind in [Kind::RequestAuthentication, Kind::WasmPlugin] {
        for policy in facts.mesh.objects.of_kind(kind) {
            // One for the whole mesh is also for those that have proxies.
            if has_targets(policy) || *policy.id.namespace == *facts.mesh.config.root_namespace {
                continue;
            }
            out.examined();
            let reaches = |pod: &&Object| {
                let mut of_pod = facts.mesh.policies(kind, &Workload::of(pod)).into_iter();
                of_pod.any(|own| own.id == policy.id)
            };
            let mut pods = facts.mesh.objects.of_kind(Kind::Pod).iter();
            let held = pods.find(|pod| is_asked(pod) && is_captured(facts, pod) && reaches(pod));
            let Some(pod) = held else { continue };
            let message = format!(
                "{} is for {}, which only ztunnel stands before: nobody applies it",
                policy.id, pod.id
            );
            let spec = policy.spec().unwrap_or(&policy.node);
            let finding = out.find(
                policy.id.clone(),
                message,
                Evidence::of(policy, spec, "whom it is for"),
            );
            finding.hits(pod.id.clone());
            if let Some(case) = case {
                hit_ends(finding, case);
            }
            finding.fix(Fix::advice(
                "give the Service a waypoint, and name it or the waypoint in targetRefs",
            ));
        }
    }
}
