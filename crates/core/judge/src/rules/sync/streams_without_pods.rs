//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::ObjectRef;

pub(super) static RULE: Rule = Rule {
    code: "ML0410",
    name: "streams-without-pods",
    aka: &[],
    rung: Rung::Sync,
    severity: Severity::Info,
    claim: "every stream that istiod tells of belongs to a pod",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Istiod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("streams_without_pods.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    // Without any pod the question is whether they were collected, not whether streams are left
    // over.
    if facts.mesh.pods.is_empty() {
        return;
    }
    for stream in &facts.fleet.streams {
        out.examined();
        if facts.mesh.pod(&stream.namespace, &stream.pod).is_some() {
            continue;
        }
        let message = format!(
            "{} still has a stream of {}/{}, a pod that is gone",
            stream.istiod, stream.namespace, stream.pod
        );
        let subject = ObjectRef::of(Kind::Pod, &stream.namespace, &stream.pod);
        let proof = Evidence::offset(&stream.doc, stream.at, "the stream");
        out.find(subject, message, proof).fix(Fix::advice(
            "istiod drops it when the connection times out; a proxy outside Kubernetes is listed so for ever",
        ));
    }
}
