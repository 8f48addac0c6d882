//! What a comparison looks at.

use meshladder_capture::snapshot::{Need, Part, ProxyRef, Shape, Snapshot};
use meshladder_collect::live::{Choice, ProxyWish, Purpose, Session};
use meshladder_judge::diff::pair_revisions;
use meshladder_judge::fleet::Fleet;
use meshladder_mesh::Mesh;
use meshladder_mesh::target::Target;

use super::{ADMIN, SAMPLE, connect, in_sources, of_documents, unless_interrupted, wish};
use crate::args::Global;
use crate::exit::{Failure, UNREADABLE, USAGE};
use crate::out;

/// Which proxies of a target are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cmd) enum Which {
    /// The best choice.
    First,
    /// The best choice, with what istiod would send to it.
    WithIstiods,
    /// All replicas.
    All,
}

/// The dumps of some targets. Also the namespace they were looked for in.
pub(in crate::cmd) fn dumps(
    global: &Global,
    texts: &[&str],
    which: Which,
) -> Result<(Snapshot, Option<String>), Failure> {
    let mut session = connect(global)?;
    let namespace = global
        .namespace
        .clone()
        .unwrap_or_else(|| session.namespace().to_owned());
    let parsed = texts
        .iter()
        .map(|text| Target::parse(text, Some(&namespace)))
        .collect::<Result<Vec<_>, _>>();
    let parsed = parsed.map_err(|why| Failure::new(USAGE, why))?;
    let mut wish = wish(global, Purpose::Diff, None);
    wish.only = parsed
        .first()
        .and_then(|target| target.namespace())
        .map(str::to_owned);
    if parsed
        .iter()
        .any(|target| target.namespace() != wish.only.as_deref())
    {
        wish.only = None;
    }
    let is_pods = parsed.iter().all(Target::is_pod);
    if which != Which::WithIstiods {
        // A pod is found by its name: nothing need be listed.
        wish.needs
            .retain(|need| !is_pods && *need != Need::Part(Part::Istiod));
    } else if is_pods {
        wish.needs = Purpose::ProxyStatus.needs();
        wish.only = Some(wish.istio_namespace.clone());
    }
    let snapshot = session.objects(&wish)?;
    let of = |target: &Target| {
        let all = target.candidates(&snapshot);
        let most = if which == Which::All { SAMPLE } else { 1 };
        if which == Which::All && all.len() > most {
            out::note(&format!("{} of {} replicas are compared", most, all.len()));
        }
        all.into_iter().take(most).collect::<Vec<_>>()
    };
    let pods: Vec<ProxyRef> = parsed.iter().flat_map(of).collect();
    let mut snapshot = read(&mut session, snapshot, pods.clone())?;
    if which == Which::WithIstiods {
        for pod in &pods {
            snapshot = view(&mut session, snapshot, pod)?;
        }
    }
    Ok((unless_interrupted(&session, snapshot)?, Some(namespace)))
}

/// The dumps of proxies that stand for two revisions.
pub(in crate::cmd) fn revisions(global: &Global, names: (&str, &str)) -> Result<Snapshot, Failure> {
    let mut session = connect(global)?;
    let mut wish = wish(global, Purpose::Diff, None);
    wish.needs.remove(&Need::Part(Part::Istiod));
    let snapshot = session.objects(&wish)?;
    let mesh = Mesh::build(&snapshot);
    let pairs =
        pair_revisions(&mesh, names, |_| true).map_err(|why| Failure::new(UNREADABLE, why))?;
    let most = SAMPLE / 2;
    if pairs.len() > most {
        out::note(&format!(
            "{most} of {} workloads that have proxies of both revisions are compared",
            pairs.len()
        ));
    }
    let pods = pairs
        .into_iter()
        .take(most)
        .flat_map(|pair| [pair.a, pair.b]);
    let pods = in_sources(
        &snapshot,
        pods.map(|pod| (pod.namespace.into(), pod.name.into())),
    );
    let snapshot = read(&mut session, snapshot, pods)?;
    unless_interrupted(&session, snapshot)
}

fn read(
    session: &mut Session,
    snapshot: Snapshot,
    pods: Vec<ProxyRef>,
) -> Result<Snapshot, Failure> {
    let wish = ProxyWish {
        choice: Choice::These(pods),
        ..of_documents(Shape::ConfigDump, &[], ADMIN)
    };
    Ok(session.proxies(snapshot, &wish)?)
}

/// What istiod would send, from the istiod that serves the proxy.
fn view(
    session: &mut Session,
    mut snapshot: Snapshot,
    proxy: &ProxyRef,
) -> Result<Snapshot, Failure> {
    let fleet = Fleet::of_istiods(&snapshot);
    let mut why = snapshot
        .coverage(&Need::Part(Part::Istiod))
        .why()
        .map(str::to_owned);
    if why.is_none() && fleet.istiods.is_empty() {
        why = Some("no istiod told which proxies it serves".to_owned());
    }
    // A proxy that moves from one istiod to another has two streams for a moment.
    for stream in fleet.streams_of(&proxy.namespace, &proxy.pod) {
        let name = format!("{}.{}", proxy.pod, proxy.namespace);
        let (read, lack) = session.view(snapshot, stream.doc.split().0, &stream.istiod, &name)?;
        snapshot = read;
        match lack {
            None => return Ok(snapshot),
            Some(lack) => why = Some(format!("{}: {lack}", stream.istiod)),
        }
    }
    let why = why.unwrap_or_else(|| format!("no istiod has a stream of {proxy}"));
    Err(Failure::new(
        UNREADABLE,
        format!("istiod's view of {proxy} could not be had: {why}"),
    )
    .hint("`meshladder rbac --for diff` prints the rights it needs"))
}
