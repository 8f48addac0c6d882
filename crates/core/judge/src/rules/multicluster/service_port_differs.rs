//! See the page beside this file.

use super::joint;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML1216",
    name: "service-port-differs",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "a Service has the port that is called in every cluster that serves it",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::of(&[Kind::Pod, Kind::Namespace, Kind::Secret, Kind::ConfigMap])
        .and(&[Part::Istiod]),
    explains: &["ML06", "ML07", "ML10"],
    docs: include_str!("service_port_differs.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    let Some(request) = &crossing.request else {
        return;
    };
    let called = request.call.to.port;
    for pair in joint::pairs(crossing) {
        let (Some(there), Some(here)) = (pair.service, request.service_in(pair.from)) else {
            continue;
        };
        out.examined();
        let Some(own) = here.port(called) else {
            continue;
        };
        if there.port(called).is_some() {
            continue;
        }
        let to = pair.to;
        let message = format!(
            "{} has port {called} in {} and not in {}, where its pods are: callers of {called} are given no endpoint of {}",
            there.id(),
            pair.from.name,
            to.name,
            to.name
        );
        let node = there
            .object
            .spec_at(["ports"])
            .unwrap_or(&there.object.node);
        let shows = format!("its ports in {}", to.name);
        let proof = joint::of(to, Evidence::of(there.object, node, shows));
        let shows = format!("the port in {}", pair.from.name);
        crossing
            .find(out, to, there.id().clone(), message, proof)
            .see(joint::of(
                pair.from,
                Evidence::of(here.object, own.node, shows),
            ))
            .fix(Fix::advice(format!(
                "give {} the same ports in all clusters",
                there.id()
            )));
    }
}
