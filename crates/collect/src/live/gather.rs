//! Puts what a cluster tells into a Snapshot, and notes what it does not.

use std::cell::RefCell;
use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use meshladder_capture::Kind;
use meshladder_capture::kind::Depth;
use meshladder_capture::snapshot::{Builder, Coverage, DocId, Meta, Need, Part, ProxyRef};
use serde_json::Value;

use super::api::Cluster;
use super::lack::Lack;
use super::list::{self, ListScope};
use super::pods::{PodNote, sample};
use super::{Choice, Logs, ProxyWish, Wish, istiod, logs, maps, proxies};
use crate::CollectError;
use crate::source_file::{Body, SourceFile};
use crate::store::Store;

/// What is being read, as it is told to whoever waits.
const OBJECTS: &str = "reading objects";
const ISTIODS: &str = "asking istiods";
const PROXIES: &str = "reading proxies";
const LOGS: &str = "reading logs";

/// Where the documents of one cluster go; those of others go there too, side by side.
pub(crate) struct ClusterSink<'a, 's> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) meta: Meta,
    pub(crate) kept: &'a Collection<'s>,
}

/// What was read of all clusters so far. It is borrowed only between two waits.
pub(crate) struct Collection<'a> {
    builder: RefCell<Builder>,
    store: RefCell<&'a mut Store>,
}

impl<'a> Collection<'a> {
    pub(crate) fn new(builder: Builder, store: &'a mut Store) -> Self {
        Self {
            builder: RefCell::new(builder),
            store: RefCell::new(store),
        }
    }

    pub(crate) fn into_builder(self) -> Builder {
        self.builder.into_inner()
    }
}

/// What was noted of a cluster, for later.
#[derive(Default)]
pub(crate) struct ClusterNotes {
    pub(crate) pods: Vec<PodNote>,
    /// Why there may be more pods than these.
    pods_lack: Option<String>,
    /// Proxies that were asked, and those that did not answer.
    asked: BTreeSet<(String, String)>,
    lacks: Vec<(String, Lack)>,
}

/// Reads objects and istiods, and notes what there is of the pods.
pub(crate) async fn objects(
    into: &mut ClusterSink<'_, '_>,
    seen: &mut ClusterNotes,
    wish: &Wish,
) -> Result<(), CollectError> {
    let cluster = into.cluster;
    let pace = &cluster.pace;
    let named = wish.needs.iter().filter_map(|need| match need {
        Need::Objects(kind) => Some(*kind),
        _ => None,
    });
    let wanted: Vec<_> = named
        .filter(|kind| !matches!(kind.depth(), Depth::Named | Depth::Nothing))
        .collect();
    pace.tally.begin(OBJECTS, wanted.len());
    let (for_objects, for_pods) = places(cluster, wish);
    let mut lists = stream::iter(wanted)
        .map(|kind| {
            list::list(
                cluster,
                kind,
                if kind == Kind::Pod {
                    &for_pods
                } else {
                    &for_objects
                },
                &wish.except,
            )
        })
        .buffer_unordered(pace.concurrency());
    let (mut pods, mut pods_coverage) = (Vec::new(), Coverage::NotAsked);
    while let Some(listed) = lists.next().await {
        pace.tally.done(OBJECTS);
        if listed.kind == Kind::Pod {
            pods_coverage = listed.coverage.clone();
        }
        into.list(listed.kind, listed.body, listed.coverage)?;
        pods.extend(listed.pods);
    }
    drop(lists);
    if wish.needs.contains(&Need::Objects(Kind::ConfigMap)) {
        let (body, coverage) = maps::read(cluster, &pods, &wish.istio_namespace).await;
        into.list(Kind::ConfigMap, body, coverage)?;
    }
    if wish.needs.contains(&Need::Part(Part::Istiod)) {
        if let Some(why) = pods_coverage.why() {
            into.note(
                "istiod/",
                Coverage::Partial(format!("istiods are found among the pods: {why}")),
            );
        }
        istiods(into, &pods, wish).await?;
    }
    let ClusterSink {
        cluster,
        meta,
        kept,
    } = into;
    kept.builder
        .borrow_mut()
        .source(&cluster.source, std::mem::take(meta));
    seen.pods_lack = pods_coverage.why().map(str::to_owned);
    seen.pods = pods;
    Ok(())
}

/// Where to look for objects, and where for pods.
fn places(cluster: &Cluster, wish: &Wish) -> (ListScope, ListScope) {
    let mut else_in = wish.namespaces.clone();
    if else_in.is_empty() {
        else_in.push(cluster.namespace.clone());
    }
    if !else_in.contains(&wish.istio_namespace) && !wish.istio_namespace.is_empty() {
        else_in.push(wish.istio_namespace.clone());
    }
    let objects = ListScope {
        only: wish.only.iter().cloned().collect(),
        else_in,
    };
    let mut pods = objects.clone();
    // Who asks about one namespace asks istiods too, and those are in theirs.
    let is_elsewhere = !pods.only.is_empty() && !pods.only.contains(&wish.istio_namespace);
    if is_elsewhere && wish.needs.contains(&Need::Part(Part::Istiod)) {
        pods.only.push(wish.istio_namespace.clone());
    }
    (objects, pods)
}

/// What every istiod says; one that does not answer takes nothing from the others.
async fn istiods(
    into: &mut ClusterSink<'_, '_>,
    pods: &[PodNote],
    wish: &Wish,
) -> Result<(), CollectError> {
    let cluster = into.cluster;
    let istiods: Vec<&PodNote> = pods
        .iter()
        .filter(|pod| pod.is_istiod && pod.running)
        .collect();
    cluster.pace.tally.begin(ISTIODS, istiods.len());
    into.meta.cluster = istiods.iter().find_map(|pod| pod.cluster_id.clone());
    let mut answers = stream::iter(istiods.iter().copied())
        .map(|pod| async move { (pod, istiod::ask(cluster, pod, wish.whole).await) })
        .buffer_unordered(cluster.pace.concurrency());
    let mut lacks = Vec::new();
    while let Some((pod, told)) = answers.next().await {
        cluster.pace.tally.done(ISTIODS);
        for (file, bytes) in told.documents {
            if file == istiod::VERSION && into.meta.istio_version.is_none() {
                into.meta.istio_version = version(&bytes);
            }
            into.document(&format!("istiod/{}/{file}", pod.name), &bytes)?;
        }
        if let Some(lack) = told.lack {
            into.note(&format!("istiod/{}/", pod.name), lack.coverage());
            lacks.push((format!("{}.{}", pod.name, pod.namespace), lack));
        }
    }
    drop(answers);
    // Where none runs there is nobody to ask, which is no answer either.
    if !istiods.is_empty() {
        into.note(
            "istiod/",
            together("istiods", istiods.len(), istiods.len(), &lacks),
        );
    }
    if let Some(logs) = &wish.logs {
        read_logs(into, &istiods, logs).await?;
    }
    Ok(())
}

/// What an istiod would send to a proxy now; `proxy` is `pod.namespace`.
pub(crate) async fn view(
    into: &mut ClusterSink<'_, '_>,
    seen: &ClusterNotes,
    istiod: &str,
    proxy: &str,
) -> Result<Option<Lack>, CollectError> {
    let Some(pod) = seen
        .pods
        .iter()
        .find(|pod| pod.is_istiod && pod.name == istiod)
    else {
        return Ok(Some(Lack::Absent));
    };
    let cluster = into.cluster;
    cluster.pace.tally.begin(ISTIODS, 1);
    let answer = istiod::view(cluster, pod, proxy).await;
    cluster.pace.tally.done(ISTIODS);
    match answer {
        Ok(bytes) => {
            into.document(
                &format!("istiod/{istiod}/debug/config_dump/{proxy}.json"),
                &bytes,
            )?;
            Ok(None)
        }
        Err(lack) => {
            into.note(&format!("istiod/{istiod}/"), lack.coverage());
            Ok(Some(lack))
        }
    }
}

/// The version in istiod's document.
fn version(bytes: &[u8]) -> Option<String> {
    let told: Value = serde_json::from_slice(bytes).ok()?;
    let field = told["version"].as_str().or(told["Version"].as_str());
    Some(field.or(told.as_str())?.to_owned())
}

/// Reads the proxies that are wanted.
pub(crate) async fn proxies(
    into: &mut ClusterSink<'_, '_>,
    seen: &mut ClusterNotes,
    wish: &ProxyWish,
) -> Result<(), CollectError> {
    let cluster = into.cluster;
    let mut chosen = chosen(cluster, seen, &wish.choice);
    // What was read once is not read again.
    chosen.retain(|pod| seen.asked.insert((pod.namespace.clone(), pod.name.clone())));
    let files = proxies::files(&wish.shapes);
    let files = &files;
    let asked = if files.is_empty() { &[][..] } else { &chosen };
    cluster.pace.tally.begin(PROXIES, asked.len());
    let mut answers = stream::iter(asked)
        .map(|pod| async move { (pod, proxies::ask(cluster, pod, wish, files).await) })
        .buffer_unordered(cluster.pace.concurrency());
    while let Some((pod, told)) = answers.next().await {
        cluster.pace.tally.done(PROXIES);
        let folder = if pod.is_ztunnel {
            "ztunnels"
        } else {
            "proxies"
        };
        for (file, bytes) in told.documents {
            into.document(
                &format!("{folder}/{}/{}/{file}", pod.namespace, pod.name),
                &bytes,
            )?;
        }
        if let Some(lack) = told.lack {
            into.note(
                &format!("{folder}/{}/{}/", pod.namespace, pod.name),
                lack.coverage(),
            );
            seen.lacks
                .push((format!("{}.{}", pod.name, pod.namespace), lack));
        }
    }
    drop(answers);
    let asked = seen.asked.len();
    let all = if wish.is_enough {
        asked
    } else {
        with_proxy(&seen.pods).count().max(asked)
    };
    if !files.is_empty() {
        let coverage = match (
            together("proxies", asked, all, &seen.lacks),
            &seen.pods_lack,
        ) {
            (Coverage::Complete, Some(why)) if !wish.is_enough => {
                Coverage::Partial(format!("proxies are found among the pods: {why}"))
            }
            (coverage, _) => coverage,
        };
        into.note("proxies/", coverage);
    }
    if let Some(logs) = &wish.logs {
        read_logs(into, &chosen.iter().collect::<Vec<_>>(), logs).await?;
    }
    Ok(())
}

/// The pods to read. One that was named is tried even where pods could not be listed; where they
/// could, it must be there and have a proxy that runs.
pub(crate) fn chosen(cluster: &Cluster, seen: &ClusterNotes, choice: &Choice) -> Vec<PodNote> {
    let pods = || with_proxy(&seen.pods);
    match choice {
        // Those that say they are not ready last: they may not answer, and time may run out.
        Choice::All => {
            let mut all: Vec<PodNote> = pods().cloned().collect();
            all.sort_by_key(|pod| pod.unready);
            all
        }
        Choice::Sample(count, namespace) => {
            let here =
                pods().filter(|pod| namespace.as_ref().is_none_or(|ns| *ns == pod.namespace));
            sample(&here.cloned().collect::<Vec<_>>(), *count)
                .into_iter()
                .cloned()
                .collect()
        }
        Choice::These(wanted) => {
            let of = |proxy: &ProxyRef| {
                let found =
                    pods().find(|pod| pod.namespace == proxy.namespace && pod.name == proxy.pod);
                let is_listed = seen.pods.iter().any(|pod| pod.namespace == proxy.namespace);
                let unseen = || PodNote {
                    namespace: proxy.namespace.clone(),
                    name: proxy.pod.clone(),
                    proxy: super::pods::PROXY.to_owned(),
                    containers: vec![super::pods::PROXY.to_owned()],
                    ..PodNote::default()
                };
                found.cloned().or_else(|| (!is_listed).then(unseen))
            };
            wanted
                .iter()
                .filter(|proxy| proxy.source == cluster.source)
                .filter_map(of)
                .collect()
        }
    }
}

fn with_proxy(pods: &[PodNote]) -> impl Iterator<Item = &PodNote> {
    pods.iter().filter(|pod| pod.has_proxy() && pod.running)
}

pub(crate) async fn read_logs(
    into: &mut ClusterSink<'_, '_>,
    pods: &[&PodNote],
    wish: &Logs,
) -> Result<(), CollectError> {
    let cluster = into.cluster;
    let wanted: Vec<(&PodNote, &str)> = pods
        .iter()
        .flat_map(|pod| {
            logs::containers(pod, wish)
                .into_iter()
                .map(move |name| (*pod, name))
        })
        .collect();
    cluster.pace.tally.begin(LOGS, wanted.len());
    let count = wanted.len();
    let mut answers = stream::iter(wanted)
        .map(|(pod, name)| async move { (pod, name, logs::read(cluster, pod, name, wish).await) })
        .buffer_unordered(cluster.pace.concurrency());
    let mut lacks = Vec::new();
    while let Some((pod, container, answer)) = answers.next().await {
        cluster.pace.tally.done(LOGS);
        match answer {
            Ok(bytes) => into.document(
                &format!("logs/{}/{}/{container}.log", pod.namespace, pod.name),
                &bytes,
            )?,
            Err(Lack::Absent) => {}
            Err(lack) => lacks.push((format!("{}.{}", pod.name, pod.namespace), lack)),
        }
    }
    if !lacks.is_empty() {
        drop(answers);
        into.note("logs/", together("logs", count, count, &lacks));
    }
    Ok(())
}

/// How much of a folder there is: of `all` so many were asked for, and these failed.
fn together(what: &str, asked: usize, all: usize, lacks: &[(String, Lack)]) -> Coverage {
    let first = lacks.iter().min_by_key(|(name, _)| name.clone());
    match first {
        Some((_, Lack::Refused(why))) if lacks.len() == asked => Coverage::Denied(why.clone()),
        Some((name, lack)) => {
            let failed = lacks.len();
            let why = format!(
                "{failed} of {all} {what} could not be read: {name}: {}",
                lack.why()
            );
            // What is gone was not lost, and what may not be read is no surprise.
            let is_lost = |(_, lack): &(String, Lack)| matches!(lack.coverage(), Coverage::Lost(_));
            if lacks.iter().any(is_lost) || failed >= asked {
                Coverage::Lost(why)
            } else {
                Coverage::Partial(why)
            }
        }
        None if asked < all => Coverage::Partial(format!(
            "{asked} of {all} {what} were read (--proxies all reads all)"
        )),
        None => Coverage::Complete,
    }
}

impl ClusterSink<'_, '_> {
    fn list(
        &mut self,
        kind: Kind,
        body: Option<Body>,
        coverage: Coverage,
    ) -> Result<(), CollectError> {
        if let Some(body) = body {
            self.add(kind.path(), body)?;
        }
        if coverage != Coverage::Complete {
            self.note(kind.path(), coverage);
        }
        Ok(())
    }

    fn document(&mut self, path: &str, bytes: &[u8]) -> Result<(), CollectError> {
        let len = bytes.len() as u64;
        let (body, error) = self.kept.store.borrow_mut().keep(&mut &*bytes, len);
        match error {
            None => self.add(path, body),
            Some(error) => {
                self.note(
                    path,
                    Coverage::Lost(format!("no space to keep it: {error}")),
                );
                Ok(())
            }
        }
    }

    fn add(&mut self, path: &str, body: Body) -> Result<(), CollectError> {
        let mut store = self.kept.store.borrow_mut();
        store.document(path, body.len())?;
        let id = DocId::new(path);
        let id = if self.cluster.source.is_empty() {
            id
        } else {
            id.in_source(&self.cluster.source)
        };
        let found = SourceFile {
            path: path.to_owned(),
            origin: id.to_string(),
            body,
        };
        found.add_to(&mut self.kept.builder.borrow_mut(), id, &mut store);
        Ok(())
    }

    fn note(&mut self, path: &str, coverage: Coverage) {
        self.kept
            .builder
            .borrow_mut()
            .note_in(&self.cluster.source, Need::of_path(path), coverage);
    }
}
