//! What a difference means for traffic, and which object made the thing that differs.

use std::collections::BTreeSet;

use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::{Resource, Section};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_mesh::ObjectRef;
use meshladder_sim::rbac::PolicyName;
use meshladder_text::tree::{Node, Value};

use super::{ChangeKind, DiffEdit};

mod action;

/// The side that has what was added or removed.
fn owner(what: ChangeKind) -> (&'static str, &'static str) {
    if what == ChangeKind::Added {
        ("B", "A")
    } else {
        ("A", "B")
    }
}

/// A resource that one side is still waiting for, or refused.
pub(super) fn state(a: &Resource<'_>, b: &Resource<'_>) -> String {
    let says = |side: &str, resource: &Resource<'_>| match &resource.error {
        Some(error) => format!("{side} refused its last update ({})", error.details),
        None => format!("on {side} it is {}", resource.state.word()),
    };
    format!("{}; {}", says("A", a), says("B", b))
}

/// A bootstrap that differs.
pub(super) fn bootstrap(edits: &[DiffEdit]) -> Option<String> {
    let version = edits
        .iter()
        .find(|edit| edit.path.ends_with("/ISTIO_VERSION"))?;
    let text = |side: &Option<String>| {
        side.as_deref()
            .unwrap_or("none")
            .trim_matches('"')
            .to_owned()
    };
    Some(format!(
        "A runs Istio {}, B {}",
        text(&version.old),
        text(&version.new)
    ))
}

/// A resource that only one side has.
pub(super) fn alone(
    section: Section,
    name: &str,
    node: Option<&Node>,
    what: ChangeKind,
) -> Option<String> {
    let (has, lacks) = owner(what);
    Some(match section {
        Section::Clusters => {
            format!(
                "only {has} knows the cluster {}: a route to it on {lacks} would end in 503 NC",
                host(name)
            )
        }
        Section::Endpoints => format!(
            "{has} has {} for {}, {lacks} has no such list",
            endpoints(node?),
            host(name)
        ),
        Section::Listeners => format!("only {has} listens at {name}"),
        Section::Routes => format!("only {has} has the route configuration {name}"),
        Section::Secrets => format!("only {has} has the secret {name}"),
        _ => return None,
    })
}

/// A cluster or a list of endpoints that differs.
pub(super) fn changed(
    section: Section,
    name: &str,
    a: &Node,
    b: &Node,
    edits: &[DiffEdit],
) -> Option<String> {
    match section {
        Section::Endpoints => Some(format!(
            "for {} A has {}, B has {}",
            host(name),
            endpoints(a),
            endpoints(b)
        )),
        Section::Clusters => {
            let (old, new) = (tls(a), tls(b));
            if old != new {
                return Some(format!("to {} A speaks {old}, B speaks {new}", host(name)));
            }
            Some(format!("{} differs in {}", host(name), parts(edits)))
        }
        _ => None,
    }
}

/// A route, a virtual host, a filter chain or a listener that differs.
pub(super) fn part(
    kind: &str,
    name: &str,
    a: &Node,
    b: &Node,
    edits: &[DiffEdit],
) -> Option<String> {
    match kind {
        "route" => action::change(a, b).or_else(|| Some(format!("differs in {}", parts(edits)))),
        "filter chain" | "listener" => {
            chain(a, b).or_else(|| Some(format!("{name} differs in {}", parts(edits))))
        }
        _ => Some(format!("differs in {}", parts(edits))),
    }
}

/// A route or a filter chain that only one side has.
pub(super) fn part_alone(kind: &str, name: &str, node: &Node, what: ChangeKind) -> String {
    let (has, _) = owner(what);
    match kind {
        "route" => format!("only {has} has this route: {}", action::in_words(node)),
        "virtual host" => format!("only {has} routes for {name}"),
        _ => format!("only {has} has this {kind}"),
    }
}

/// Certificates for others, or of another root.
pub(super) fn secret(name: &str, old: &str, new: &str) -> String {
    let say = |text: &str| {
        if text.is_empty() {
            "nothing".to_owned()
        } else {
            text.to_owned()
        }
    };
    format!("{name} holds {} on A and {} on B", say(old), say(new))
}

/// What a cluster's name means to a person: `v2 of catalog.shop.svc.cluster.local:8080`.
pub(super) fn host(name: &str) -> String {
    match ClusterName::parse(name) {
        Some(ClusterName {
            direction: "outbound",
            port,
            subset,
            host,
        }) => {
            let of = if subset.is_empty() {
                String::new()
            } else {
                format!("{subset} of ")
            };
            format!("{of}{host}:{port}")
        }
        Some(ClusterName {
            direction, port, ..
        }) => format!("{direction} port {port}"),
        None => name.to_owned(),
    }
}

fn endpoints(assignment: &Node) -> String {
    let lists = assignment
        .get("endpoints")
        .map_or(&[][..], Node::items)
        .iter();
    let all = lists.flat_map(|list| list.get("lb_endpoints").map_or(&[][..], Node::items));
    match all.count() {
        0 => "no endpoint".to_owned(),
        1 => "1 endpoint".to_owned(),
        n => format!("{n} endpoints"),
    }
}

/// How a cluster's connections are protected.
fn tls(cluster: &Node) -> &'static str {
    if cluster
        .get("transport_socket_matches")
        .is_some_and(|matches| {
            matches
                .items()
                .iter()
                .any(|one| one.at(["match", "tlsMode"]).is_some())
        })
    {
        return "mutual TLS where the server can (auto mTLS)";
    }
    let config = cluster.at(["transport_socket", "typed_config", "common_tls_context"]);
    match config {
        None => "plain text",
        Some(context) if context.get("tls_certificate_sds_secret_configs").is_some() => {
            "mutual TLS"
        }
        Some(_) => "TLS",
    }
}

/// Policies and client certificates that one chain has and the other has not.
fn chain(a: &Node, b: &Node) -> Option<String> {
    let (old, new) = (policies(a), policies(b));
    let named = |only: Vec<&String>| {
        only.iter()
            .map(|name| name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let only_old = named(old.difference(&new).collect());
    let only_new = named(new.difference(&old).collect());
    match (only_old.as_str(), only_new.as_str()) {
        ("", "") => {}
        (old, "") => return Some(format!("only A enforces {old}")),
        ("", new) => return Some(format!("only B enforces {new}")),
        (old, new) => return Some(format!("A enforces {old}, B {new}")),
    }
    let wants = |node: &Node| {
        let path = [
            "transport_socket",
            "typed_config",
            "require_client_certificate",
        ];
        node.at(path)
            .is_some_and(|wants| wants.value == Value::Bool(true))
    };
    match (wants(a), wants(b)) {
        (true, false) => Some("only A wants a client certificate".to_owned()),
        (false, true) => Some("only B wants a client certificate".to_owned()),
        _ => None,
    }
}

/// The AuthorizationPolicies in a chain, as `AuthorizationPolicy shop/x`.
fn policies(chain: &Node) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_key(chain, &mut |key| {
        if let Some(name) = PolicyName::parse(key) {
            found.insert(format!(
                "AuthorizationPolicy {}/{}",
                name.namespace, name.name
            ));
        }
    });
    found
}

fn each_key(node: &Node, visit: &mut impl FnMut(&str)) {
    for member in node.members() {
        visit(&member.key);
        each_key(&member.value, visit);
    }
    for item in node.items() {
        each_key(item, visit);
    }
}

/// The top-level members that differ.
fn parts(edits: &[DiffEdit]) -> String {
    let part = |edit: &DiffEdit| {
        edit.path
            .split(['/', '['])
            .find(|part| !part.is_empty())
            .unwrap_or("it")
            .to_owned()
    };
    let parts: BTreeSet<String> = edits.iter().map(part).collect();
    parts.into_iter().collect::<Vec<_>>().join(", ")
}

/// The objects behind a resource or a part of one, on both sides.
pub(super) fn makers_of_both(section: Section, name: &str, a: &Node, b: &Node) -> Vec<ObjectRef> {
    let mut objects = makers(section, name, a);
    objects.extend(makers(section, name, b));
    objects.sort();
    objects.dedup();
    objects
}

/// The objects behind a resource: by Istio's metadata, the names of its policies, or the host in
/// its name.
pub(super) fn makers(section: Section, name: &str, node: &Node) -> Vec<ObjectRef> {
    let mut objects: Vec<ObjectRef> = Vec::new();
    metadata(node, &mut objects);
    if section == Section::Listeners {
        let policy = |text: &String| {
            let (namespace, name) = text.strip_prefix("AuthorizationPolicy ")?.split_once('/')?;
            Some(ObjectRef::of(Kind::AuthorizationPolicy, namespace, name))
        };
        objects.extend(policies(node).iter().filter_map(policy));
    }
    let host = ClusterName::parse(name).map(|name| name.host);
    if matches!(section, Section::Clusters | Section::Endpoints) {
        objects.extend(host.and_then(service));
    }
    objects.sort();
    objects.dedup();
    objects
}

/// `Service shop/catalog` for `catalog.shop.svc.cluster.local`.
fn service(host: &str) -> Option<ObjectRef> {
    let mut labels = host.split('.');
    let (name, namespace) = (labels.next()?, labels.next()?);
    (labels.next() == Some("svc")).then(|| ObjectRef::of(Kind::Service, namespace, name))
}

/// Every `metadata.filter_metadata.istio.config` inside.
fn metadata(node: &Node, objects: &mut Vec<ObjectRef>) {
    let path = node
        .at(["metadata", "filter_metadata", "istio", "config"])
        .and_then(Node::str);
    objects.extend(
        path.and_then(meshladder_capture::envoy::name::config_object)
            .map(|(kind, namespace, name)| ObjectRef::new(&kind, namespace, name)),
    );
    node.members()
        .iter()
        .for_each(|member| metadata(&member.value, objects));
    node.items().iter().for_each(|item| metadata(item, objects));
}
