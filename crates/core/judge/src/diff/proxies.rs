//! Two proxies compared, resource by resource. Only a resource whose bytes differ is parsed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshladder_capture::envoy::dump::{Dump, Resource, ResourceState, Section};
use meshladder_capture::snapshot::DocId;
use meshladder_text::json::{Raw, TextFault};
use meshladder_text::tree::Node;

use super::names::CommonNames;
use super::tree::{Compare, ListPairs, pair};
use super::{ChangeKind, Diff, DiffChange, DiffEdit, Noise, meaning, resources};

/// One proxy's configuration.
#[derive(Clone, Debug)]
pub struct ProxySide<'d> {
    /// What to call it: `shop/cart-1`.
    pub name: String,
    /// Its document.
    pub doc: DocId,
    /// The dump's text.
    pub text: &'d str,
    /// What its words stand for, beside its own name and addresses.
    pub names: Arc<CommonNames>,
    /// Whether the other side is of the same installation: then addresses of others and roots of
    /// trust should be equal.
    pub is_same_mesh: bool,
    /// Whether istiod says what it would send, rather than the proxy what it has: then there is
    /// nothing static in it.
    pub is_istiods: bool,
}

/// What is compared: all that a proxy was given.
const SECTIONS: [Section; 7] = [
    Section::Bootstrap,
    Section::Listeners,
    Section::Routes,
    Section::Clusters,
    Section::Endpoints,
    Section::Ecds,
    Section::Secrets,
];

/// What a proxy has from its own agent: istiod sends neither, so there is nothing to compare.
const OWN_SECTIONS: [Section; 2] = [Section::Bootstrap, Section::Secrets];

/// A dump with what its words stand for.
struct Open<'d> {
    dump: Dump<'d>,
    names: CommonNames,
    doc: DocId,
    is_dynamic_only: bool,
    /// Clusters whose endpoints traffic makes.
    original_dst: BTreeSet<String>,
    /// Clusters whose endpoints are sent.
    eds: BTreeSet<String>,
}

/// How two proxies differ.
///
/// # Errors
/// When one of the documents is no config dump: its name and what is wrong.
pub fn proxies(a: &ProxySide<'_>, b: &ProxySide<'_>) -> Result<Diff, String> {
    let (mut left, mut right) = (open(a)?, open(b)?);
    let mut diff = Diff {
        a: a.name.clone(),
        b: b.name.clone(),
        ..Diff::default()
    };
    for (side, open) in [(a, &left), (b, &right)] {
        let faults = open.dump.fault.iter().chain(&open.dump.odd);
        diff.unknown.extend(
            faults.map(|fault| format!("a part of the dump of {}: {}", side.name, fault.what)),
        );
    }
    left.is_dynamic_only = a.is_istiods || b.is_istiods;
    right.is_dynamic_only = left.is_dynamic_only;
    for section in SECTIONS {
        if left.is_dynamic_only && OWN_SECTIONS.contains(&section) {
            continue;
        }
        match (
            left.dump.section(section).is_some(),
            right.dump.section(section).is_some(),
        ) {
            (true, true) => compare_section(
                section,
                &left,
                &right,
                a.is_same_mesh && b.is_same_mesh,
                &mut diff,
            ),
            (false, false) => {}
            // istiod names a section that it has nothing for.
            _ if left
                .dump
                .of(section)
                .chain(right.dump.of(section))
                .next()
                .is_none() => {}
            (is_in_a, _) => {
                let lacks = if is_in_a { &b.name } else { &a.name };
                diff.unknown
                    .push(format!("{}: not in the dump of {lacks}", section.message()));
            }
        }
    }
    for change in &mut diff.changes {
        change.on = vec![b.name.clone()];
        change.docs = (Some(left.doc.clone()), Some(right.doc.clone()));
    }
    Ok(diff)
}

fn open<'d>(side: &ProxySide<'d>) -> Result<Open<'d>, String> {
    let wrong = |fault: TextFault| format!("{}: {}", side.name, fault.what);
    let dump = Dump::index(side.text, &SECTIONS).map_err(wrong)?;
    let mut names = CommonNames::of_proxy(&dump).with(&side.names);
    if !side.is_same_mesh {
        names.add_listeners(&dump);
    }
    let (mut original_dst, mut eds) = (BTreeSet::new(), BTreeSet::new());
    for cluster in dump.of(Section::Clusters) {
        match cluster.raw.and_then(|raw| raw.string_at("type")).as_deref() {
            Some("ORIGINAL_DST") => original_dst.insert(cluster.name.to_string()),
            Some("EDS") => eds.insert(cluster.name.to_string()),
            _ => continue,
        };
    }
    Ok(Open {
        dump,
        names,
        doc: side.doc.clone(),
        is_dynamic_only: false,
        original_dst,
        eds,
    })
}

fn compare_section(
    section: Section,
    a: &Open<'_>,
    b: &Open<'_>,
    is_same_mesh: bool,
    diff: &mut Diff,
) {
    if section == Section::Bootstrap {
        bootstrap(a, b, diff);
        return;
    }
    let mut noise = Noise::default();
    let ((left, aside_a), (right, aside_b)) = (a.resources(section), b.resources(section));
    left_aside(&aside_a, &aside_b, &mut noise);
    let ListPairs {
        both,
        only_a,
        only_b,
    } = pair(&a.keys(&left), &b.keys(&right));
    diff.compared += both.len() + only_a.len() + only_b.len();
    let mut changes = Vec::new();
    {
        let mut compare = Compare {
            a: &a.names,
            b: &b.names,
            noise: &mut noise,
        };
        for (name, left_at, right_at) in both {
            let (old, new) = (left[left_at], right[right_at]);
            state(section, &name, old, new, &mut changes);
            if !is_same(old, new) {
                resources::compare(
                    section,
                    &name,
                    old,
                    new,
                    is_same_mesh,
                    &mut compare,
                    &mut changes,
                );
            }
        }
    }
    if a.is_dynamic_only {
        leave_out_defaults(&mut changes, &mut noise);
    }
    for (name, at) in only_a {
        // Of a cluster whose endpoints stand in the cluster itself there is no list to send.
        let is_inline = section == Section::Endpoints && !a.eds.contains(left[at].name.as_ref());
        if a.is_dynamic_only && is_inline {
            noise.count("endpoints of clusters that hold their own", &name);
            continue;
        }
        changes.push(resources::alone(
            section,
            &name,
            left[at],
            ChangeKind::Removed,
        ));
    }
    changes.extend(
        only_b
            .into_iter()
            .map(|(name, at)| resources::alone(section, &name, right[at], ChangeKind::Added)),
    );
    diff.noise.absorb(noise);
    diff.changes.extend(changes);
}

/// Envoy writes out what istiod leaves to it.
fn leave_out_defaults(changes: &mut Vec<DiffChange>, noise: &mut Noise) {
    for change in &mut *changes {
        change.edits.retain(|edit| {
            let is_default = is_written_default(edit);
            if is_default {
                noise.count("defaults that Envoy writes out", &edit.path);
            }
            !is_default
        });
    }
    changes.retain(|change| change.what != ChangeKind::Changed || !change.edits.is_empty());
}

fn is_written_default(edit: &DiffEdit) -> bool {
    let only = match (&edit.old, &edit.new) {
        (Some(only), None) | (None, Some(only)) => only.as_str(),
        _ => return false,
    };
    match edit.path.rsplit('/').next() {
        Some("health_check_config") => only == "{}",
        // "UNKNOWN: … interpreted by Envoy as HEALTHY"
        Some("health_status") => only == r#""HEALTHY""#,
        // "If not specified, the default is 140": cluster load assignments' policy.
        Some("policy") => only == r#"{"overprovisioning_factor":140}"#,
        _ => false,
    }
}

/// What is not compared, and why.
type Aside<'o, 'd> = (&'static str, &'o Resource<'d>);

/// What both sides have alike is no difference, not even an expected one.
fn left_aside(a: &[Aside<'_, '_>], b: &[Aside<'_, '_>], noise: &mut Noise) {
    let mut surplus: BTreeMap<(&'static str, &str, Option<&str>), isize> = BTreeMap::new();
    for (side, by) in [(a, 1), (b, -1)] {
        for (why, resource) in side {
            *surplus
                .entry((why, &resource.name, resource.raw.map(Raw::text)))
                .or_default() += by;
        }
    }
    for ((why, name, _), count) in surplus {
        for _ in 0..count.unsigned_abs() {
            noise.count(why, name);
        }
    }
}

fn is_same(a: &Resource<'_>, b: &Resource<'_>) -> bool {
    match (a.raw, b.raw) {
        (Some(left), Some(right)) => left.text() == right.text(),
        (left, right) => left.is_none() && right.is_none(),
    }
}

/// One side may still wait for a resource, or may have refused its last update.
fn state(
    section: Section,
    name: &str,
    a: &Resource<'_>,
    b: &Resource<'_>,
    changes: &mut Vec<DiffChange>,
) {
    let says = |resource: &Resource<'_>| {
        let refused = resource
            .error
            .as_ref()
            .map(|error| format!(", last update refused: {}", error.details));
        format!("{}{}", resource.state.word(), refused.unwrap_or_default())
    };
    let (old, new) = (says(a), says(b));
    if old != new {
        let at = (Some(a.entry.offset()), Some(b.entry.offset()));
        let path = "/state".to_owned();
        let means = Some(meaning::state(a, b));
        let edits = vec![DiffEdit {
            what: ChangeKind::Changed,
            path,
            old: Some(old),
            new: Some(new),
            at,
        }];
        changes.push(DiffChange {
            means,
            edits,
            ..resources::change(ChangeKind::Changed, section, name)
        });
    }
}

impl<'d> Open<'d> {
    /// What is in use, or would be: of several states of one resource the one that counts. And what
    /// is not compared, with the reason.
    fn resources(&self, section: Section) -> (Vec<&Resource<'d>>, Vec<Aside<'_, 'd>>) {
        let (mut found, mut aside) = (Vec::new(), Vec::new());
        for resource in self.dump.of(section) {
            match resource.state {
                ResourceState::Draining => aside.push(("listeners on their way out", resource)),
                _ if section == Section::Endpoints && self.is_made_by_traffic(&resource.name) => {
                    aside.push(("endpoints that traffic makes", resource));
                }
                // Inline route configurations stand in their listeners too.
                ResourceState::Static if self.is_dynamic_only || section == Section::Routes => {}
                _ => found.push(resource),
            }
        }
        (found, aside)
    }

    /// Whether the endpoints of a cluster come and go with connections: those of `ORIGINAL_DST`.
    fn is_made_by_traffic(&self, cluster: &str) -> bool {
        self.original_dst.contains(cluster)
    }

    fn keys(&self, resources: &[&Resource<'_>]) -> Vec<String> {
        resources
            .iter()
            .map(|resource| self.names.neutral(&resource.name).into_owned())
            .collect()
    }
}

/// Of the bootstrap only what decides something: versions, the proxy's own settings, where istiod
/// is.
fn bootstrap(a: &Open<'_>, b: &Open<'_>, diff: &mut Diff) {
    let node = |open: &Open<'_>| {
        let section = open.dump.section(Section::Bootstrap)?;
        Node::from_json(section.get("bootstrap")?).ok()
    };
    let (Some(left), Some(right)) = (node(a), node(b)) else {
        return;
    };
    diff.compared += 1;
    let mut edits = Vec::new();
    let mut compare = Compare {
        a: &a.names,
        b: &b.names,
        noise: &mut diff.noise,
    };
    compare.nodes("", &left, &right, &mut edits);
    let (own, edits): (Vec<_>, Vec<_>) = edits.into_iter().partition(|edit| is_own(&edit.path));
    for edit in own {
        diff.noise.add(
            "who the proxy is",
            &edit.path,
            &edit.old.unwrap_or_default(),
            &edit.new.unwrap_or_default(),
        );
    }
    if !edits.is_empty() {
        let means = meaning::bootstrap(&edits);
        let change = resources::change(ChangeKind::Changed, Section::Bootstrap, "bootstrap");
        diff.changes.push(DiffChange {
            means,
            edits,
            ..change
        });
    }
}

/// What the node says of itself: it must differ between pods and workloads.
fn is_own(path: &str) -> bool {
    const DECIDES: [&str; 4] = [
        "/node/metadata/ISTIO_VERSION",
        "/node/metadata/PROXY_CONFIG",
        "/node/metadata/MESH_ID",
        "/node/metadata/NETWORK",
    ];
    let says = path.starts_with("/node/")
        || path.starts_with("/stats_config")
        || path.contains("request_headers");
    says && !DECIDES.iter().any(|decides| path.starts_with(decides))
}
