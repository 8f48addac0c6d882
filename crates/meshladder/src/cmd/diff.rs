//! `diff`: two proxies, two captures, a proxy and istiod's view of it, or the replicas of a workload.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use meshladder_core::diff::{self, Diff, Names, Odd, Side};
use meshladder_core::mesh::Mesh;
use meshladder_core::render::diff::{to_html, to_json, to_markdown, to_text};
use meshladder_core::snapshot::{DocId, Document, ProxyRef, Shape, Snapshot};
use meshladder_core::target::{self, Target};

use super::{ladder::paint, source};
use crate::args::Global;
use crate::args::diff::{Diff as Args, DiffOutput};
use crate::exit::{Failure, Outcome, UNREADABLE, USAGE};
use crate::out;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let Some(b) = &args.b else { return siblings(global, args) };
    let operands = (Operand::read(&args.a, global)?, Operand::read(b, global)?);
    let diff = match operands {
        (Operand::Capture(a), Operand::Capture(b)) => {
            let (left, right) = (Mesh::build(&a), Mesh::build(&b));
            diff::meshes((&a, &left), (&b, &right), (&args.a, args.b.as_deref().unwrap_or_default()))
        }
        (a, b) => proxies(&a, &b, args, global)?,
    };
    print(global, args, &diff)?;
    Ok(u8::from(!diff.is_empty()))
}

/// What A or B may be.
enum Operand {
    /// A dump of its own.
    Dump(Snapshot, ProxyRef),
    /// A whole capture.
    Capture(Snapshot),
    /// Something inside what -s names.
    Inside(String),
    /// What istiod would send to the other one.
    Istiod,
}

impl Operand {
    fn read(text: &str, global: &Global) -> Result<Self, Failure> {
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
struct Opened {
    name: String,
    document: Document,
    names: Arc<Names>,
    is_same_mesh: bool,
    is_istiods: bool,
}

impl Opened {
    fn side(&self) -> Side<'_> {
        Side {
            name: self.name.clone(),
            doc: self.document.id.clone(),
            text: &self.document.text,
            names: Arc::clone(&self.names),
            is_same_mesh: self.is_same_mesh,
            is_istiods: self.is_istiods,
        }
    }
}

fn proxies(a: &Operand, b: &Operand, args: &Args, global: &Global) -> Result<Diff, Failure> {
    let is_same_mesh = !matches!((a, b), (Operand::Dump(..), _) | (_, Operand::Dump(..)));
    let inside = match (a, b) {
        (Operand::Dump(..), Operand::Dump(..)) => None,
        (Operand::Capture(_), _) | (_, Operand::Capture(_)) => {
            let message = "a capture can only be compared with another capture";
            return Err(Failure::new(USAGE, message).hint("to look into it, name it with -s and a pod as A"));
        }
        _ => Some(source::named(global, None, USAGE)?),
    };
    let open = |operand: &Operand, other: &Operand| -> Result<Opened, Failure> {
        let (snapshot, proxy) = match (operand, &inside) {
            (Operand::Dump(snapshot, proxy), _) => (snapshot, proxy.clone()),
            (Operand::Inside(text), Some(inside)) => (inside, find(inside, text, global)?),
            (Operand::Istiod, Some(inside)) => return istiods(inside, other, global),
            _ => return Err(Failure::new(USAGE, "istiod's view of what? name a pod as the other one")),
        };
        let document = source::document(snapshot, &proxy, Shape::ConfigDump)?;
        Ok(Opened { name: proxy.to_string(), document, names: Arc::default(), is_same_mesh, is_istiods: false })
    };
    let (left, right) = (open(a, b)?, open(b, a)?);
    let mut diff = diff::proxies(&left.side(), &right.side()).map_err(|why| Failure::new(UNREADABLE, why))?;
    if matches!((a, b), (Operand::Dump(..), Operand::Dump(..))) {
        // Both may be dumps of one pod: only the files tell them apart.
        diff.a.clone_from(&args.a);
        diff.b = args.b.clone().unwrap_or_default();
    }
    Ok(diff)
}

fn find(snapshot: &Snapshot, text: &str, global: &Global) -> Result<ProxyRef, Failure> {
    match text.strip_prefix("revision/") {
        Some(revision) => of_revision(snapshot, revision),
        // Here 1 means that two things differ.
        None => source::find(snapshot, text, global.namespace.as_deref(), Shape::ConfigDump)
            .map_err(|failure| failure.with_code(UNREADABLE)),
    }
}

/// A proxy that a revision's injector made.
fn of_revision(snapshot: &Snapshot, revision: &str) -> Result<ProxyRef, Failure> {
    let mesh = Mesh::build(snapshot);
    let is = |proxy: &ProxyRef| {
        let pod = mesh.objects.get("Pod", &proxy.namespace, &proxy.pod);
        pod.is_some_and(|pod| pod.label("istio.io/rev") == Some(revision))
    };
    let found = snapshot.proxies_with(Shape::ConfigDump).map(|(proxy, _)| proxy).find(is);
    let found =
        found.ok_or_else(|| Failure::new(UNREADABLE, format!("no proxy of revision `{revision}` has a dump")))?;
    out::note(&format!("revision {revision}: this is {found}"));
    Ok(found)
}

/// `istiod/<pod>/debug/config_dump/<proxy>.json`
fn istiods(snapshot: &Snapshot, other: &Operand, global: &Global) -> Result<Opened, Failure> {
    let Operand::Inside(text) = other else {
        return Err(Failure::new(USAGE, "istiod's view of what? name a pod as the other one"));
    };
    let proxy = find(snapshot, text, global)?;
    let names = [format!("{proxy}.json"), format!("{}.{}.json", proxy.namespace, proxy.pod)];
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
    let document = snapshot.open(id).map_err(|problem| Failure::new(UNREADABLE, problem.to_string()))?;
    let name = format!("istiod's view of {proxy}");
    Ok(Opened { name, document, names: Arc::default(), is_same_mesh: true, is_istiods: true })
}

/// The replicas of a workload: who is the odd one out.
fn siblings(global: &Global, args: &Args) -> Outcome {
    let snapshot = source::named(global, None, USAGE)?;
    let target = Target::parse(&args.a, global.namespace.as_deref()).map_err(|why| Failure::new(USAGE, why))?;
    let found = target.resolve(&snapshot, Shape::ConfigDump).map_err(|why| Failure::new(UNREADABLE, why))?;
    let all: Vec<ProxyRef> = std::iter::once(found.proxy).chain(found.others).collect();
    if let [only] = all.as_slice() {
        return Err(
            Failure::new(USAGE, format!("{only} has no sibling to compare with")).hint("name a second one as B")
        );
    }
    let opened: Vec<Opened> = all.iter().map(|proxy| replica(&snapshot, proxy)).collect::<Result<_, _>>()?;
    let sides: Vec<Side<'_>> = opened.iter().map(Opened::side).collect();
    let (alike, odd) = diff::odd_ones(&sides).map_err(|why| Failure::new(UNREADABLE, why))?;
    if odd.is_empty() {
        print(global, args, &alike)?;
    }
    for Odd { like, diff } in &odd {
        let others = if alike.b.is_empty() { alike.a.clone() } else { format!("{}, {}", alike.a, alike.b) };
        out::note(&format!("the odd one out is {}; {others} are alike", like.join(", ")));
        print(global, args, diff)?;
    }
    Ok(u8::from(!odd.is_empty()))
}

fn replica(snapshot: &Snapshot, proxy: &ProxyRef) -> Result<Opened, Failure> {
    let document = source::document(snapshot, proxy, Shape::ConfigDump)?;
    Ok(Opened { name: proxy.to_string(), document, names: Arc::default(), is_same_mesh: true, is_istiods: false })
}

fn print(global: &Global, args: &Args, diff: &Diff) -> Result<(), Failure> {
    let mut stdout = out::stdout();
    match args.output {
        DiffOutput::Json => writeln!(stdout, "{}", to_json(diff, args.show_noise))?,
        DiffOutput::Markdown => write!(stdout, "{}", to_markdown(diff, args.show_noise))?,
        DiffOutput::Html => write!(stdout, "{}", to_html(diff, args.show_noise))?,
        DiffOutput::Text => write!(stdout, "{}", to_text(diff, paint(global, args.verbose), args.show_noise))?,
    }
    Ok(stdout.flush()?)
}
