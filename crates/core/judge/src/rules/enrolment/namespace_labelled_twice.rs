//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::PodFacts;
use meshladder_mesh::injection::{INJECTION, REVISION};
use meshladder_text::tree::{Node, Value};

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0304",
    name: "namespace-labelled-twice",
    aka: &["IST0123"],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "no namespace asks for injection in two ways",
    needs: Inputs::of(&[Kind::Namespace]),
    uses: Inputs::of(&[Kind::MutatingWebhook, Kind::Pod, Kind::ConfigMap]),
    explains: &[],
    docs: include_str!("namespace_labelled_twice.md"),
    check: Check::Wide(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, out),
    }
}

fn by_traffic(facts: &Facts<'_>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    for namespace in facts.mesh.objects.of_kind(Kind::Namespace) {
        let Some(labels) = injectors.namespace_labels(&namespace.id.name) else {
            continue;
        };
        out.examined();
        let (Some(injection), Some(revision)) = (labels.injection, labels.revision) else {
            continue;
        };
        let value = |node: &Node| node.str().unwrap_or_default().to_owned();
        let message = format!(
            "{} has both {INJECTION}={} and {REVISION}={}: the first decides, and the revision is not heeded",
            namespace.id,
            value(injection),
            value(revision)
        );
        let finding = out.find(
            namespace.id.clone(),
            message,
            Evidence::of(namespace, revision, "not heeded"),
        );
        finding.see(Evidence::of(namespace, injection, "this decides"));
        if value(injection) == "enabled" && value(revision) == "default" {
            finding.severity(Severity::Info);
        }
        let pods = facts
            .mesh
            .pods
            .iter()
            .filter(|pod| pod.namespace == namespace.id.name);
        finding.hits.extend(pods.map(PodFacts::reference));
        for label in [INJECTION, REVISION] {
            finding.fix(Fix::merge(
                &namespace.id,
                Value::nested(["metadata", "labels", label], Value::Null),
            ));
        }
    }
}
