//! See the page beside this file.

use super::gateway_credential_missing::can_list_secrets;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0815",
    name: "certificate-ref-missing",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "every certificateRef of a Gateway is a Secret that exists and that the Gateway may read",
    needs: Inputs::NONE,
    uses: Inputs::of(&[
        Kind::K8sGateway,
        Kind::Secret,
        Kind::K8sGateway,
        Kind::ReferenceGrant,
        Kind::Pod,
    ]),
    explains: &["ML08", "ML04"],
    docs: include_str!("certificate_ref_missing.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if !can_list_secrets(facts) {
        return;
    }
    let called = case.and_then(|case| called_service::client_pod(facts, case));
    for gateway in facts.mesh.objects.of_kind(Kind::K8sGateway) {
        let is_met = |pod: &Object| {
            pod.id.namespace == gateway.id.namespace && names(pod) == Some(&gateway.id.name)
        };
        if case.is_some() && !called.is_some_and(is_met) {
            continue;
        }
        for listener in gateway.spec_list("listeners") {
            if case.is_some_and(|case| port_of(listener) != Some(case.call.to.port)) {
                continue;
            }
            let refs = listener
                .at(["tls", "certificateRefs"])
                .map_or(&[][..], Node::items);
            for reference in refs
                .iter()
                .filter(|r| r.str_at("kind").is_none_or(|kind| kind == "Secret"))
            {
                out.examined();
                judge(facts.mesh, gateway, listener, reference, out);
            }
        }
    }
}

/// The Gateway that a pod was made for.
fn names(pod: &Object) -> Option<&str> {
    pod.label("gateway.networking.k8s.io/gateway-name")
}

fn port_of(listener: &Node) -> Option<u16> {
    listener
        .get("port")
        .and_then(meshladder_mesh::services::number)
}

fn judge(mesh: &Mesh, gateway: &Object, listener: &Node, reference: &Node, out: &mut Sink) {
    let own = &gateway.id.namespace;
    let name = reference.str_at("name").unwrap_or_default();
    let namespace = reference.str_at("namespace").unwrap_or(own);
    let secret = mesh.objects.get(Kind::Secret, namespace, name);
    let at = listener.str_at("name").unwrap_or_default();
    let message = match secret {
        None => format!(
            "listener {at} of {} names Secret {namespace}/{name}, which does not exist",
            gateway.id
        ),
        Some(_) if namespace == own || is_granted(mesh, own, namespace, name) => return,
        Some(secret) => {
            format!(
                "listener {at} of {} names {}, and no ReferenceGrant in {namespace} lets it",
                gateway.id, secret.id
            )
        }
    };
    let proof = Evidence::of(gateway, reference, "the Secret that is looked for");
    let finding = out.find(gateway.id.clone(), message, proof);
    for pod in mesh
        .objects
        .in_namespace(Kind::Pod, own)
        .filter(|pod| names(pod) == Some(&gateway.id.name))
    {
        finding.hits(pod.id.clone());
    }
    match secret {
        Some(secret) => {
            finding.see(Evidence::object(secret, "the Secret"));
            let grant = ObjectRef::of(
                Kind::ReferenceGrant,
                namespace,
                &format!("{}-{name}", gateway.id.name),
            );
            let yaml = format!(
                "apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {{name: {}, namespace: {namespace}}}\nspec:\n  from:\n  - {{group: gateway.networking.k8s.io, kind: Gateway, namespace: {own}}}\n  to:\n  - {{group: \"\", kind: Secret, name: {name}}}\n",
                grant.name
            );
            finding.fix(Fix::create(&grant, yaml));
        }
        None => {
            finding.fix(Fix::advice(format!(
                "create the Secret {name} in {namespace}, of type kubernetes.io/tls"
            )));
        }
    }
}

fn is_granted(mesh: &Mesh, from: &str, namespace: &str, name: &str) -> bool {
    let says = |node: &Node, key: &str, value: &str| node.str_at(key) == Some(value);
    mesh.objects
        .in_namespace(Kind::ReferenceGrant, namespace)
        .any(|grant| {
            let lets = |f: &Node| says(f, "kind", "Gateway") && says(f, "namespace", from);
            let covers = |t: &Node| {
                says(t, "kind", "Secret")
                    && t.str_at("name").is_none_or(|n| n.is_empty() || n == name)
            };
            grant.spec_list("from").iter().any(lets) && grant.spec_list("to").iter().any(covers)
        })
}
