//! See the page beside this file.

use super::effect::sidecar;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs};
use meshladder_mesh::export::hider;
use meshladder_mesh::scope::Scope;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_sim::trace::EndKind;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0615",
    name: "service-out-of-scope",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "the client's proxy is told of the Service that is called",
    needs: Inputs::of(&[Kind::Service, Kind::Sidecar]),
    uses: Inputs::of(&[Kind::Pod, Kind::ServiceEntry, Kind::ConfigMap]),
    explains: &[
        "ML0603", "ML0612", "ML0614", "ML0616", "ML07", "ML08", "ML09", "ML10",
    ],
    docs: include_str!("service_out_of_scope.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let mesh = facts.mesh;
    let Some(client) = sidecar(mesh, case) else {
        return;
    };
    let scope = mesh.scope(client);
    let Some(owner) = mesh.registered(&case.host).next() else {
        return;
    };
    out.examined();
    let known = format!("|{}", case.host);
    if !mesh.registry(scope, &case.host).is_empty()
        || case.clusters().any(|cluster| cluster.ends_with(&known))
    {
        return;
    }
    let blocked = mesh.is_registry_only(scope).0;
    let effect = if blocked {
        "calls to it are refused"
    } else {
        "calls to it pass as if it were outside the mesh: in plain text, by no route and no policy of the mesh"
    };
    let finding = match hidden_by(mesh, scope, owner, &case.host) {
        Hidden::Export => {
            let (hider, node) = hider(mesh, owner);
            let by = if hider.id == owner.id {
                String::new()
            } else {
                format!(" by the default of {}", hider.id)
            };
            let message = format!(
                "{} is not exported to namespace {}{by}, so {effect}",
                owner.id, scope.namespace
            );
            let finding = out.find(
                hider.id.clone(),
                message,
                Evidence::of(hider, node, "where it is exported to"),
            );
            finding.fix(export_fix(owner));
            finding
        }
        Hidden::Import(sidecar, node) => {
            let message = format!("{} does not import {}, so {effect}", sidecar.id, case.host);
            let finding = out.find(
                sidecar.id.clone(),
                message,
                Evidence::of(sidecar, node, "all that is imported"),
            );
            let listeners = sidecar.spec_list("egress");
            if let Some(place) = listeners
                .iter()
                .position(|listener| listener.get("port").is_none())
            {
                let entry = format!("{}/{}", owner.id.namespace, case.host);
                finding.fix(Fix::patch(
                    &sidecar.id,
                    [Op::add(format!("/spec/egress/{place}/hosts/-"), entry)],
                ));
            }
            finding
        }
        Hidden::Not => return,
    };
    finding.hits(client.id.clone());
    finding.hits(ObjectRef::new(
        &owner.id.kind,
        &owner.id.namespace,
        &owner.id.name,
    ));
    for server in &case.servers {
        finding.hits(server.reference());
    }
    for line in case
        .client_log
        .iter()
        .filter(|line| !line.cluster.starts_with("outbound|"))
        .take(1)
    {
        let shows = format!("the client's proxy sent it to {}", line.cluster);
        finding.see(Evidence::line(&DocId::new(&line.doc), line.number, shows));
    }
    let passes =
        case.trace.outcome.kind == EndKind::Forwarded && case.seen.is_none_or(Symptom::is_success);
    finding.severity(if passes {
        Severity::Warning
    } else {
        Severity::Error
    });
}

enum Hidden<'m> {
    Export,
    Import(&'m Object, &'m meshladder_text::tree::Node),
    Not,
}

fn hidden_by<'m>(mesh: &'m Mesh, scope: Scope<'m>, owner: &'m Object, host: &str) -> Hidden<'m> {
    if !mesh.is_exported_to(owner, scope.namespace) {
        return Hidden::Export;
    }
    let import = scope.imports(&owner.id.namespace, host);
    match import.by.filter(|_| !import.holds) {
        Some((sidecar, node)) => Hidden::Import(sidecar, node),
        None => Hidden::Not,
    }
}

fn export_fix(owner: &Object) -> Fix {
    let patch = if owner.id.is(Kind::Service) {
        Value::nested(
            ["metadata", "annotations", "networking.istio.io/exportTo"],
            "*",
        )
    } else {
        Value::nested(["spec", "exportTo"], ["*"])
    };
    Fix::merge(&owner.id, patch)
}
