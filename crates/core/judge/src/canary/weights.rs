//! Where weights come from: the command line, or what routes calls to a service, a VirtualService
//! or an HTTPRoute.

use super::routes;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Node, Value};

/// How a service's traffic is split.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// What tells the parts apart in metrics.
    pub label: Label,
    /// The parts.
    pub parts: Vec<VersionWeight>,
    /// Who says so: `VirtualService shop/catalog`; empty for the command line.
    pub by: String,
    /// What a reader of the figures should know.
    pub notes: Vec<String>,
}

/// What tells the parts apart in Istio's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// `destination_version`: the pods' label `version`.
    Version,
    /// `destination_service_name`: the parts are Services of their own.
    Service,
}

/// A part and its share.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionWeight {
    /// The label's value.
    pub name: String,
    /// From 0 to 1.
    pub share: f64,
}

impl Label {
    /// Its name in Prometheus.
    pub fn name(self) -> &'static str {
        match self {
            Self::Version => "destination_version",
            Self::Service => "destination_service_name",
        }
    }
}

/// Reads `v1=90,v2=10`.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Vec<VersionWeight>, String> {
    let part = |word: &str| {
        let (name, weight) = word
            .split_once('=')
            .ok_or_else(|| format!("`{word}` is no weight: try `v1=90,v2=10`"))?;
        let weight: f64 = weight
            .trim_end_matches('%')
            .parse()
            .map_err(|_| format!("`{weight}` is no number"))?;
        if !weight.is_finite() || weight < 0.0 {
            return Err(format!("`{word}`: a weight is not negative"));
        }
        Ok(VersionWeight {
            name: name.trim().to_owned(),
            share: weight,
        })
    };
    let parts = text
        .split(',')
        .map(|word| part(word.trim()))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) = parts
        .iter()
        .enumerate()
        .find(|(i, p)| parts[..*i].iter().any(|q| q.name == p.name))
    {
        return Err(format!("{} is named twice", twice.1.name));
    }
    normal(parts).ok_or_else(|| "all weights are 0".to_owned())
}

/// The split of calls to a service, as a client in the service's own namespace without a Sidecar of
/// its own sees it.
///
/// # Errors
/// Why there is none.
pub fn configured(mesh: &Mesh, namespace: &str, name: &str) -> Result<Split, String> {
    let host = mesh.domain.service(name, namespace);
    let services = mesh.virtual_services(mesh.namespace_scope(namespace), &host);
    let Some(service) = services.first() else {
        let of_route = routes::configured(mesh, namespace, name);
        return of_route.unwrap_or_else(|| {
            Err(format!(
                "no VirtualService and no HTTPRoute splits calls to {host}"
            ))
        });
    };
    let told = format!("{}/{}", service.id.namespace, service.id.name);
    let routes = service.spec_list("http");
    let default = routes.iter().position(|route| conditions(route).is_empty());
    let default = default
        .ok_or_else(|| format!("VirtualService {told} has no http route without conditions"))?;
    if routes[default].get("delegate").is_some() {
        return Err(format!(
            "VirtualService {told} leaves its default route to another"
        ));
    }
    let mut notes = Vec::new();
    if default > 0 {
        notes.push(format!(
            "{default} routes of VirtualService {told} with conditions come first, and what they take is counted too"
        ));
    }
    let (label, parts) = parts(mesh, service, &routes[default], namespace)?;
    let parts =
        normal(parts).ok_or_else(|| format!("all weights of VirtualService {told} are 0"))?;
    if let Some(route) = routes::of_service(mesh, namespace, name).next() {
        notes.push(format!(
            "HTTPRoute {}/{} routes calls to it as well",
            route.id.namespace, route.id.name
        ));
    }
    Ok(Split {
        label,
        parts,
        by: format!("VirtualService {told}"),
        notes,
    })
}

fn conditions(route: &Node) -> &[Node] {
    route.get("match").map_or(&[][..], Node::items)
}

fn parts(
    mesh: &Mesh,
    service: &Object,
    route: &Node,
    namespace: &str,
) -> Result<(Label, Vec<VersionWeight>), String> {
    let entries = route.get("route").map_or(&[][..], Node::items);
    let host_of = |entry: &Node| {
        let host = entry
            .at(["destination", "host"])
            .and_then(Node::str)
            .unwrap_or_default();
        mesh.domain.fqdn(host, &service.id.namespace).into_owned()
    };
    let hosts: Vec<String> = entries.iter().map(host_of).collect();
    let weights = entries.iter().map(|entry| weight(entry, entries.len()));
    let is_one_host = hosts.iter().all(|host| *host == hosts[0]);
    let mut found: Vec<VersionWeight> = Vec::new();
    for ((entry, host), share) in entries.iter().zip(&hosts).zip(weights) {
        let name = if is_one_host {
            version(mesh, namespace, host, entry)?
        } else {
            mesh.domain
                .service_name(host)
                .ok_or_else(|| format!("{host} is no Service"))?
                .0
                .to_owned()
        };
        match found.iter_mut().find(|part| part.name == name) {
            Some(part) => part.share += share,
            None => found.push(VersionWeight { name, share }),
        }
    }
    if found.is_empty() {
        return Err(format!(
            "the default route of VirtualService {} leads nowhere",
            service.id.name
        ));
    }
    Ok((
        if is_one_host {
            Label::Version
        } else {
            Label::Service
        },
        found,
    ))
}

/// "If there is only one destination in a rule, it will receive all traffic. Otherwise, if weight
/// is `0`, the destination will not receive any traffic."
fn weight(entry: &Node, count: usize) -> f64 {
    let written = entry.get("weight").and_then(|node| match &node.value {
        Value::Number(text) => text.parse().ok(),
        _ => None,
    });
    if count == 1 {
        1.0
    } else {
        written.unwrap_or(0.0)
    }
}

/// The value of `version` that a subset's pods have.
fn version(mesh: &Mesh, namespace: &str, host: &str, entry: &Node) -> Result<String, String> {
    let subset = entry
        .at(["destination", "subset"])
        .and_then(Node::str)
        .filter(|subset| !subset.is_empty());
    let subset = subset.ok_or_else(|| {
        format!("the route to {host} names no subset: it is not split by version")
    })?;
    let rule = mesh.destination_rule(mesh.namespace_scope(namespace), host);
    let found = rule.as_ref().and_then(|rule| rule.subset(subset));
    let (_, node) =
        found.ok_or_else(|| format!("no DestinationRule defines subset {subset} of {host}"))?;
    let label = node.at(["labels", "version"]).and_then(Node::str);
    let why =
        || format!("subset {subset} of {host} has no label `version`, which is what metrics carry");
    label.map(str::to_owned).ok_or_else(why)
}

/// Weights as shares; none when they add up to nothing.
pub(super) fn normal(mut parts: Vec<VersionWeight>) -> Option<Vec<VersionWeight>> {
    let sum: f64 = parts.iter().map(|part| part.share).sum();
    for part in &mut parts {
        part.share /= sum;
    }
    (sum > 0.0).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary::tests::split;

    const SUBSETS: &str = "
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: catalog, namespace: shop}
spec: {host: catalog, subsets: [{name: stable, labels: {version: v1}}, {name: canary, labels: {version: v2}}, {name: odd, labels: {color: red}}]}
---
apiVersion: v1
kind: Service
metadata: {name: catalog, namespace: shop}
spec: {ports: [{port: 8080}]}
---
";

    fn virtual_service(http: &str) -> String {
        format!(
            "{SUBSETS}apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: catalog, namespace: shop}}\nspec: {{hosts: [catalog], http: {http}}}\n"
        )
    }

    fn part(name: &str, share: f64) -> VersionWeight {
        VersionWeight {
            name: name.to_owned(),
            share,
        }
    }

    #[test]
    fn weights_are_read_as_shares() {
        assert_eq!(
            parse("v1=90, v2=10"),
            Ok(vec![part("v1", 0.9), part("v2", 0.1)])
        );
        assert_eq!(
            parse("v1=1,v2=3"),
            Ok(vec![part("v1", 0.25), part("v2", 0.75)])
        );
        for wrong in ["v1", "v1=x", "v1=0,v2=0", "v1=-1", "v1=1,v1=2", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn subsets_become_the_versions_that_metrics_carry() {
        let http = "[{match: [{headers: {beta: {exact: 'yes'}}}], route: [{destination: {host: catalog, subset: canary}}]}, {route: [{destination: {host: catalog, subset: stable}, weight: 90}, {destination: {host: catalog, subset: canary}, weight: 10}]}]";
        let split = split(&virtual_service(http)).expect("a split");
        assert_eq!(
            (split.label, split.parts),
            (Label::Version, vec![part("v1", 0.9), part("v2", 0.1)])
        );
        assert_eq!(
            (split.by.as_str(), split.notes.len()),
            ("VirtualService shop/catalog", 1)
        );
    }

    #[test]
    fn services_of_their_own_are_told_apart_by_name() {
        let http = "[{route: [{destination: {host: catalog}, weight: 75}, {destination: {host: catalog-next}, weight: 25}]}]";
        let split = split(&virtual_service(http)).expect("a split");
        assert_eq!(
            (split.label, split.parts),
            (
                Label::Service,
                vec![part("catalog", 0.75), part("catalog-next", 0.25)]
            )
        );
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        for (http, why) in [
            (
                "[{route: [{destination: {host: catalog, subset: odd}}]}]",
                "no label `version`",
            ),
            (
                "[{route: [{destination: {host: catalog, subset: none}}]}]",
                "no DestinationRule defines subset none",
            ),
            (
                "[{route: [{destination: {host: catalog}}]}]",
                "names no subset",
            ),
            (
                "[{match: [{uri: {prefix: /a}}], route: [{destination: {host: catalog}}]}]",
                "without conditions",
            ),
            ("[{delegate: {name: other}}]", "to another"),
        ] {
            let told = split(&virtual_service(http)).expect_err(http);
            assert!(told.contains(why), "{told}");
        }
        assert!(
            split(SUBSETS)
                .expect_err("no route")
                .contains("no VirtualService")
        );
    }
}
