//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::policies::selector;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::{Mesh, Object};
use meshladder_sim::Tri;
use meshladder_text::regex::Regex;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0618",
    name: "envoy-filter-for-nobody",
    aka: &["IST0127", "KIA0004"],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every EnvoyFilter selects a proxy, of a version that its patches are for",
    needs: Inputs::of(&[Kind::EnvoyFilter, Kind::Pod]),
    uses: Inputs::NONE.and(&[Part::Istiod]),
    explains: &[],
    docs: include_str!("envoy_filter_for_nobody.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for filter in facts.mesh.objects.of_kind(Kind::EnvoyFilter) {
        out.examined();
        let pods = selected(facts.mesh, filter);
        match selector(filter.spec()) {
            Some(labels) if pods.is_empty() => {
                let message = format!("{} selects no pod, so it has no effect", filter.id);
                let finding = out.find(
                    filter.id.clone(),
                    message,
                    Evidence::of(filter, labels, "the labels it wants"),
                );
                finding.fix(Fix::advice(
                    "give it the labels of the pods that it is for, or delete it",
                ));
            }
            _ => versions(facts, filter, &pods, out),
        }
    }
}

/// Whether an EnvoyFilter is for a pod: it is in the same namespace, or in the root namespace, and
/// has its labels.
pub(super) fn selects(mesh: &Mesh, filter: &Object, pod: &Object) -> bool {
    let in_reach = filter.id.namespace == pod.id.namespace
        || *filter.id.namespace == *mesh.config.root_namespace;
    in_reach && selector(filter.spec()).is_none_or(|wanted| has_labels(wanted, pod.labels()))
}

fn selected<'m>(mesh: &'m Mesh, filter: &Object) -> Vec<&'m Object> {
    mesh.objects
        .of_kind(Kind::Pod)
        .iter()
        .filter(|pod| selects(mesh, filter, pod))
        .collect()
}

/// `match.proxy.proxyVersion` is a regular expression on the proxy's Istio version.
fn versions(facts: &Facts<'_>, filter: &Object, pods: &[&Object], out: &mut Sink) {
    let streams = || {
        pods.iter()
            .flat_map(|pod| facts.fleet.streams_of(&pod.id.namespace, &pod.id.name))
    };
    if streams().next().is_none() {
        return;
    }
    for patch in filter.spec_list("configPatches") {
        let Some(version) = patch.at(["match", "proxy", "proxyVersion"]) else {
            continue;
        };
        let wanted = version.str().unwrap_or_default();
        // Not anchored in istiod.
        let regex = Regex::full(&format!(".*(?:{wanted}).*"));
        if wanted.is_empty() || streams().any(|stream| regex.matches(&stream.version) != Tri::No) {
            continue;
        }
        let running: std::collections::BTreeSet<&str> =
            streams().map(|stream| stream.version.as_str()).collect();
        let running: Vec<_> = running.into_iter().collect();
        let message = format!(
            "a patch of {} is for proxies of version {wanted}, and those it selects are {}",
            filter.id,
            running.join(", ")
        );
        let finding = out.find(
            filter.id.clone(),
            message,
            Evidence::of(filter, version, "the versions it is for"),
        );
        for pod in pods {
            finding.hits(pod.id.clone());
        }
        finding.fix(Fix::advice(
            "see whether the patch still fits this version, then widen proxyVersion",
        ));
    }
}

/// The patches that put a filter somewhere: the filter's name and the patch.
pub(super) fn inserted(filter: &Object) -> impl Iterator<Item = (&str, &Node)> {
    filter
        .spec_list("configPatches")
        .iter()
        .filter_map(|patch| {
            let is_filter = matches!(
                patch.str_at("applyTo"),
                Some("HTTP_FILTER" | "NETWORK_FILTER")
            );
            let operation = patch
                .at(["patch", "operation"])
                .and_then(Node::str)
                .unwrap_or_default();
            let inserts = matches!(
                operation,
                "ADD" | "INSERT_BEFORE" | "INSERT_AFTER" | "INSERT_FIRST"
            );
            let name = patch.at(["patch", "value", "name"]).and_then(Node::str)?;
            (is_filter && inserts).then_some((name, patch))
        })
}
