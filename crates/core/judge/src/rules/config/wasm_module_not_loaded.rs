//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::policies::Workload;
use meshladder_mesh::{Object, PodFacts};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0530",
    name: "wasm-module-not-loaded",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every proxy can load the modules of the WasmPlugins that are for it",
    needs: Inputs::of(&[Kind::WasmPlugin, Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::ConfigMap]),
    explains: &["ML0313", "ML09", "ML10"],
    docs: include_str!("wasm_module_not_loaded.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if facts.mesh.objects.of_kind(Kind::WasmPlugin).is_empty() {
        return;
    }
    if case.is_some_and(|case| case.seen.is_some_and(Symptom::is_success)) {
        return;
    }
    for pod in facts
        .mesh
        .pods
        .iter()
        .filter(|pod| pod.has_proxy && is_asked(case, pod))
    {
        let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
            continue;
        };
        for plugin in facts.mesh.policies(Kind::WasmPlugin, &Workload::of(stored)) {
            out.examined();
            module(facts, plugin, stored, out);
        }
    }
}

fn is_asked(case: Option<&Case<'_>>, pod: &PodFacts) -> bool {
    case.is_none_or(|case| {
        let mut hops = case.trace.hops.iter();
        case.servers
            .iter()
            .any(|server| server.reference() == pod.reference())
            || hops.any(|hop| hop.proxy.is_of(&pod.namespace, &pod.name))
    })
}

fn module(facts: &Facts<'_>, plugin: &Object, pod: &Object, out: &mut Sink) {
    let Some(url) = plugin.spec_at(["url"]) else {
        return;
    };
    let Some(log) = called_service::proxy_log(facts, pod) else {
        return;
    };
    let Some(line) = failure(&log.text, url.str().unwrap_or_default()) else {
        return;
    };
    // The same plugin fails in every proxy for the same reason, so the sentence is the same.
    let known = out
        .findings
        .iter()
        .position(|finding| finding.subject == plugin.id);
    let at = known.unwrap_or_else(|| {
        let opens = plugin.spec_at(["failStrategy"]).and_then(Node::str) == Some("FAIL_OPEN");
        let effect = if opens { "it does nothing" } else { "requests are refused in its place" };
        let message =
            format!("proxies cannot load {}, the module of {}, so {effect}", url.str().unwrap_or_default(), plugin.id);
        let finding = out.find(plugin.id.clone(), message, Evidence::of(plugin, url, "where the module comes from"));
        finding.see(Evidence::line(&log.id, line, "the agent could not load it")).confidence(Confidence::Likely);
        if opens {
            finding.severity(Severity::Warning);
        }
        finding.fix(Fix::advice(
            "correct `url` (and `sha256`, `imagePullSecret`), or make the registry reachable for the pods",
        ));
        finding.fix(Fix::delete(&plugin.id));
        out.findings.len() - 1
    });
    out.findings[at].hits(pod.id.clone());
}

/// The last line about the module, counted from 1, when it says that it was not had.
fn failure(log: &str, url: &str) -> Option<usize> {
    let name = url.rsplit_once("://").map_or(url, |(_, name)| name);
    let words = [
        "cannot fetch",
        "could not fetch",
        "failed",
        "unable to",
        "error",
    ];
    let about = |line: &str| !name.is_empty() && line.contains(name) && !line.starts_with('[');
    let (number, line) = log
        .lines()
        .enumerate()
        .filter(|(_, line)| about(line))
        .last()?;
    let line = line.to_ascii_lowercase();
    (line.contains("wasm") && words.iter().any(|word| line.contains(word))).then_some(number + 1)
}
