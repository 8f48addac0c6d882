//! See the page beside this file.

use super::effect::sidecar;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::number;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_sim::trace::EndKind;
use meshladder_sim::walk::Scheme;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0614",
    name: "registry-only-blocks-host",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "with REGISTRY_ONLY every host that is called is a Service or a ServiceEntry",
    needs: Inputs::of(&[Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::of(&[Kind::ConfigMap, Kind::Pod, Kind::Sidecar]),
    explains: &["ML0612", "ML07", "ML10"],
    docs: include_str!("registry_only_blocks_host.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let mesh = facts.mesh;
    let Some(client) = sidecar(mesh, case) else {
        return;
    };
    let scope = mesh.scope(client);
    let (registry_only, by) = mesh.is_registry_only(scope);
    if !registry_only || case.service.is_some() {
        return;
    }
    out.examined();
    if case.trace.outcome.kind == EndKind::Forwarded || case.seen.is_some_and(Symptom::is_success) {
        return;
    }
    let port = case.call.to.port;
    match mesh.registry(scope, &case.host).first() {
        Some(entry) => without_port(entry, case, client, out),
        // What is hidden from the client is another matter.
        None if mesh.registered(&case.host).next().is_some() => {}
        None => {
            let (subject, proof) = setting(mesh, by);
            let message = format!(
                "{subject} lets proxies call only what is registered (REGISTRY_ONLY), and no Service or ServiceEntry is \
                 for {}:{port}",
                case.host
            );
            let finding = out.find(subject, message, proof);
            finding.hits(client.id.clone());
            if case.host.parse::<std::net::IpAddr>().is_err() {
                finding.fix(entry(case, &client.id.namespace));
            }
            if let Some((sidecar, _)) = by {
                let mode = Value::nested(["spec", "outboundTrafficPolicy", "mode"], "ALLOW_ANY");
                finding.fix(Fix::merge(&sidecar.id, mode));
            }
        }
    }
}

/// The object that says REGISTRY_ONLY, and where it does.
fn setting<'m>(
    mesh: &'m Mesh,
    by: Option<(&'m Object, &'m meshladder_text::tree::Node)>,
) -> (ObjectRef, Evidence) {
    if let Some((sidecar, mode)) = by {
        return (
            sidecar.id.clone(),
            Evidence::of(sidecar, mode, "only registered hosts may be called"),
        );
    }
    let root = &mesh.config.root_namespace;
    let id = mesh
        .config
        .object
        .clone()
        .unwrap_or_else(|| ObjectRef::of(Kind::ConfigMap, root, "istio"));
    let proof = match mesh.objects.find(&id) {
        Some(map) => {
            let node = map.node.at(["data", "mesh"]).unwrap_or(&map.node);
            Evidence::of(map, node, "outboundTrafficPolicy.mode is REGISTRY_ONLY")
        }
        None => Evidence::document(
            &meshladder_capture::snapshot::DocId::new("istiod/"),
            "outboundTrafficPolicy.mode is REGISTRY_ONLY",
        ),
    };
    (id, proof)
}

fn without_port(entry: &Object, case: &Case<'_>, client: &Object, out: &mut Sink) {
    let port = case.call.to.port;
    let has = entry
        .spec_list("ports")
        .iter()
        .any(|p| p.get("number").or(p.get("port")).and_then(number) == Some(port));
    if has || !entry.id.is(Kind::ServiceEntry) {
        return;
    }
    let message = format!(
        "{} is for {} but has no port {port}, and the client may call only what is registered",
        entry.id, case.host
    );
    let node = entry.spec_at(["ports"]).unwrap_or(&entry.node);
    let finding = out.find(
        entry.id.clone(),
        message,
        Evidence::of(entry, node, "the ports it has"),
    );
    finding.hits(client.id.clone());
    let protocol = protocol(case);
    let added = Value::object([
        ("number", Value::from(port)),
        ("name", format!("{}-{port}", protocol.to_lowercase()).into()),
        ("protocol", protocol.into()),
    ]);
    finding.fix(Fix::patch(&entry.id, [Op::add("/spec/ports/-", added)]));
}

fn protocol(case: &Case<'_>) -> &'static str {
    match case.call.to.scheme {
        Scheme::Http => "HTTP",
        Scheme::Https => "TLS",
        Scheme::Tcp => "TCP",
    }
}

/// A ServiceEntry for the host, in the client's namespace.
fn entry(case: &Case<'_>, namespace: &str) -> Fix {
    let (host, port, protocol) = (&case.host, case.call.to.port, protocol(case));
    let name = host.replace(['.', '*', '_'], "-");
    let name = name.trim_matches('-');
    let yaml = format!(
        "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata:\n  name: {name}\n  namespace: {namespace}\nspec:\n  \
         hosts: [{host}]\n  location: MESH_EXTERNAL\n  resolution: DNS\n  ports:\n  - number: {port}\n    name: {}-{port}\n    \
         protocol: {protocol}\n",
        protocol.to_lowercase()
    );
    Fix::create(&ObjectRef::of(Kind::ServiceEntry, namespace, name), yaml)
}
