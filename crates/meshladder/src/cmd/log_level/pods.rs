//! Which pods are meant.

use std::collections::BTreeMap;

use meshladder_capture::Kind;
use meshladder_capture::envoy::logging::DefaultLevels;
use meshladder_capture::object;
use meshladder_capture::snapshot::{Coverage, Need, ProxyRef, Snapshot};
use meshladder_collect::live::{Choice, Purpose, Session};
use meshladder_mesh::target::Target;
use meshladder_text::tree::Node;

use crate::args::Global;
use crate::cmd::live;
use crate::exit::{Failure, INTERRUPTED, UNREADABLE};
use crate::out;

/// A connected cluster and the pods that are meant.
pub(in crate::cmd) struct PodSelection {
    pub(in crate::cmd) session: Session,
    pub(in crate::cmd) snapshot: Snapshot,
    pub(in crate::cmd) pods: Vec<ProxyRef>,
    defaults: BTreeMap<ProxyRef, DefaultLevels>,
}

impl PodSelection {
    /// The levels that a pod's proxy starts with.
    pub(in crate::cmd) fn defaults(&self, pod: &ProxyRef) -> DefaultLevels {
        self.defaults.get(pod).cloned().unwrap_or_default()
    }
}

/// Finds the pods of all targets; without any those of the namespace, or with -A all. With `whole`
/// the pods themselves are read even where their names would do.
pub(in crate::cmd) fn find(
    mut session: Session,
    global: &Global,
    texts: &[String],
    whole: bool,
) -> Result<PodSelection, Failure> {
    let namespace = global
        .namespace
        .clone()
        .unwrap_or_else(|| session.namespace().to_owned());
    let pods = Need::Objects(Kind::Pod);
    let more = if whole || texts.is_empty() {
        vec![pods]
    } else {
        Vec::new()
    };
    let snapshot = read(&mut session, global, texts, &namespace, &more)?;
    if session.is_interrupted() {
        return Err(Failure::new(INTERRUPTED, "interrupted"));
    }
    let mut pods = Vec::new();
    for target in parsed(texts, &namespace)? {
        pods.extend(running(&session, &snapshot, &target)?);
    }
    if texts.is_empty() {
        let choice = if global.all_namespaces {
            Choice::All
        } else {
            Choice::Sample(usize::MAX, Some(namespace.clone()))
        };
        pods = session.chosen(&choice);
        if let Some(why) = snapshot.coverage(&Need::Objects(Kind::Pod)).why() {
            out::warn(&format!("not all pods could be listed: {why}"));
        }
    }
    pods.sort();
    pods.dedup();
    if pods.is_empty() && texts.is_empty() {
        let place = if global.all_namespaces {
            "any namespace".to_owned()
        } else {
            format!("namespace `{namespace}`")
        };
        return Err(Failure::new(
            UNREADABLE,
            format!("no running proxy in {place}"),
        ));
    }
    let defaults = defaults(&snapshot);
    Ok(PodSelection {
        session,
        snapshot,
        pods,
        defaults,
    })
}

/// The objects that the targets are found by, which is none for pods, and `more`.
pub(in crate::cmd) fn read(
    session: &mut Session,
    global: &Global,
    texts: &[String],
    namespace: &str,
    more: &[Need],
) -> Result<Snapshot, Failure> {
    let targets = parsed(texts, namespace)?;
    let mut wish = live::wish(global, Purpose::LogLevel, None);
    let places: Vec<Option<&str>> = targets.iter().map(Target::namespace).collect();
    wish.only = match places.first() {
        Some(first) if places.iter().all(|place| place == first) => first.map(str::to_owned),
        Some(_) => None,
        None => (!global.all_namespaces).then(|| namespace.to_owned()),
    };
    if targets.iter().all(Target::is_pod) {
        wish.needs.clear();
    }
    wish.needs.extend(more.iter().cloned());
    Ok(session.objects(&wish)?)
}

pub(in crate::cmd) fn parsed(texts: &[String], namespace: &str) -> Result<Vec<Target>, Failure> {
    let targets = texts
        .iter()
        .map(|text| Target::parse(text, Some(namespace)));
    targets
        .collect::<Result<_, _>>()
        .map_err(|why| Failure::new(UNREADABLE, why))
}

/// The pods of a target whose proxy runs.
pub(in crate::cmd) fn running(
    session: &Session,
    snapshot: &Snapshot,
    target: &Target,
) -> Result<Vec<ProxyRef>, Failure> {
    let pods = session.chosen(&Choice::These(target.candidates(snapshot)));
    if !pods.is_empty() {
        return Ok(pods);
    }
    let failure = Failure::new(UNREADABLE, format!("no running proxy for {target}"));
    Err(match snapshot.coverage(&Need::Objects(Kind::Pod)) {
        Coverage::Denied(why) | Coverage::Partial(why) | Coverage::Lost(why)
            if !target.is_pod() =>
        {
            failure.hint(why)
        }
        _ => failure,
    })
}

/// What each pod's proxy starts with.
fn defaults(snapshot: &Snapshot) -> BTreeMap<ProxyRef, DefaultLevels> {
    let mut all = BTreeMap::new();
    each_pod(snapshot, |pod, node| {
        drop(all.insert(pod, DefaultLevels::of_pod(node)));
    });
    all
}

/// Every pod that was read.
pub(in crate::cmd) fn each_pod(snapshot: &Snapshot, mut take: impl FnMut(ProxyRef, &Node)) {
    object::each(snapshot, |object| {
        if object.is(Kind::Pod) {
            let own = |text: &str| text.to_owned();
            let (namespace, pod) = (own(object.namespace()), own(object.name()));
            take(
                ProxyRef {
                    source: own(object.source),
                    namespace,
                    pod,
                },
                object.node,
            );
        }
    });
}
