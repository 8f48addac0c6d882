//! `proxy-status`: every istiod's view of every proxy.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use meshladder_capture::Kind;
use meshladder_capture::istiod::syncz;
use meshladder_capture::object;
use meshladder_capture::snapshot::{Coverage, Document, Need, Part, Problem, Snapshot};
use meshladder_mesh::views::pod::{has_proxy, phase};
use meshladder_output::tables::status::{self, ProxyStatusRow};
use meshladder_output::yaml;
use meshladder_text::json::Raw;
use meshladder_text::tree::Node;

use super::{live, source};
use crate::args::{Global, ProxyStatus, StatusOutput};
use crate::exit::{FINDINGS, Failure, ISTIOCTL_ERROR, Outcome, UNREADABLE};
use crate::out;

const RIGHTS: &str = "`meshladder rbac --for proxy-status` prints the rights it needs";

pub(super) fn run(global: &Global, args: &ProxyStatus) -> Outcome {
    let snapshot = if global.source.is_empty() {
        live::status(global)?
    } else {
        source::snapshot(global)?
    };
    print(&snapshot, live::namespace(global), args)
}

pub(super) fn print(snapshot: &Snapshot, namespace: Option<&str>, args: &ProxyStatus) -> Outcome {
    // One istiod whose answer is broken does not hide the others.
    let mut problems = Vec::new();
    let documents = answers(snapshot, &mut problems)?;
    let pods = Pods::read(snapshot);
    let mut rows = Vec::new();
    for (istiod, document) in &documents {
        let revision = pods.revisions.get(istiod).cloned().unwrap_or_default();
        // An istiod whose revision nobody knows may be of any.
        if args
            .revision
            .as_ref()
            .is_some_and(|wanted| !revision.is_empty() && *wanted != revision)
        {
            continue;
        }
        match syncz::read(&document.text) {
            Ok((connections, fault)) => {
                let row = |connection| ProxyStatusRow {
                    istiod: istiod.told(),
                    revision: revision.clone(),
                    connection,
                };
                rows.extend(
                    connections
                        .into_iter()
                        .map(|connection| (istiod.source.clone(), row(connection))),
                );
                problems.extend(fault.map(|fault| document.problem(&fault)));
            }
            Err(fault) => problems.push(document.problem(&fault)),
        }
    }
    let connected: BTreeSet<(String, String)> = rows
        .iter()
        .map(|(source, row)| (source.clone(), row.connection.proxy.to_string()))
        .collect();
    let rows = status::select(rows.into_iter().map(|(_, row)| row).collect(), namespace);
    write(&rows, snapshot, args)?;
    for problem in problems.iter().chain(&pods.problems) {
        out::warn(&problem.to_string());
    }
    tell_rejections(&rows);
    tell_why_none(&rows, &connected, &pods, args);
    let unconnected = if args.revision.is_none() {
        pods.unconnected(&connected, namespace)
    } else {
        Vec::new()
    };
    tell_unconnected(&unconnected, snapshot);
    Ok(match (problems.is_empty(), unconnected.is_empty()) {
        (false, _) => UNREADABLE,
        (true, false) => FINDINGS,
        (true, true) => 0,
    })
}

/// An empty table says nothing: name what there is.
fn tell_why_none(
    rows: &[ProxyStatusRow<'_>],
    connected: &BTreeSet<(String, String)>,
    pods: &Pods,
    args: &ProxyStatus,
) {
    if !rows.is_empty() {
        return;
    }
    let revisions: BTreeSet<&str> = pods.revisions.values().map(String::as_str).collect();
    let namespaces: BTreeSet<&str> = connected
        .iter()
        .map(|(_, proxy)| status::namespace_of(proxy))
        .collect();
    if args.revision.is_some() && connected.is_empty() {
        let known: Vec<_> = revisions.into_iter().collect();
        out::note(&format!(
            "no proxy of that revision; the istiods here are of {}",
            known.join(", ")
        ));
    } else if !namespaces.is_empty() {
        let known: Vec<_> = namespaces.into_iter().collect();
        out::note(&format!(
            "no proxy in that namespace; there are some in {}",
            known.join(", ")
        ));
    }
}

fn write(
    rows: &[ProxyStatusRow<'_>],
    snapshot: &Snapshot,
    args: &ProxyStatus,
) -> Result<(), Failure> {
    let now = snapshot.taken_at();
    let mut out = out::stdout();
    match args.output {
        StatusOutput::Json => writeln!(out, "{}", status::to_json(rows))?,
        StatusOutput::Yaml => {
            let json = status::to_json(rows);
            let tree = Raw::of(&json)
                .and_then(Node::from_json)
                .expect("what we wrote is JSON");
            write!(out, "{}", yaml::text(&tree))?;
        }
        StatusOutput::Table if args.verbosity > 0 => {
            write!(out, "{}", status::verbose_table(rows, now))?;
        }
        StatusOutput::Table => write!(out, "{}", status::table(rows, now, false))?,
        StatusOutput::Wide => write!(out, "{}", status::table(rows, now, true))?,
    }
    Ok(out.flush()?)
}

/// The revision of each istiod, by source and pod.
pub(super) fn revisions(snapshot: &Snapshot) -> BTreeMap<(String, String), String> {
    let pods = Pods::read(snapshot);
    let named = |(istiod, revision): (Istiod, String)| ((istiod.source, istiod.pod), revision);
    pods.revisions.into_iter().map(named).collect()
}

/// An istiod's pod, and the source it was seen in when there are several.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Istiod {
    source: String,
    pod: String,
}

impl Istiod {
    fn told(&self) -> String {
        if self.source.is_empty() {
            self.pod.clone()
        } else {
            format!("{}:{}", self.source, self.pod)
        }
    }
}

/// Every istiod's answer; `problems` takes those that can no longer be read.
fn answers(
    snapshot: &Snapshot,
    problems: &mut Vec<Problem>,
) -> Result<Vec<(Istiod, Document)>, Failure> {
    let mut documents = Vec::new();
    for id in snapshot.ids() {
        let (source, path) = id.split();
        let Some(pod) = path
            .strip_prefix("istiod/")
            .and_then(|rest| rest.strip_suffix("/debug/syncz.json"))
        else {
            continue;
        };
        match snapshot.open(id) {
            Ok(document) => documents.push((
                Istiod {
                    source: source.to_owned(),
                    pod: pod.to_owned(),
                },
                document,
            )),
            Err(problem) => problems.push(problem),
        }
    }
    if documents.is_empty() && problems.is_empty() {
        let coverage = snapshot.coverage(&Need::Part(Part::Istiod));
        let why = coverage
            .why()
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        if let Coverage::Denied(why) = coverage {
            return Err(
                Failure::new(ISTIOCTL_ERROR, format!("no istiod could be asked: {why}"))
                    .hint(RIGHTS),
            );
        }
        let hint = "a bundle has istiod/<pod>/debug/syncz.json; a bug-report has istio/<namespace>/<pod>/debug/syncz";
        let what = format!("the source has no answer of an istiod to /debug/syncz{why}");
        return Err(Failure::new(ISTIOCTL_ERROR, what).hint(hint));
    }
    Ok(documents)
}

/// The words of a proxy that refused its configuration, which istioctl receives and never prints.
fn tell_rejections(rows: &[ProxyStatusRow<'_>]) {
    for row in rows {
        for (url, watch) in &row.connection.types {
            if watch.sync() == syncz::SyncStatus::Error {
                out::warn(&format!(
                    "{} refused {}: {}",
                    row.connection.proxy,
                    syncz::short_type(url),
                    watch.last_error.trim()
                ));
            }
        }
    }
}

/// What the objects say of pods, where the source has them.
#[derive(Default)]
struct Pods {
    /// An istiod pod's revision.
    revisions: BTreeMap<Istiod, String>,
    /// Source and `pod.namespace` of running pods that have a proxy.
    with_proxy: BTreeSet<(String, String)>,
    problems: Vec<Problem>,
}

impl Pods {
    fn read(snapshot: &Snapshot) -> Self {
        let mut pods = Self::default();
        let problems = object::each(snapshot, |object| {
            if !object.is(Kind::Pod) {
                return;
            }
            let labels = object.node.at(["metadata", "labels"]);
            let label = |key| labels.and_then(|labels| labels.str_at(key));
            let source = object.source.to_owned();
            if label("app") == Some("istiod") {
                let istiod = Istiod {
                    source,
                    pod: object.name().to_owned(),
                };
                pods.revisions.insert(
                    istiod,
                    label("istio.io/rev").unwrap_or("default").to_owned(),
                );
            } else if has_proxy(object.node) && phase(object.node) == "Running" {
                pods.with_proxy
                    .insert((source, format!("{}.{}", object.name(), object.namespace())));
            }
        });
        pods.problems = problems;
        pods
    }

    /// A pod whose proxy no istiod knows has no row to see, and is the one to look at.
    fn unconnected(
        &self,
        connected: &BTreeSet<(String, String)>,
        namespace: Option<&str>,
    ) -> Vec<&str> {
        let mut proxies = Vec::new();
        for pod in &self.with_proxy {
            let (_, proxy) = pod;
            let is_in_scope = namespace.is_none_or(|wanted| status::namespace_of(proxy) == wanted);
            if is_in_scope && !connected.contains(pod) {
                proxies.push(proxy.as_str());
            }
        }
        proxies
    }
}

fn tell_unconnected(proxies: &[&str], snapshot: &Snapshot) {
    if !proxies.is_empty() {
        out::warn(&format!(
            "running a proxy, but connected to no istiod: {}",
            proxies.join(", ")
        ));
    }
    if let Some(why) = snapshot.coverage(&Need::Objects(Kind::Pod)).why() {
        out::note(&format!(
            "not all pods were read, so a proxy that is connected to no istiod may be missing here: {why}"
        ));
    }
}
