//! See the page beside this file.

use crate::finding::{Evidence, Fix, Risk, Rung, Severity};
use crate::fleet::Proxy;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::ObjectRef;
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML1101",
    name: "debug-log-left-on",
    aka: &[],
    rung: Rung::Telemetry,
    severity: Severity::Warning,
    claim: "no proxy logs at debug or trace",
    needs: Inputs::NONE.and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &[],
    docs: include_str!("debug_log_left_on.md"),
    check: Check::Proxy(check),
};

fn check(facts: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    let Some(logging) = &proxy.docs.logging else {
        return;
    };
    out.examined();
    let loggers = || {
        logging
            .text
            .lines()
            .enumerate()
            .filter_map(|(i, line)| Some((i, line.trim().split_once(": ")?)))
    };
    let loud: Vec<_> = loggers()
        .filter(|(_, (_, level))| ["debug", "trace"].contains(level))
        .collect();
    let Some((at, (name, level))) = loud.first() else {
        return;
    };
    let (namespace, pod) = (&proxy.docs.id.namespace, &proxy.docs.id.pod);
    let which = match loud.len() {
        1 => format!("its logger {name}"),
        n => format!("{n} of its {} loggers", loggers().count()),
    };
    let message = format!("the proxy of {namespace}/{pod} logs at {level}: {which}");
    let reference = ObjectRef::of(Kind::Pod, namespace, pod);
    let proof = Evidence::line(&logging.id, at + 1, format!("{name} logs at {level}"));
    let stored = facts.mesh.objects.get(Kind::Pod, namespace, pod);
    let asked_for = stored.and_then(|stored| {
        let keys = [
            "sidecar.istio.io/logLevel",
            "sidecar.istio.io/componentLogLevel",
        ];
        let asks = |key: &&str| {
            stored
                .annotation(key)
                .is_some_and(|text| text.contains("debug") || text.contains("trace"))
        };
        let key = *keys.iter().find(|key| asks(key))?;
        Some((
            stored,
            key,
            stored.node.at(["metadata", "annotations", key])?,
        ))
    });
    let subject = match (asked_for, proxy.pod) {
        (Some(_), Some(pod)) => pod.workload(),
        _ => reference.clone(),
    };
    let finding = out.find(subject, message, proof);
    finding.hits(reference);
    if let Some((stored, key, node)) = asked_for {
        finding.see(Evidence::of(stored, node, "an annotation asks for it"));
        finding.fix(Fix::advice(format!(
            "take the annotation {key} out of the pod template"
        )));
    } else {
        let command = shell::command("meshladder log-level {}.{} --reset", &[pod, namespace]);
        finding.fix(Fix::command(Risk::Reversible, command));
    }
}
