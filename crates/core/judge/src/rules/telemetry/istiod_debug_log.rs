//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1102",
    name: "istiod-debug-log",
    aka: &[],
    rung: Rung::Telemetry,
    severity: Severity::Warning,
    claim: "istiod does not log at debug",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("istiod_debug_log.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for pod in facts
        .mesh
        .pods
        .iter()
        .filter(|pod| pod.labels.get("app").is_some_and(|app| app == "istiod"))
    {
        let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
            continue;
        };
        out.examined();
        let args = stored
            .spec_list("containers")
            .iter()
            .flat_map(|c| c.get("args").map_or(&[][..], Node::items));
        let is_debug = |arg: &&Node| {
            let level = arg
                .str()
                .and_then(|arg| arg.strip_prefix("--log_output_level="));
            level.is_some_and(|level| {
                level
                    .split(',')
                    .any(|scope| scope.rsplit(':').next() == Some("debug"))
            })
        };
        let Some(arg) = args.into_iter().find(is_debug) else {
            continue;
        };
        let message = format!(
            "{} starts istiod with `{}`",
            pod.workload(),
            arg.str().unwrap_or_default()
        );
        if out
            .findings
            .iter()
            .any(|finding| finding.subject == pod.workload())
        {
            continue;
        }
        let finding = out.find(
            pod.workload(),
            message,
            Evidence::of(stored, arg, "the log level"),
        );
        finding.hits(pod.reference());
        finding.fix(Fix::advice(
            "start it with --log_output_level=default:info; levels can be changed at runtime by `istioctl admin log`",
        ));
    }
}
