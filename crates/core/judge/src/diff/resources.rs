//! One resource on both sides, taken apart into what people speak of: routes, filter chains,
//! clusters, endpoints.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use meshladder_capture::envoy::dump::{Resource, Section};
use meshladder_text::tree::{Member, Node, Value};
use meshladder_text::x509;

use super::tree::{Compare, keys, pair};
use super::{ChangeKind, DiffChange, DiffEdit, meaning};

/// A change without anything in it yet.
pub(super) fn change(what: ChangeKind, section: Section, name: &str) -> DiffChange {
    DiffChange {
        what,
        kind: kind(section).to_owned(),
        name: name.to_owned(),
        means: None,
        objects: Vec::new(),
        edits: Vec::new(),
        on: Vec::new(),
        docs: (None, None),
    }
}

fn kind(section: Section) -> &'static str {
    match section {
        Section::Bootstrap => "bootstrap",
        Section::Clusters => "cluster",
        Section::Listeners => "listener",
        Section::Routes | Section::ScopedRoutes => "route configuration",
        Section::Endpoints => "endpoints",
        Section::Secrets => "secret",
        Section::Ecds => "extension",
    }
}

/// A resource that only one side has.
pub(super) fn alone(
    section: Section,
    name: &str,
    resource: &Resource<'_>,
    what: ChangeKind,
) -> DiffChange {
    let node = resource.raw.and_then(|raw| Node::from_json(raw).ok());
    let edits = node.iter().map(|node| only(what, "", node)).collect();
    let means = meaning::alone(section, name, node.as_ref(), what);
    let objects = node
        .iter()
        .flat_map(|node| meaning::makers(section, name, node))
        .collect();
    DiffChange {
        means,
        objects,
        edits,
        ..change(what, section, name)
    }
}

fn only(what: ChangeKind, path: &str, node: &Node) -> DiffEdit {
    match what {
        ChangeKind::Added => DiffEdit::new(what, path, None, Some(node)),
        _ => DiffEdit::new(what, path, Some(node), None),
    }
}

/// The differences of a resource that both sides have.
pub(super) fn compare(
    section: Section,
    name: &str,
    old: &Resource<'_>,
    new: &Resource<'_>,
    is_same_mesh: bool,
    compare: &mut Compare<'_>,
    changes: &mut Vec<DiffChange>,
) {
    let parsed = |resource: &Resource<'_>| Node::from_json(resource.raw?).ok();
    let (Some(a), Some(b)) = (parsed(old), parsed(new)) else {
        return;
    };
    match section {
        Section::Routes => routes(name, &a, &b, compare, changes),
        Section::Listeners => listener(name, &a, &b, compare, changes),
        Section::Secrets => secret(name, &a, &b, is_same_mesh, compare, changes),
        // Where pods happen to run differs between any two installations.
        Section::Endpoints if !is_same_mesh => whole(
            section,
            name,
            &everywhere(&a),
            &everywhere(&b),
            compare,
            changes,
        ),
        _ => whole(section, name, &a, &b, compare, changes),
    }
}

fn whole(
    section: Section,
    name: &str,
    a: &Node,
    b: &Node,
    compare: &mut Compare<'_>,
    changes: &mut Vec<DiffChange>,
) {
    let mut edits = Vec::new();
    compare.nodes("", a, b, &mut edits);
    if !edits.is_empty() {
        let means = meaning::changed(section, name, a, b, &edits);
        let objects = meaning::makers_of_both(section, name, a, b);
        changes.push(DiffChange {
            means,
            objects,
            edits,
            ..change(ChangeKind::Changed, section, name)
        });
    }
}

/// A list of endpoints without localities: all of them in one.
fn everywhere(assignment: &Node) -> Node {
    let lists = items(assignment, "endpoints").iter();
    let all: Box<[Node]> = lists
        .flat_map(|list| items(list, "lb_endpoints"))
        .map(|one| without(one, "metadata"))
        .collect();
    let span = assignment.span;
    let array = |items: Box<[Node]>| Node {
        value: Value::Array(items),
        span,
    };
    let object = |key: &str, value: Node| {
        let member = Member {
            key: key.into(),
            key_span: span,
            value,
        };
        Node {
            value: Value::Object([member].into()),
            span,
        }
    };
    let locality = if all.is_empty() {
        Box::default()
    } else {
        [object("lb_endpoints", array(all))].into()
    };
    object("endpoints", array(locality))
}

/// A part of a resource as a change of its own.
struct ResourcePart<'p> {
    kind: &'static str,
    section: Section,
    name: &'p str,
}

impl ResourcePart<'_> {
    fn differ(
        &self,
        a: &Node,
        b: &Node,
        skip: &str,
        compare: &mut Compare<'_>,
        changes: &mut Vec<DiffChange>,
    ) {
        let mut edits = Vec::new();
        compare.nodes("", &without(a, skip), &without(b, skip), &mut edits);
        if !edits.is_empty() {
            let means = meaning::part(self.kind, self.name, a, b, &edits);
            let objects = meaning::makers_of_both(self.section, self.name, a, b);
            changes.push(DiffChange {
                means,
                objects,
                edits,
                ..self.change(ChangeKind::Changed)
            });
        }
    }

    fn alone(&self, what: ChangeKind, node: &Node, changes: &mut Vec<DiffChange>) {
        let means = Some(meaning::part_alone(self.kind, self.name, node, what));
        let objects = meaning::makers(self.section, self.name, node);
        changes.push(DiffChange {
            means,
            objects,
            edits: vec![only(what, "", node)],
            ..self.change(what)
        });
    }

    fn change(&self, what: ChangeKind) -> DiffChange {
        DiffChange {
            kind: self.kind.to_owned(),
            ..change(what, self.section, self.name)
        }
    }
}

/// A node without one of its members.
fn without(node: &Node, key: &str) -> Node {
    let mut node = node.clone();
    node.retain_members(|member| &*member.key != key);
    node
}

fn items<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).map_or(&[], Node::items)
}

fn routes(
    name: &str,
    a: &Node,
    b: &Node,
    compare: &mut Compare<'_>,
    changes: &mut Vec<DiffChange>,
) {
    ResourcePart {
        kind: "route configuration",
        section: Section::Routes,
        name,
    }
    .differ(a, b, "virtual_hosts", compare, changes);
    let (left, right) = (items(a, "virtual_hosts"), items(b, "virtual_hosts"));
    let pairs = pair(
        &keys("virtual_hosts", left, compare.a),
        &keys("virtual_hosts", right, compare.b),
    );
    let host = |host: &str| format!("{host} in {name}");
    for (key, old, new) in &pairs.both {
        virtual_host(&host(key), &left[*old], &right[*new], compare, changes);
    }
    let lone = |key: &str, what, node: &Node, changes: &mut Vec<DiffChange>| {
        ResourcePart {
            kind: "virtual host",
            section: Section::Routes,
            name: &host(key),
        }
        .alone(what, node, changes);
    };
    pairs
        .only_a
        .iter()
        .for_each(|(key, at)| lone(key, ChangeKind::Removed, &left[*at], changes));
    pairs
        .only_b
        .iter()
        .for_each(|(key, at)| lone(key, ChangeKind::Added, &right[*at], changes));
}

fn virtual_host(
    name: &str,
    a: &Node,
    b: &Node,
    compare: &mut Compare<'_>,
    changes: &mut Vec<DiffChange>,
) {
    ResourcePart {
        kind: "virtual host",
        section: Section::Routes,
        name,
    }
    .differ(a, b, "routes", compare, changes);
    let (left, right) = (items(a, "routes"), items(b, "routes"));
    let pairs = pair(
        &keys("routes", left, compare.a),
        &keys("routes", right, compare.b),
    );
    let route = |key: &str| format!("{key} of {name}");
    for (key, old, new) in &pairs.both {
        let part = ResourcePart {
            kind: "route",
            section: Section::Routes,
            name: &route(key),
        };
        part.differ(&left[*old], &right[*new], "match", compare, changes);
    }
    for (what, alone, nodes) in [
        (ChangeKind::Removed, &pairs.only_a, left),
        (ChangeKind::Added, &pairs.only_b, right),
    ] {
        for (key, at) in alone {
            ResourcePart {
                kind: "route",
                section: Section::Routes,
                name: &route(key),
            }
            .alone(what, &nodes[*at], changes);
        }
    }
    if pairs.is_moved() {
        let mut order = Vec::new();
        compare.nodes(
            "/routes",
            a.get("routes").unwrap_or(a),
            b.get("routes").unwrap_or(b),
            &mut order,
        );
        let edits: Vec<DiffEdit> = order
            .into_iter()
            .filter(|edit| edit.what == ChangeKind::Moved)
            .collect();
        let means = Some(format!("the routes of {name} are tried in another order"));
        let moved = ResourcePart {
            kind: "virtual host",
            section: Section::Routes,
            name,
        }
        .change(ChangeKind::Moved);
        changes.push(DiffChange {
            means,
            edits,
            ..moved
        });
    }
}

fn listener(
    name: &str,
    a: &Node,
    b: &Node,
    compare: &mut Compare<'_>,
    changes: &mut Vec<DiffChange>,
) {
    ResourcePart {
        kind: "listener",
        section: Section::Listeners,
        name,
    }
    .differ(a, b, "filter_chains", compare, changes);
    let (left, right) = (items(a, "filter_chains"), items(b, "filter_chains"));
    let pairs = pair(
        &keys("filter_chains", left, compare.a),
        &keys("filter_chains", right, compare.b),
    );
    let chain = |key: &str| format!("{key} of {name}");
    for (key, old, new) in &pairs.both {
        let part = ResourcePart {
            kind: "filter chain",
            section: Section::Listeners,
            name: &chain(key),
        };
        part.differ(
            &left[*old],
            &right[*new],
            "filter_chain_match",
            compare,
            changes,
        );
    }
    for (what, alone, nodes) in [
        (ChangeKind::Removed, &pairs.only_a, left),
        (ChangeKind::Added, &pairs.only_b, right),
    ] {
        for (key, at) in alone {
            let part = ResourcePart {
                kind: "filter chain",
                section: Section::Listeners,
                name: &chain(key),
            };
            part.alone(what, &nodes[*at], changes);
        }
    }
}

/// Certificates are renewed all the time: what matters is whom they are for, and inside one mesh
/// whom they trust.
fn secret(
    name: &str,
    a: &Node,
    b: &Node,
    is_same_mesh: bool,
    compare: &mut Compare<'_>,
    changes: &mut Vec<DiffChange>,
) {
    let (old, new) = (certificates(a, is_same_mesh), certificates(b, is_same_mesh));
    let (left, right) = (
        compare.a.neutral(&old).into_owned(),
        compare.b.neutral(&new).into_owned(),
    );
    if left == right {
        return compare.noise.count("certificates", name);
    }
    let at = (Some(a.span.start()), Some(b.span.start()));
    let means = Some(meaning::secret(name, &old, &new));
    let edits = vec![DiffEdit {
        what: ChangeKind::Changed,
        path: "/certificates".into(),
        old: Some(old),
        new: Some(new),
        at,
    }];
    changes.push(DiffChange {
        means,
        edits,
        ..change(ChangeKind::Changed, Section::Secrets, name)
    });
}

/// The certificates at a place of a secret.
pub(super) fn pem(secret: &Node, path: [&str; 2]) -> Option<Vec<u8>> {
    let source = secret.at(path)?;
    let text = source
        .str_at("inline_string")
        .map(|text| text.as_bytes().to_vec());
    text.or_else(|| STANDARD.decode(source.str_at("inline_bytes")?).ok())
}

fn certificates(secret: &Node, is_same_mesh: bool) -> String {
    let own = pem(secret, ["tls_certificate", "certificate_chain"]).unwrap_or_default();
    let roots = pem(secret, ["validation_context", "trusted_ca"]).unwrap_or_default();
    let names = x509::from_pem(&own)
        .into_iter()
        .flatten()
        .take(1)
        .flat_map(|certificate| certificate.sans);
    let roots = x509::from_pem(&roots).into_iter().flatten();
    let mut roots: Vec<String> = if is_same_mesh {
        roots
            .map(|root| format!("root {} {}", root.issuer, &root.sha256[..16]))
            .collect()
    } else {
        roots.map(|root| format!("root {}", root.issuer)).collect()
    };
    roots.sort();
    names.chain(roots).collect::<Vec<_>>().join(", ")
}
