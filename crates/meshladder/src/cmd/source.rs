//! From flags to a Snapshot, and to the one document a listing reads.

use std::path::{Path, PathBuf};

use meshladder_capture::envoy::dump::Section;
use meshladder_capture::snapshot::{
    Coverage, DocId, Document, Need, Part, ProxyRef, Shape, Snapshot,
};
use meshladder_collect::{Options, Source};
use meshladder_mesh::Mesh;
use meshladder_mesh::target::{self, Target};

use super::live;
use crate::args::Global;
use crate::args::cluster::Reading;
use crate::args::proxy_config::From;
use crate::args::request::RequestFlags;
use crate::exit::{Failure, ISTIOCTL_ERROR, ISTIOCTL_USAGE, UNREADABLE};
use crate::out;
use crate::progress;

/// A proxy's document and the Snapshot it is part of.
pub(super) struct ProxyDocument {
    pub(super) snapshot: Snapshot,
    pub(super) proxy: ProxyRef,
    pub(super) document: Document,
}

/// The Snapshot of what `-s` names. What could not be read is told on stderr.
pub(super) fn snapshot(global: &Global) -> Result<Snapshot, Failure> {
    named(global, None, ISTIOCTL_USAGE)
}

/// The Snapshot to answer a question about a request from: what `-s` names, or of a cluster what
/// the request meets.
pub(super) fn for_request(
    global: &Global,
    flags: &RequestFlags,
    reading: &Reading,
    is_many: bool,
) -> Result<Snapshot, Failure> {
    if global.source.is_empty() {
        live::request(global, flags, None, reading, is_many)
    } else {
        snapshot(global)
    }
}

/// The Snapshot of what `-s` and an argument name. `usage` is the exit code when nothing
/// is named.
pub(super) fn named(
    global: &Global,
    path: Option<&PathBuf>,
    usage: u8,
) -> Result<Snapshot, Failure> {
    let paths: Vec<&PathBuf> = path.into_iter().chain(&global.source).collect();
    if paths.is_empty() {
        return Err(none_named(usage));
    }
    read(&paths, global)
}

pub(super) fn none_named(usage: u8) -> Failure {
    let hint = "name one with -s: a bundle, a bug-report, a directory, a config dump";
    Failure::new(usage, "no source to read").hint(hint)
}

pub(super) fn options(global: &Global) -> Options {
    let usual = Options::default();
    Options {
        max_size: global.max_size.unwrap_or(usual.max_size),
        max_memory: global.max_size.unwrap_or(usual.max_memory),
        ..usual
    }
}

pub(super) fn read(paths: &[&PathBuf], global: &Global) -> Result<Snapshot, Failure> {
    let snapshot = read_quietly(paths, global)?;
    for problem in snapshot.problems() {
        out::warn(&problem.to_string());
    }
    Ok(snapshot)
}

/// The mesh of a Snapshot. Objects that could not be read are told on stderr.
pub(super) fn mesh(snapshot: &Snapshot) -> Mesh {
    let mesh = Mesh::build(snapshot);
    for problem in &mesh.problems {
        if !snapshot.problems().contains(problem) {
            out::warn(&problem.to_string());
        }
    }
    mesh
}

/// Leaves it to the caller to tell what could not be read.
pub(super) fn read_quietly(paths: &[&PathBuf], global: &Global) -> Result<Snapshot, Failure> {
    let named: Vec<_> = paths.iter().map(|path| split_name(path)).collect();
    let sources: Vec<(Option<&str>, Source)> = named
        .iter()
        .map(|(name, path)| (name.as_deref(), Source::from(path.as_path())))
        .collect();
    let sources: Vec<_> = sources.iter().map(|(name, path)| (*name, path)).collect();
    let told: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    progress::start(format!("reading {}", told.join(", ")));
    Ok(meshladder_collect::open_named(&sources, &options(global))?)
}

/// `east=east.tar.gz` is the cluster east's; a path that is there as it stands has no name.
fn split_name(path: &Path) -> (Option<String>, PathBuf) {
    let whole = || (None, path.to_owned());
    let Some((name, rest)) = path.to_str().and_then(|text| text.split_once('=')) else {
        return whole();
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || rest.is_empty() || !name.chars().all(is_name) || path.exists() {
        return whole();
    }
    (Some(name.to_owned()), rest.into())
}

/// The document of that shape of the proxy that `from` means.
pub(super) fn open(global: &Global, from: &From, shape: Shape) -> Result<ProxyDocument, Failure> {
    open_after(global, from, shape, &[], |_| {})
}

/// The config dump of the proxy; of one that runs, only these sections are asked for.
pub(super) fn open_sections(
    global: &Global,
    from: &From,
    sections: &[Section],
) -> Result<ProxyDocument, Failure> {
    open_after(global, from, Shape::ConfigDump, sections, |_| {})
}

/// The document for a listing that needs to know when: the time is looked for before the document is
/// held, since it may have to read the same document.
pub(super) fn open_dated(
    global: &Global,
    from: &From,
    shape: Shape,
) -> Result<ProxyDocument, Failure> {
    open_after(global, from, shape, &[], |snapshot| {
        snapshot.taken_at();
    })
}

fn open_after(
    global: &Global,
    from: &From,
    shape: Shape,
    sections: &[Section],
    first: fn(&Snapshot),
) -> Result<ProxyDocument, Failure> {
    let (snapshot, namespace) = match &from.file {
        Some(file) => (read(&[file], global)?, global.namespace.clone()),
        None if global.source.is_empty() => {
            live::one_proxy(global, from, shape, sections).map(|(s, ns)| (s, Some(ns)))?
        }
        None => (snapshot(global)?, global.namespace.clone()),
    };
    let proxy = match &from.target {
        Some(target) => find(&snapshot, target, namespace.as_deref(), shape)?,
        None => {
            target::only_proxy(&snapshot, shape).ok_or_else(|| no_target(&snapshot, from, shape))?
        }
    };
    first(&snapshot);
    let document = document(&snapshot, &proxy, shape)?;
    Ok(ProxyDocument {
        snapshot,
        proxy,
        document,
    })
}

/// The proxy a target means; where a workload has several, the choice is told.
pub(super) fn find(
    snapshot: &Snapshot,
    text: &str,
    namespace: Option<&str>,
    shape: Shape,
) -> Result<ProxyRef, Failure> {
    let found = resolve(snapshot, text, namespace, shape)?;
    if !found.others.is_empty() {
        out::note(&format!(
            "{text} has {} proxies; this is {}",
            found.others.len() + 1,
            found.proxy
        ));
    }
    Ok(found.proxy)
}

/// Which proxy a target is, and how many others it could be.
pub(super) fn resolve(
    snapshot: &Snapshot,
    text: &str,
    namespace: Option<&str>,
    shape: Shape,
) -> Result<target::ProxyChoice, Failure> {
    let target = Target::parse(text, namespace).map_err(|why| Failure::new(ISTIOCTL_ERROR, why))?;
    target
        .resolve(snapshot, shape)
        .map_err(|why| not_there(snapshot, why))
}

/// In a source that is cut short, what is not there may still exist.
pub(super) fn not_there(snapshot: &Snapshot, why: String) -> Failure {
    match snapshot.coverage(&Need::Part(Part::Everything)) {
        Coverage::Partial(lost) | Coverage::Lost(lost) => {
            Failure::new(UNREADABLE, format!("in what could be read there is {why}")).hint(lost)
        }
        _ => match snapshot.coverage(&Need::Part(Part::Proxies)) {
            Coverage::Denied(lost) => Failure::new(ISTIOCTL_ERROR, lost)
                .hint("`meshladder rbac` prints the rights that a command needs"),
            Coverage::Partial(lost) | Coverage::Lost(lost) if is_live(snapshot) => {
                Failure::new(ISTIOCTL_ERROR, lost)
            }
            _ => Failure::new(ISTIOCTL_ERROR, why),
        },
    }
}

fn is_live(snapshot: &Snapshot) -> bool {
    snapshot
        .sources()
        .any(|(_, meta)| meta.is_some_and(|meta| meta.form == "cluster"))
}

pub(super) fn document(
    snapshot: &Snapshot,
    proxy: &ProxyRef,
    shape: Shape,
) -> Result<Document, Failure> {
    let id = find_document(snapshot, proxy, shape).ok_or_else(|| {
        Failure::new(
            UNREADABLE,
            format!("the source has no {} of {proxy}", shape.title()),
        )
    })?;
    let document = snapshot
        .open(id)
        .map_err(|problem| Failure::new(UNREADABLE, problem.to_string()))?;
    if let Some(problem) = &document.problem {
        out::warn(&problem.to_string());
    }
    Ok(document)
}

fn find_document<'s>(snapshot: &'s Snapshot, proxy: &ProxyRef, shape: Shape) -> Option<&'s DocId> {
    snapshot
        .proxies_with(shape)
        .find(|(p, _)| p == proxy)
        .map(|(_, id)| id)
}

fn no_target(snapshot: &Snapshot, from: &From, shape: Shape) -> Failure {
    let title = shape.title();
    let lacking = match (&from.file, snapshot.proxies_with(shape).count()) {
        (Some(file), 0) => Failure::new(UNREADABLE, format!("{} is no {title}", file.display())),
        (None, 0) => Failure::new(UNREADABLE, format!("the source has no {title}")),
        (_, n) => {
            let message = format!(
                "which of the {n} proxies? name one, such as {}",
                first(snapshot, shape)
            );
            return Failure::new(ISTIOCTL_ERROR, message);
        }
    };
    match how_to_get(shape) {
        Some(hint) => lacking.hint(hint),
        None => lacking,
    }
}

fn how_to_get(shape: Shape) -> Option<&'static str> {
    match shape {
        Shape::ConfigDump => Some(
            "kubectl exec POD -c istio-proxy -- pilot-agent request GET 'config_dump?include_eds' > config_dump.json",
        ),
        Shape::Clusters => Some(
            "kubectl exec POD -c istio-proxy -- pilot-agent request GET 'clusters?format=json' > clusters.json; a dump with EDS is listed by `pc eds`",
        ),
        Shape::Logging => {
            Some("kubectl exec POD -c istio-proxy -- pilot-agent request POST logging")
        }
        _ => None,
    }
}

fn first(snapshot: &Snapshot, shape: Shape) -> String {
    snapshot
        .proxies_with(shape)
        .next()
        .map(|(proxy, _)| proxy.to_string())
        .unwrap_or_default()
}
