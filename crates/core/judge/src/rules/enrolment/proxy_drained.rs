//! See the page beside this file.

use crate::finding::{Evidence, Fix, Risk, Rung, Severity};
use crate::fleet::Proxy;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0320",
    name: "proxy-drained",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "every proxy that runs listens",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Proxies]),
    uses: Inputs::NONE,
    explains: &["ML05", "ML06", "ML07", "ML08", "ML10"],
    docs: include_str!("proxy_drained.md"),
    check: Check::Proxy(check),
};

fn check(facts: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    let Some(pod) = proxy.pod else { return };
    let stopped = proxy.stat("listener_manager.listener_stopped");
    let active = proxy.stat("listener_manager.total_listeners_active");
    let (Some((stopped, line)), Some((active, _)), Some(stats)) =
        (stopped, active, &proxy.docs.stats)
    else {
        return;
    };
    out.examined();
    // One that is on its way out drains as it should.
    let stored = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
    if active == 0 || stopped < active || stored.is_some_and(super::is_leaving) {
        return;
    }
    let message = format!(
        "the proxy of {} is drained: all its {active} listeners were stopped, so what comes to the pod and what leaves it is refused",
        pod.reference()
    );
    let finding = out.find(
        pod.workload(),
        message,
        Evidence::line(&stats.id, line, "listeners that it stopped"),
    );
    finding.hits(pod.reference());
    finding.fix(Fix::command(
        Risk::Disruptive,
        shell::command("kubectl delete pod {} -n {}", &[&pod.name, &pod.namespace]),
    ));
    finding.fix(Fix::advice(
        "find out who asked it to drain: `/drain_listeners` of its admin port, or an agent that was told to end",
    ));
}
