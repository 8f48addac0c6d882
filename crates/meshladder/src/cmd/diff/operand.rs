//! What A and B may be.

use std::path::PathBuf;
use std::sync::Arc;

use meshladder_capture::envoy::spelling;
use meshladder_capture::snapshot::{DocId, Document, ProxyRef, Shape, Snapshot};
use meshladder_judge::diff::{self, CommonNames, Diff, ProxySide};
use meshladder_mesh::target;

use crate::args::Global;
use crate::args::diff::Diff as Args;
use crate::cmd::live::diff::Which;
use crate::cmd::{live, source};
use crate::exit::{Failure, UNREADABLE, USAGE};

/// See the module.
pub(super) enum Operand {
    /// A dump of its own.
    Dump(Snapshot, ProxyRef),
    /// A whole capture.
    Capture(Snapshot),
    /// Something inside what -s names, or inside the cluster.
    Inside(String),
    /// What istiod would send to the other one.
    Istiod,
}

impl Operand {
    pub(super) fn read(text: &str, global: &Global) -> Result<Self, Failure> {
        let path = PathBuf::from(text);
        if text == "istiod" {
            return Ok(Self::Istiod);
        }
        if text != "-" && !path.exists() {
            return Ok(Self::Inside(text.to_owned()));
        }
        let snapshot = source::read(&[&path], global)?;
        let has_objects = snapshot.ids().any(|id| id.shape() == Shape::Objects);
        match target::only_proxy(&snapshot, Shape::ConfigDump) {
            Some(proxy) if !has_objects => Ok(Self::Dump(snapshot, proxy)),
            _ => Ok(Self::Capture(snapshot)),
        }
    }
}

/// A document with the name its side goes by.
pub(super) struct SideDocument {
    name: String,
    document: Document,
    is_same_mesh: bool,
    is_istiods: bool,
}

impl SideDocument {
    pub(super) fn new(name: String, document: Document, is_same_mesh: bool) -> Self {
        Self {
            name,
            document,
            is_same_mesh,
            is_istiods: false,
        }
    }

    pub(super) fn side(&self) -> ProxySide<'_> {
        ProxySide {
            name: self.name.clone(),
            doc: self.document.id.clone(),
            text: &self.document.text,
            names: Arc::<CommonNames>::default(),
            is_same_mesh: self.is_same_mesh,
            is_istiods: self.is_istiods,
        }
    }
}

/// What -s names, or the cluster, and the namespace to look in.
struct SharedSource {
    snapshot: Snapshot,
    namespace: Option<String>,
}

impl SharedSource {
    fn read(a: &Operand, b: &Operand, global: &Global) -> Result<Option<Self>, Failure> {
        let texts: Vec<&str> = [a, b]
            .into_iter()
            .filter_map(|one| {
                if let Operand::Inside(text) = one {
                    Some(text.as_str())
                } else {
                    None
                }
            })
            .collect();
        if texts.is_empty() {
            return Ok(None);
        }
        if !global.source.is_empty() {
            let snapshot = source::named(global, None, USAGE)?;
            return Ok(Some(Self {
                snapshot,
                namespace: global.namespace.clone(),
            }));
        }
        let has_istiod = matches!((a, b), (Operand::Istiod, _) | (_, Operand::Istiod));
        let which = if has_istiod {
            Which::WithIstiods
        } else {
            Which::First
        };
        let (snapshot, namespace) = live::diff::dumps(global, &texts, which)
            .map_err(|failure| no_file(texts[0], failure))?;
        Ok(Some(Self {
            snapshot,
            namespace,
        }))
    }

    fn find(&self, text: &str) -> Result<ProxyRef, Failure> {
        find(&self.snapshot, text, self.namespace.as_deref())
    }
}

/// Where there is neither -s nor a cluster to look in, a file was meant.
fn no_file(text: &str, failure: Failure) -> Failure {
    if failure.code() != USAGE {
        return failure;
    }
    let message = format!("there is no file `{text}`, and {}", failure.message());
    failure.with_message(message)
}

/// How two proxies differ.
pub(super) fn proxies(
    a: &Operand,
    b: &Operand,
    args: &Args,
    global: &Global,
) -> Result<Diff, Failure> {
    if matches!(
        (a, b),
        (Operand::Capture(_), Operand::Dump(..) | Operand::Istiod)
    ) || matches!(
        (a, b),
        (Operand::Dump(..) | Operand::Istiod, Operand::Capture(_))
    ) {
        let message =
            "a capture can only be compared with another capture, or with a pod that is in it too";
        return Err(
            Failure::new(USAGE, message).hint("to look into it, name it with -s and a pod as A")
        );
    }
    let inside = SharedSource::read(a, b, global)?;
    let inside = inside.as_ref();
    let (mut left, mut right) = (open(a, b, inside)?, open(b, a, inside)?);
    let is_same_mesh = match (a, b) {
        (Operand::Inside(_) | Operand::Istiod, Operand::Inside(_) | Operand::Istiod) => true,
        _ => {
            is_same_pod(&left.proxy, &right.proxy)
                && (has_name_of_its_own(&left.proxy) || is_one_mesh(&left, &right))
        }
    };
    left.opened.is_same_mesh = is_same_mesh;
    right.opened.is_same_mesh = is_same_mesh;
    let (left, right) = (left.opened, right.opened);
    let mut diff =
        diff::proxies(&left.side(), &right.side()).map_err(|why| Failure::new(UNREADABLE, why))?;
    // Both may be dumps of one pod: only the files tell them apart.
    for (operand, text, name) in [
        (a, Some(&args.a), &mut diff.a),
        (b, args.b.as_ref(), &mut diff.b),
    ] {
        match (operand, text) {
            (Operand::Dump(..), Some(text)) => name.clone_from(text),
            (Operand::Capture(_), Some(text)) => name.extend([" in ", text]),
            _ => {}
        }
    }
    Ok(diff)
}

/// Whatever the sources are called.
fn is_same_pod(a: &ProxyRef, b: &ProxyRef) -> bool {
    (&a.namespace, &a.pod) == (&b.namespace, &b.pod)
}

/// Whether the roots that both trust are the same.
fn is_one_mesh(left: &OperandProxy, right: &OperandProxy) -> bool {
    diff::is_one_mesh(&left.opened.document.text, &right.opened.document.text)
}

/// A pod of a Deployment has a name that no other ever has, so who has it is of this mesh. That of
/// a StatefulSet may be in any.
fn has_name_of_its_own(proxy: &ProxyRef) -> bool {
    // What Kubernetes makes random names of: no vowels, and nothing that looks like another.
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let last = proxy.pod.rsplit('-').next().unwrap_or_default();
    last.len() == 5 && last.bytes().all(|byte| LETTERS.contains(&byte))
}

/// A side, and the proxy it is of.
struct OperandProxy {
    proxy: ProxyRef,
    opened: SideDocument,
}

fn open(
    operand: &Operand,
    other: &Operand,
    inside: Option<&SharedSource>,
) -> Result<OperandProxy, Failure> {
    let of_what = || Failure::new(USAGE, "istiod's view of what? name a pod as the other one");
    let (snapshot, proxy) = match (operand, other, inside) {
        (Operand::Dump(snapshot, proxy), ..) => (snapshot, proxy.clone()),
        (Operand::Inside(text), _, Some(inside)) => (&inside.snapshot, inside.find(text)?),
        (Operand::Istiod, Operand::Inside(text), Some(inside)) => return istiods(inside, text),
        (Operand::Capture(snapshot), Operand::Inside(text), Some(inside)) => {
            // The very same pod where it is still there, else what the same words mean.
            let same = inside.find(text)?;
            let is_there = snapshot
                .proxies_with(Shape::ConfigDump)
                .any(|(proxy, _)| is_same_pod(&same, &proxy));
            let namespace = Some(same.namespace.as_str());
            let text = if is_there { &same.pod } else { text };
            (snapshot, find(snapshot, text, namespace)?)
        }
        _ => return Err(of_what()),
    };
    let document = source::document(snapshot, &proxy, Shape::ConfigDump)?;
    Ok(OperandProxy {
        opened: SideDocument::new(proxy.to_string(), document, false),
        proxy,
    })
}

fn find(snapshot: &Snapshot, text: &str, namespace: Option<&str>) -> Result<ProxyRef, Failure> {
    // Here 1 means that two things differ.
    source::find(snapshot, text, namespace, Shape::ConfigDump)
        .map_err(|failure| failure.with_code(UNREADABLE))
}

/// `istiod/<pod>/debug/config_dump/<proxy>.json`
fn istiods(inside: &SharedSource, text: &str) -> Result<OperandProxy, Failure> {
    let snapshot = &inside.snapshot;
    // Which proxy it is was told when the other side was looked for.
    let found = source::resolve(
        snapshot,
        text,
        inside.namespace.as_deref(),
        Shape::ConfigDump,
    );
    let proxy = found
        .map_err(|failure| failure.with_code(UNREADABLE))?
        .proxy;
    let names = [
        format!("{}.{}.json", proxy.pod, proxy.namespace),
        format!("{}.{}.json", proxy.namespace, proxy.pod),
    ];
    let is = |id: &&DocId| {
        let file = id.as_str().rsplit('/').next().unwrap_or_default();
        id.shape() == Shape::IstiodDebug
            && id.as_str().contains("/config_dump/")
            && names.iter().any(|name| name == file)
    };
    let id = snapshot.ids().find(is).ok_or_else(|| {
        let hint = "istiod gives it at /debug/config_dump?proxyID=POD.NAMESPACE; a bundle keeps it as istiod/<pod>/debug/config_dump/<pod>.<namespace>.json";
        Failure::new(UNREADABLE, format!("the source has no view of istiod's on {proxy}")).hint(hint)
    })?;
    let mut document = snapshot
        .open(id)
        .map_err(|problem| Failure::new(UNREADABLE, problem.to_string()))?;
    document.text = Arc::new(spelling::with_proto_names(&document.text));
    let opened = SideDocument::new(format!("istiod's view of {proxy}"), document, true);
    Ok(OperandProxy {
        proxy,
        opened: SideDocument {
            is_istiods: true,
            ..opened
        },
    })
}
