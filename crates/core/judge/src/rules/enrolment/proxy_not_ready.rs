//! See the page beside this file.

use super::container::{self, PROXY};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::shell;
use meshladder_text::time::Time;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0313",
    name: "proxy-not-ready",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "every proxy is ready soon after it started",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::NONE.and(&[Part::Proxies, Part::Logs]),
    explains: &["ML07"],
    docs: include_str!("proxy_not_ready.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    const SLOW: i64 = 60;
    for (pod, stored) in container::enrolled(facts) {
        out.examined();
        let Some(status) = container::status(stored, PROXY) else {
            continue;
        };
        let started = status
            .at(["state", "running", "startedAt"])
            .and_then(Node::str)
            .and_then(Time::parse);
        let Some((started, now)) = started.zip(facts.snapshot.taken_at()) else {
            continue;
        };
        let seconds = now.seconds_since(started);
        if container::is_true(status, "ready") || seconds < SLOW {
            continue;
        }
        let message = format!(
            "the proxy of {}/{} is not ready, {seconds} s after it started",
            pod.namespace, pod.name
        );
        let finding = out.find(
            pod.workload(),
            message,
            Evidence::of(stored, status, "how the proxy is doing"),
        );
        finding.confidence(Confidence::Likely).hits(pod.reference());
        let log = facts
            .fleet
            .proxy(&pod.namespace, &pod.name)
            .map_or(&[][..], |summary| &summary.trouble);
        if let Some((doc, line, _)) = log
            .iter()
            .rev()
            .find(|(_, _, text)| text.contains("NOT ready"))
        {
            finding.see(Evidence::line(doc, *line, "what it says itself"));
        }
        finding.fix(Fix::look(shell::command(
            "kubectl logs {} -n {} -c {} --tail=20",
            &[&pod.name, &pod.namespace, PROXY],
        )));
        finding.fix(Fix::advice(
            "with thousands of Services a Sidecar that imports less makes a proxy start faster",
        ));
    }
}
