//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{ObjectRef, PodFacts};

pub(super) static RULE: Rule = Rule {
    code: "ML1005",
    name: "control-plane-throttles",
    aka: &[],
    rung: Rung::Sync,
    severity: Severity::Warning,
    claim: "istiod takes the connections of all its proxies",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("control_plane_throttles.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (id, summary) in &facts.fleet.proxies {
        out.examined();
        let throttled =
            |text: &str| text.contains("ResourceExhausted") && text.contains("rate limit");
        let Some((doc, line, _)) = summary
            .trouble
            .iter()
            .rev()
            .find(|(_, _, text)| throttled(text))
        else {
            continue;
        };
        // Behind a throttled attempt there is usually one that succeeds.
        if summary
            .connected
            .as_ref()
            .is_some_and(|(connected, ..)| *connected)
        {
            continue;
        }
        let istiod = facts
            .mesh
            .pods
            .iter()
            .find(|pod| pod.labels.get("app").is_some_and(|app| app == "istiod"));
        let subject = istiod.map_or_else(
            || ObjectRef::of(Kind::Deployment, "istio-system", "istiod"),
            PodFacts::workload,
        );
        let message = format!(
            "istiod refuses {}/{}: too many proxies connect at once",
            id.namespace, id.pod
        );
        let proof = Evidence::line(doc, *line, "istiod's request rate limit was hit");
        let finding = out.find(subject, message, proof);
        finding
            .hits(ObjectRef::of(Kind::Pod, &id.namespace, &id.pod))
            .confidence(Confidence::Likely);
        finding.fix(Fix::advice(
            "raise PILOT_MAX_REQUESTS_PER_SECOND, give istiod more CPU or replicas",
        ));
    }
}
