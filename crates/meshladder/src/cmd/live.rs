//! From a question to what must be read of a cluster to answer it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use meshladder_capture::envoy::dump::Section;
use meshladder_capture::object;
use meshladder_capture::snapshot::{ProxyRef, Shape, Snapshot};
use meshladder_collect::CollectError;
use meshladder_collect::live::{
    Access, Choice, Limits, Logs, ProxyWish, Purpose, Session, Tally, Wish,
};
use meshladder_judge::ladder::{self, Plan, Scope};
use meshladder_mesh::ambient::NodeAgent;
use meshladder_mesh::target::Target;
use meshladder_mesh::{Clusters, Mesh};
use meshladder_sim::walk::{Call, Caller, Url};

use super::{request, target};
use crate::args::Global;
use crate::args::cluster::{Proxies, Reading};
use crate::args::ladder::Check;
use crate::args::proxy_config::From;
use crate::args::request::RequestFlags;
use crate::exit::{Failure, INTERRUPTED, ISTIOCTL_ERROR, ISTIOCTL_USAGE, UNREADABLE, USAGE};
use crate::{out, progress};

mod describe;
pub(super) mod diff;
mod monitor;

pub(super) use describe::describe;
pub(super) use monitor::{monitor, named};

/// How many proxies are read when nothing says which.
pub(super) const SAMPLE: usize = 50;

/// How many more proxies one step of a request's way may add.
const STEP: usize = 20;

/// Envoy's admin port.
pub(super) const ADMIN: u16 = 15000;

/// Connects to the clusters that the flags name.
pub(super) fn connect(global: &Global) -> Result<Session, Failure> {
    Ok(connect_as(global, false)?)
}

/// Connects for what only a cluster can answer.
pub(super) fn connect_only(global: &Global) -> Result<Session, Failure> {
    connect_as(global, false).map_err(|error| without_cluster(error, "name one with --kubeconfig"))
}

/// Where no cluster is named and a source would not do.
fn without_cluster(error: CollectError, hint: &str) -> Failure {
    match error {
        CollectError::NoCluster => Failure::new(
            USAGE,
            "no cluster to ask: no kubeconfig, and not inside one",
        )
        .hint(hint),
        error => error.into(),
    }
}

/// Connects for istioctl's commands, which have their own exit code for wrong usage.
fn connect_like_istioctl(global: &Global, is_beside: bool) -> Result<Session, Failure> {
    connect_as(global, is_beside).map_err(|error| match error {
        CollectError::NoCluster => {
            Failure::new(ISTIOCTL_USAGE, error.to_string()).hint(error.hint())
        }
        error => error.into(),
    })
}

/// Connects to the first cluster, to ask a few questions of which each may take so long.
pub(super) fn connect_for(global: &Global, each: Duration) -> Result<Session, Failure> {
    const QUESTIONS: u32 = 20;
    let mut access = access(global, false);
    if let [first, _, ..] = access.contexts.as_slice() {
        out::note(&format!("only context {first} is asked"));
    }
    access.contexts.truncate(1);
    let limits = Limits {
        timeout: each.saturating_mul(QUESTIONS),
        request_timeout: each,
        ..limits(global)
    };
    let hint = "name one with --kubeconfig, or the server with --prometheus URL";
    open(&access, limits).map_err(|error| without_cluster(error, hint))
}

fn connect_as(global: &Global, is_beside: bool) -> Result<Session, CollectError> {
    open(&access(global, is_beside), limits(global))
}

fn open(access: &Access, limits: Limits) -> Result<Session, CollectError> {
    let tally = Arc::new(Tally::default());
    follow(Arc::clone(&tally));
    Session::connect(access, limits, tally)
}

fn access(global: &Global, is_beside: bool) -> Access {
    let flags = &global.cluster;
    Access {
        kubeconfig: flags.kubeconfig.clone(),
        contexts: flags.context.clone(),
        impersonate: flags.impersonate.clone(),
        uid: flags.uid.clone(),
        groups: flags.groups.clone(),
        is_beside,
    }
}

fn limits(global: &Global) -> Limits {
    let flags = &global.cluster;
    Limits {
        concurrency: flags.concurrency,
        timeout: flags.timeout,
        request_timeout: flags.request_timeout,
        max_size: global.max_size.unwrap_or(Limits::default().max_size),
    }
}

/// Shows on stderr what is being read, again after something else was told there.
pub(super) fn connect_progress(session: &Session) {
    follow(session.tally());
}

fn follow(tally: Arc<Tally>) {
    progress::follow(move || tally.line());
}

/// What a purpose wants of the objects.
pub(super) fn wish(global: &Global, purpose: Purpose, logs: Option<Logs>) -> Wish {
    Wish {
        needs: purpose.needs(),
        namespaces: namespace(global).map(str::to_owned).into_iter().collect(),
        istio_namespace: global.cluster.istio_namespace.clone(),
        whole: purpose == Purpose::Snapshot,
        logs,
        ..Wish::default()
    }
}

/// What `-n` says, unless `-A` does.
pub(super) fn namespace(global: &Global) -> Option<&str> {
    global
        .namespace
        .as_deref()
        .filter(|_| !global.all_namespaces)
}

pub(super) fn logs(reading: &Reading) -> Logs {
    Logs {
        tail: reading.tail,
        since: reading.since,
        ..Logs::default()
    }
}

/// What `check` looks at.
pub(super) fn check(global: &Global, args: &Check) -> Result<Snapshot, Failure> {
    let mut session = connect(global)?;
    let logs = logs(&args.reading);
    let snapshot = session.objects(&wish(global, Purpose::Check, Some(logs)))?;
    let chosen = match (&args.reading.proxies, &args.target) {
        (None, Some(text)) => {
            let mesh = Mesh::build(&snapshot);
            let scope = target::scope(text, namespace(global), &snapshot, &mesh)?;
            Some(
                match ladder::plan(&snapshot, &mesh, &scope, &BTreeSet::new()) {
                    Plan::Proxies(proxies) => Choice::These(proxies),
                    Plan::Nothing => Choice::These(Vec::new()),
                    Plan::Sample => Choice::Sample(SAMPLE, None),
                },
            )
        }
        (proxies, _) => choice(global, &snapshot, proxies.as_ref())?,
    };
    let snapshot = read(&mut session, snapshot, chosen, Some(logs), false)?;
    unless_interrupted(&session, snapshot)
}

/// What a request meets: its caller, then hop by hop whoever may take it.
pub(super) fn request(
    global: &Global,
    flags: &RequestFlags,
    server: Option<&str>,
    reading: &Reading,
    is_many: bool,
) -> Result<Snapshot, Failure> {
    let mut session = connect(global)?;
    let logs = logs(reading);
    let mut wish = wish(global, Purpose::Why, Some(logs));
    wish.namespaces.extend(ends(flags, namespace(global)));
    wish.namespaces.sort();
    wish.namespaces.dedup();
    let mut snapshot = session.objects(&wish)?;
    if let (None, false, Some(clusters)) = (&reading.proxies, is_many, Clusters::of(&snapshot)) {
        let met = across(global, flags, &clusters);
        let snapshot = read(
            &mut session,
            snapshot,
            Some(Choice::These(met)),
            Some(logs),
            true,
        )?;
        return unless_interrupted(&session, snapshot);
    }
    if reading.proxies.is_some() || is_many {
        let chosen = choice(global, &snapshot, reading.proxies.as_ref())?;
        let snapshot = read(&mut session, snapshot, chosen, Some(logs), false)?;
        return unless_interrupted(&session, snapshot);
    }
    for text in flags
        .from
        .as_deref()
        .filter(|from| *from != "outside")
        .into_iter()
        .chain(server)
    {
        // A workload may be named as `ns/name`; that the question itself looks up among the pods.
        let named =
            Target::parse(text, namespace(global)).map_err(|why| Failure::new(UNREADABLE, why))?;
        let first = named.candidates(&snapshot).into_iter().take(1).collect();
        snapshot = read(
            &mut session,
            snapshot,
            Some(Choice::These(first)),
            Some(logs),
            true,
        )?;
    }
    let ask = |snapshot: &Snapshot, mesh: &Mesh| {
        request::call(flags, namespace(global), snapshot, mesh).ok()
    };
    let snapshot = along(&mut session, snapshot, &ask, logs)?;
    unless_interrupted(&session, snapshot)
}

/// The namespaces of a request's two ends, as far as the command line names them.
fn ends(flags: &RequestFlags, namespace: Option<&str>) -> Vec<String> {
    let caller = flags.from.as_deref().filter(|from| *from != "outside");
    let caller = caller.and_then(|from| Target::parse(from, namespace).ok());
    let mut ends: Vec<String> = caller
        .and_then(|target| Some(target.namespace()?.to_owned()))
        .into_iter()
        .collect();
    // `catalog.shop`, `catalog.shop.svc.cluster.local`
    if let Some(url) = flags.to.as_deref().and_then(|to| Url::parse(to).ok())
        && let Some(server) = url.host.split('.').nth(1)
    {
        ends.push(server.to_owned());
    }
    ends
}

/// The proxies that a request may meet in several clusters: the caller's, those of the Service, and
/// the gateways between networks.
fn across(global: &Global, flags: &RequestFlags, clusters: &Clusters) -> Vec<ProxyRef> {
    let mut met = BTreeSet::new();
    for cluster in clusters {
        let (snapshot, mesh) = (&cluster.snapshot, &cluster.mesh);
        let mut pods = Vec::new();
        if let Ok(call) = request::call(flags, namespace(global), snapshot, mesh) {
            let own = if let Caller::Pod { namespace, name } = &call.from {
                pods.push((namespace.clone(), name.clone()));
                namespace.as_str()
            } else {
                "default"
            };
            if let Some(service) = mesh.service_named(&call.to.host.to_ascii_lowercase(), own) {
                let servers = mesh.pods_of(service);
                pods.extend(servers.map(|pod| (pod.namespace.clone(), pod.name.clone())));
            }
        }
        for gateway in mesh.network_gateways() {
            let behind = mesh.running_pods_of(gateway.service);
            pods.extend(behind.iter().map(|pod| {
                let id = &pod.id;
                (id.namespace.to_string(), id.name.to_string())
            }));
        }
        met.extend(pods.into_iter().map(|(namespace, pod)| ProxyRef {
            source: cluster.source.clone(),
            namespace,
            pod,
        }));
    }
    met.into_iter().collect()
}

/// Reads hop by hop the proxies that a question meets; which it is may be known only with what was
/// read.
pub(super) fn along(
    session: &mut Session,
    mut snapshot: Snapshot,
    ask: &dyn Fn(&Snapshot, &Mesh) -> Option<Call>,
    logs: Logs,
) -> Result<Snapshot, Failure> {
    let mut asked = BTreeSet::new();
    // All objects are there, and what proxies add to them changes none: one mesh does for every
    // round.
    let mesh = Mesh::build(&snapshot);
    // A way has a caller, a gateway, a waypoint and a server at most; the last round sees that
    // there is nothing new.
    for _ in 0..5 {
        let Some(call) = ask(&snapshot, &mesh) else {
            break;
        };
        let scope = Scope::Request(Box::new(call));
        let Plan::Proxies(proxies) = ladder::plan(&snapshot, &mesh, &scope, &asked) else {
            break;
        };
        if session.is_interrupted() {
            break;
        }
        asked.extend(proxies.iter().cloned());
        let choice = Some(Choice::These(proxies));
        snapshot = read(session, snapshot, choice, Some(logs), true)?;
    }
    Ok(snapshot)
}

/// One document of one proxy.
pub(super) fn one_proxy(
    global: &Global,
    from: &From,
    shape: Shape,
    sections: &[Section],
) -> Result<(Snapshot, String), Failure> {
    let mut session = connect_like_istioctl(global, false)?;
    let namespace = global
        .namespace
        .clone()
        .unwrap_or_else(|| session.namespace().to_owned());
    let Some(text) = &from.target else {
        return Err(Failure::new(
            ISTIOCTL_ERROR,
            "which proxy? name one, such as deploy/cart or cart-1.shop",
        ));
    };
    let wish = of_documents(shape, sections, from.proxy_admin_port);
    let snapshot = targets(&mut session, global, &[text], &namespace, wish)?;
    Ok((unless_interrupted(&session, snapshot)?, namespace))
}

/// The config dumps of two proxies.
pub(super) fn two_proxies(
    global: &Global,
    texts: [&str; 2],
) -> Result<(Snapshot, Option<String>), Failure> {
    let mut session = connect_like_istioctl(global, false)?;
    let namespace = global
        .namespace
        .clone()
        .unwrap_or_else(|| session.namespace().to_owned());
    let wish = of_documents(Shape::ConfigDump, &[Section::Secrets], ADMIN);
    let snapshot = targets(&mut session, global, &texts, &namespace, wish)?;
    Ok((unless_interrupted(&session, snapshot)?, Some(namespace)))
}

/// Some documents of some proxies, each the best choice for what was named.
fn targets(
    session: &mut Session,
    global: &Global,
    texts: &[&str],
    namespace: &str,
    proxies: ProxyWish,
) -> Result<Snapshot, Failure> {
    let parsed = texts
        .iter()
        .map(|text| Target::parse(text, Some(namespace)))
        .collect::<Result<Vec<_>, _>>();
    let parsed = parsed.map_err(|why| Failure::new(ISTIOCTL_ERROR, why))?;
    let mut wish = wish(global, Purpose::ProxyConfig, None);
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
    // A pod is found by its name: nothing need be listed.
    if parsed.iter().all(Target::is_pod) {
        wish.needs.clear();
    }
    let snapshot = session.objects(&wish)?;
    let pods = parsed
        .iter()
        .filter_map(|target| target.candidates(&snapshot).into_iter().next())
        .collect();
    Ok(session.proxies(
        snapshot,
        &ProxyWish {
            choice: Choice::These(pods),
            ..proxies
        },
    )?)
}

pub(super) fn of_documents(shape: Shape, sections: &[Section], port: u16) -> ProxyWish {
    let (shapes, sections) = (vec![shape], sections.to_vec());
    ProxyWish {
        choice: Choice::These(Vec::new()),
        shapes,
        sections,
        port,
        logs: None,
        is_enough: true,
    }
}

/// What all ztunnels have, and their log levels.
pub(super) fn ztunnels(global: &Global, port: u16) -> Result<Snapshot, Failure> {
    let mut session = connect_like_istioctl(global, false)?;
    let all = Wish {
        namespaces: Vec::new(),
        ..wish(global, Purpose::ProxyConfig, None)
    };
    let snapshot = session.objects(&all)?;
    let mesh = Mesh::build(&snapshot);
    let pods = mesh.node_agents(NodeAgent::Ztunnel).map(|pod| ProxyRef {
        source: String::new(),
        namespace: pod.namespace().to_owned(),
        pod: pod.name().to_owned(),
    });
    let proxies = ProxyWish {
        choice: Choice::These(pods.collect()),
        shapes: vec![Shape::ZtunnelDump, Shape::Logging],
        ..of_documents(Shape::ZtunnelDump, &[], port)
    };
    let snapshot = session.proxies(snapshot, &proxies)?;
    unless_interrupted(&session, snapshot)
}

/// The objects that waypoints are listed from.
pub(super) fn waypoints(global: &Global) -> Result<Snapshot, Failure> {
    objects(global)
}

/// What istiods say of their proxies.
pub(super) fn status(global: &Global) -> Result<Snapshot, Failure> {
    let mut session = connect_like_istioctl(global, false)?;
    let snapshot = session.objects(&wish(global, Purpose::ProxyStatus, None))?;
    unless_interrupted(&session, snapshot)
}

/// The objects that `analyze` judges.
pub(super) fn objects(global: &Global) -> Result<Snapshot, Failure> {
    let mut session = connect_like_istioctl(global, false)?;
    let snapshot = session.objects(&wish(global, Purpose::Analyze, None))?;
    unless_interrupted(&session, snapshot)
}

/// Objects of the cluster beside those in files, which count where both have one of a name.
pub(super) fn objects_under(global: &Global, files: Snapshot) -> Result<Snapshot, Failure> {
    let mut except = BTreeSet::new();
    object::each(&files, |object| {
        let own = |text: &str| text.to_owned();
        except.insert((
            own(object.kind()),
            own(object.namespace()),
            own(object.name()),
        ));
    });
    let mut session = connect_like_istioctl(global, true)?;
    let wish = Wish {
        except,
        ..wish(global, Purpose::Analyze, None)
    };
    let snapshot = session.objects_beside(files.into_builder(), &wish)?;
    unless_interrupted(&session, snapshot)
}

/// The proxies that `--proxies` names; without it a sample. None is to read none.
pub(super) fn choice(
    global: &Global,
    snapshot: &Snapshot,
    proxies: Option<&Proxies>,
) -> Result<Option<Choice>, Failure> {
    Ok(Some(match proxies {
        None => Choice::Sample(SAMPLE, namespace(global).map(str::to_owned)),
        Some(Proxies::None) => return Ok(None),
        Some(Proxies::All) => Choice::All,
        Some(Proxies::Sample(count)) => {
            Choice::Sample(*count, namespace(global).map(str::to_owned))
        }
        Some(Proxies::Of(text)) => {
            let target = Target::parse(text, namespace(global))
                .map_err(|why| Failure::new(UNREADABLE, why))?;
            Choice::These(target.candidates(snapshot))
        }
    }))
}

/// Reads proxies, all their documents.
pub(super) fn read(
    session: &mut Session,
    snapshot: Snapshot,
    choice: Option<Choice>,
    logs: Option<Logs>,
    is_enough: bool,
) -> Result<Snapshot, Failure> {
    let Some(choice) = choice else {
        return Ok(snapshot);
    };
    let wish = ProxyWish {
        choice,
        shapes: Vec::new(),
        sections: Vec::new(),
        port: ADMIN,
        logs,
        is_enough,
    };
    Ok(session.proxies(snapshot, &wish)?)
}

/// That pod of every cluster that was read.
fn in_sources(snapshot: &Snapshot, pods: impl Iterator<Item = (String, String)>) -> Vec<ProxyRef> {
    let pods: Vec<_> = pods.collect();
    let in_source = |source: &str| {
        let of = |(namespace, pod): &(String, String)| ProxyRef {
            source: source.to_owned(),
            namespace: namespace.clone(),
            pod: pod.clone(),
        };
        pods.iter().map(of).collect::<Vec<_>>()
    };
    snapshot
        .sources()
        .flat_map(|(source, _)| in_source(source))
        .collect()
}

fn unless_interrupted(session: &Session, snapshot: Snapshot) -> Result<Snapshot, Failure> {
    if session.is_interrupted() {
        let hint = "`meshladder snapshot FILE` keeps what was read when it is interrupted";
        return Err(Failure::new(INTERRUPTED, "interrupted").hint(hint));
    }
    Ok(snapshot)
}
