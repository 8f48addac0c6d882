//! Questions of a mesh that has several clusters: in which of them they are asked.

use meshladder_capture::snapshot::Snapshot;
use meshladder_judge::ladder::{self, Question, Scope};
use meshladder_judge::rules::Symptom;
use meshladder_mesh::{Cluster, Clusters};
use meshladder_sim::trace::Trace as Walked;
use meshladder_sim::walk::{Call, Caller, Detail, name_documents, trace_across};

use super::{live, request, target};
use crate::args::ladder::{Check, Why};
use crate::args::request::RequestFlags;
use crate::args::{Global, TextOrJson, Trace};
use crate::exit::{Failure, Outcome, USAGE};

pub(super) fn check(
    global: &Global,
    args: &Check,
    whole: &Snapshot,
    clusters: &Clusters,
) -> Outcome {
    let namespace = live::namespace(global);
    let wanted = args.cluster.as_deref();
    let scope_in = |text: &str, cluster: &Cluster| {
        target::scope(text, namespace, &cluster.snapshot, &cluster.mesh)
    };
    let (home, scope) = match (&args.target, namespace) {
        (Some(text), _) => {
            let home = home(clusters, wanted, text, |one| scope_in(text, one).is_ok())?;
            (Some(home), scope_in(text, home)?)
        }
        (None, Some(namespace)) => (
            named(clusters, wanted)?,
            Scope::Namespace(namespace.to_owned()),
        ),
        (None, None) => (named(clusters, wanted)?, Scope::Mesh),
    };
    answer(whole, clusters, home, scope, None, &args.report)
}

pub(super) fn why(
    global: &Global,
    args: &Why,
    seen: Option<Symptom>,
    whole: &Snapshot,
    clusters: &Clusters,
) -> Outcome {
    let (home, call) = call(global, &args.request, clusters)?;
    let scope = Scope::Request(Box::new(call));
    answer(whole, clusters, Some(home), scope, seen, &args.report)
}

/// The walk of a request through whatever clusters it comes.
pub(super) fn trace(
    global: &Global,
    args: &Trace,
    clusters: &Clusters,
) -> Result<(Walked, Call), Failure> {
    let (home, call) = call(global, &args.request, clusters)?;
    let detail = if args.verbose || args.output == TextOrJson::Json {
        Detail::Losers
    } else {
        Detail::Steps
    };
    let (mut trace, _) = trace_across(clusters, home, &call, detail);
    name_documents(&mut trace, clusters);
    Ok((trace, call))
}

fn answer(
    whole: &Snapshot,
    clusters: &Clusters,
    home: Option<&Cluster>,
    scope: Scope,
    seen: Option<Symptom>,
    flags: &crate::args::ladder::ReportFlags,
) -> Outcome {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let question = Question {
        scope,
        seen,
        threads,
    };
    super::ladder::draw(
        &ladder::climb_clusters(whole, clusters, home, &question),
        flags,
    )
}

/// The cluster that requests of a list are made in.
pub(super) fn of_caller<'c>(
    global: &Global,
    flags: &RequestFlags,
    clusters: &'c Clusters,
) -> Result<&'c Cluster, Failure> {
    if let Some(cluster) = named(clusters, flags.cluster.as_deref())? {
        return Ok(cluster);
    }
    if flags.from.is_none() {
        let what = "in which cluster are the requests made?";
        return Err(Failure::new(USAGE, what).hint("say which with --cluster NAME"));
    }
    call(global, flags, clusters).map(|(home, _)| home)
}

/// The caller's cluster, and the call as it is made there.
fn call<'c>(
    global: &Global,
    flags: &RequestFlags,
    clusters: &'c Clusters,
) -> Result<(&'c Cluster, Call), Failure> {
    let namespace = global.namespace.as_deref();
    let call_in =
        |cluster: &Cluster| request::call(flags, namespace, &cluster.snapshot, &cluster.mesh);
    let what = flags
        .from
        .as_deref()
        .unwrap_or("a caller that is not described");
    let knows = |cluster: &Cluster| match call_in(cluster).map(|call| call.from) {
        Ok(Caller::Pod { namespace, name }) => cluster.mesh.pod(&namespace, &name).is_some(),
        Ok(Caller::Outside | Caller::Somebody) => true,
        Err(_) => false,
    };
    let home = home(clusters, flags.cluster.as_deref(), what, knows)?;
    Ok((home, call_in(home)?))
}

/// The cluster that a question is asked in: the one that was named, else the only one that knows
/// what it is about.
fn home<'c>(
    clusters: &'c Clusters,
    wanted: Option<&str>,
    what: &str,
    knows: impl Fn(&Cluster) -> bool,
) -> Result<&'c Cluster, Failure> {
    if let Some(cluster) = named(clusters, wanted)? {
        return Ok(cluster);
    }
    let known: Vec<&Cluster> = clusters.iter().filter(|one| knows(one)).collect();
    match known[..] {
        [one] => Ok(one),
        [] => Err(Failure::new(USAGE, format!("no cluster has {what}")).hint(names(clusters))),
        _ => {
            let several: Vec<_> = known.iter().map(|one| one.name.as_str()).collect();
            let message = format!("{what} is in {}", several.join(" and "));
            Err(Failure::new(USAGE, message).hint("say which with --cluster NAME"))
        }
    }
}

fn named<'c>(clusters: &'c Clusters, wanted: Option<&str>) -> Result<Option<&'c Cluster>, Failure> {
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    let found = clusters.find(wanted).ok_or_else(|| {
        Failure::new(USAGE, format!("there is no cluster `{wanted}`")).hint(names(clusters))
    })?;
    Ok(Some(found))
}

fn names(clusters: &Clusters) -> String {
    let names: Vec<_> = clusters.iter().map(|one| one.name.as_str()).collect();
    format!("the clusters are {}", names.join(", "))
}
