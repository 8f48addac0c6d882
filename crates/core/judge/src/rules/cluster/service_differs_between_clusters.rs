//! See the page beside this file.

use std::collections::BTreeMap;

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3501",
    name: "service-differs-between-clusters",
    aka: &["IST0170"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "a Service of several clusters is the same in all of them",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("service_differs_between_clusters.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    if facts.mesh.clusters.is_empty() {
        return;
    }
    let own = std::iter::once(("this cluster", &facts.mesh.objects));
    let others = facts
        .mesh
        .clusters
        .iter()
        .map(|(name, objects)| (name.as_str(), objects));
    let mut services: BTreeMap<&ObjectRef, Vec<(&str, &Object)>> = BTreeMap::new();
    for (cluster, objects) in own.chain(others) {
        for service in objects
            .of_kind(Kind::Service)
            .iter()
            .filter(|service| !service.is_assumed())
        {
            services
                .entry(&service.id)
                .or_default()
                .push((cluster, service));
        }
    }
    for (id, in_clusters) in services
        .iter()
        .filter(|(_, in_clusters)| in_clusters.len() > 1)
    {
        out.examined();
        let (first_cluster, first) = in_clusters[0];
        let Some((cluster, other, what)) = in_clusters[1..]
            .iter()
            .find_map(|(name, other)| difference(first, other).map(|what| (*name, *other, what)))
        else {
            continue;
        };
        let message = format!("{id} is not the same in {first_cluster} and {cluster}: {what}");
        out.find(
            (*id).clone(),
            message,
            Evidence::object(first, format!("as it is in {first_cluster}")),
        )
        .see(Evidence::object(other, format!("as it is in {cluster}")))
        .fix(Fix::advice("make it the same in all clusters"));
    }
}

fn difference(a: &Object, b: &Object) -> Option<&'static str> {
    if is_headless(a) != is_headless(b) {
        return Some("only one of them is headless");
    }
    let kind = |service: &Object| {
        service
            .spec_at(["type"])
            .and_then(Node::str)
            .unwrap_or("ClusterIP")
            .to_owned()
    };
    if kind(a) != kind(b) {
        return Some("they are of different types");
    }
    (ports(a) != ports(b)).then_some("they have different ports")
}

fn is_headless(service: &Object) -> bool {
    service.spec_at(["clusterIP"]).and_then(Node::str) == Some("None")
}

/// What clients see of the ports, and where they lead, by name. Node ports are each cluster's own.
fn ports(service: &Object) -> Vec<[String; 5]> {
    let text = |port: &Node, key: &str, default: &str| {
        let node = port.get(key).map(Node::to_json);
        node.map_or_else(
            || default.to_owned(),
            |text| text.trim_matches('"').to_owned(),
        )
    };
    let read = |port: &Node| {
        let number = text(port, "port", "");
        let target = text(port, "targetPort", &number);
        [
            text(port, "name", ""),
            number,
            text(port, "protocol", "TCP"),
            text(port, "appProtocol", ""),
            target,
        ]
    };
    let mut ports: Vec<_> = service.spec_list("ports").iter().map(read).collect();
    ports.sort_unstable();
    ports
}
