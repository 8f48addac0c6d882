//! `proxy-status`: every istiod's view of every proxy.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use meshladder_core::doc::json::Raw;
use meshladder_core::doc::tree::Node;
use meshladder_core::istiod::syncz;
use meshladder_core::model::object;
use meshladder_core::model::pod::Pod;
use meshladder_core::render::yaml;
use meshladder_core::snapshot::{Document, Need, Snapshot};
use meshladder_core::tables::status::{self, Row};

use super::source;
use crate::args::{Global, ProxyStatus, StatusOutput};
use crate::exit::{Failure, ISTIOCTL_ERROR, Outcome, UNREADABLE};
use crate::out;

pub(super) fn run(global: &Global, args: &ProxyStatus) -> Outcome {
    let snapshot = source::snapshot(global)?;
    print(&snapshot, global.namespace.as_deref(), args)
}

pub(super) fn print(snapshot: &Snapshot, namespace: Option<&str>, args: &ProxyStatus) -> Outcome {
    let documents = answers(snapshot)?;
    let pods = Pods::read(snapshot);
    let mut code = 0;
    let mut rows = Vec::new();
    for (istiod, document) in &documents {
        let revision = pods.revisions.get(istiod).cloned().unwrap_or_default();
        if args.revision.as_ref().is_some_and(|wanted| *wanted != revision) {
            continue;
        }
        // One istiod whose answer is broken does not hide the others.
        match syncz::read(&document.text) {
            Ok((connections, fault)) => {
                rows.extend(connections.into_iter().map(|connection| Row {
                    istiod: istiod.clone(),
                    revision: revision.clone(),
                    connection,
                }));
                if let Some(fault) = fault {
                    out::warn(&document.problem(&fault).to_string());
                    code = UNREADABLE;
                }
            }
            Err(fault) => {
                out::warn(&document.problem(&fault).to_string());
                code = UNREADABLE;
            }
        }
    }
    let connected: BTreeSet<String> = rows.iter().map(|row| row.connection.proxy.to_string()).collect();
    let rows = status::select(rows, namespace);
    write(&rows, snapshot, args)?;
    tell_rejections(&rows);
    if args.revision.is_none() {
        pods.tell_unconnected(&connected, namespace);
    }
    Ok(code)
}

fn write(rows: &[Row<'_>], snapshot: &Snapshot, args: &ProxyStatus) -> Result<(), Failure> {
    let now = snapshot.taken_at();
    let mut out = out::stdout();
    match args.output {
        StatusOutput::Json => writeln!(out, "{}", status::to_json(rows))?,
        StatusOutput::Yaml => {
            let json = status::to_json(rows);
            let tree = Raw::of(&json).and_then(Node::from_json).expect("what we wrote is JSON");
            write!(out, "{}", yaml::text(&tree))?;
        }
        StatusOutput::Table if args.verbosity > 0 => write!(out, "{}", status::verbose_table(rows, now))?,
        StatusOutput::Table => write!(out, "{}", status::table(rows, now, false))?,
        StatusOutput::Wide => write!(out, "{}", status::table(rows, now, true))?,
    }
    Ok(out.flush()?)
}

/// Every istiod's answer, by its pod.
fn answers(snapshot: &Snapshot) -> Result<Vec<(String, Document)>, Failure> {
    let mut documents = Vec::new();
    for id in snapshot.ids() {
        let (_, path) = id.split();
        let Some(istiod) = path.strip_prefix("istiod/").and_then(|rest| rest.strip_suffix("/debug/syncz.json")) else {
            continue;
        };
        let document = snapshot.open(id).map_err(|problem| Failure::new(UNREADABLE, problem.to_string()))?;
        documents.push((istiod.to_owned(), document));
    }
    if documents.is_empty() {
        let why = snapshot
            .coverage(&Need::Part("istiod/".to_owned()))
            .why()
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        let hint = "a bundle has istiod/<pod>/debug/syncz.json; a bug-report has istio/<namespace>/<pod>/debug/syncz";
        let what = format!("the source has no answer of an istiod to /debug/syncz{why}");
        return Err(Failure::new(ISTIOCTL_ERROR, what).hint(hint));
    }
    Ok(documents)
}

/// The words of a proxy that refused its configuration, which istioctl receives and never prints.
fn tell_rejections(rows: &[Row<'_>]) {
    for row in rows {
        for (url, watch) in &row.connection.types {
            if watch.sync() == syncz::Sync::Error {
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
    revisions: BTreeMap<String, String>,
    /// Running pods that have a proxy, as `pod.namespace`.
    with_proxy: BTreeSet<String>,
}

impl Pods {
    fn read(snapshot: &Snapshot) -> Self {
        let mut pods = Self::default();
        object::each(snapshot, |object| {
            let Some(pod) = Pod::of(object) else { return };
            let label = |key| pod.labels().and_then(|labels| labels.str_at(key));
            if label("app") == Some("istiod") {
                pods.revisions.insert(object.name().to_owned(), label("istio.io/rev").unwrap_or("default").to_owned());
            } else if pod.has_proxy() && pod.phase() == "Running" {
                pods.with_proxy.insert(format!("{}.{}", object.name(), object.namespace()));
            }
        });
        pods
    }

    /// A pod whose proxy no istiod knows has no row to see, and is the one to look at.
    fn tell_unconnected(&self, connected: &BTreeSet<String>, namespace: Option<&str>) {
        let in_scope = |proxy: &&String| namespace.is_none_or(|ns| status::namespace_of(proxy) == ns);
        let missing: Vec<_> = self.with_proxy.difference(connected).filter(in_scope).map(String::as_str).collect();
        if !missing.is_empty() {
            out::warn(&format!("running a proxy, but connected to no istiod: {}", missing.join(", ")));
        }
    }
}
