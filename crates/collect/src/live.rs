//! Fills a Snapshot from running clusters: only what is asked for, once, and with whatever rights
//! there are.
//!
//! A [`Session`] connects, then reads objects ([`Session::objects`]), then what the control plane
//! and proxies say ([`Session::proxies`]). All of it shares one deadline. What could not be had is
//! coverage of the Snapshot; an error is only that nothing can be had at all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use meshladder_capture::envoy::dump::Section;
use meshladder_capture::snapshot::{
    Builder, Coverage, Meta, Need, Part, ProxyRef, Shape, Snapshot,
};

use crate::CollectError;
use crate::store::Store;
use api::{Cluster, JSON};
use lack::Lack;
use pace::Pace;

mod api;
mod clock;
pub(crate) mod connect;
mod door;
mod follow;
mod gather;
mod istiod;
mod kinds;
pub(crate) mod lack;
mod levels;
pub(crate) mod list;
mod login;
mod logs;
mod maps;
mod nodes;
mod pace;
mod plugin;
mod pods;
mod progress;
mod proxies;
pub(crate) mod proxy;
mod raise;
mod rights;
pub(crate) mod runtime;
mod spool;
mod tail;

pub use levels::{Answers, Plan};
pub use progress::Tally;
pub use raise::{Cost, End, Ending, Raise, RaiseEvent, StopReason};
pub use rights::{Grant, Purpose, Right, grants, yaml};
pub use tail::Lines;

/// How to reach clusters.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// A kubeconfig; else what `KUBECONFIG` names, else the usual file, else the pod we run in.
    pub kubeconfig: Option<std::path::PathBuf>,
    /// The contexts to read; none is the current one. With several each is a source of its own.
    pub contexts: Vec<String>,
    /// Act as this user.
    pub impersonate: Option<String>,
    /// With this id.
    pub uid: Option<String>,
    /// And as a member of these groups.
    pub groups: Vec<String>,
    /// Documents are named by their context even when there is only one: there are other sources
    /// beside it.
    pub is_beside: bool,
}

/// How much a cluster may be asked.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests at a time, of all clusters together.
    pub concurrency: usize,
    /// How long all of it may take. What was read by then is used.
    pub timeout: Duration,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// How many bytes all documents may have together.
    pub max_size: u64,
}

/// What is wanted of the objects.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The kinds of fact.
    pub needs: BTreeSet<Need>,
    /// Objects in this namespace only.
    pub only: Option<String>,
    /// Where the whole cluster may not be listed: the namespaces that are asked about, else that of
    /// the context.
    pub namespaces: Vec<String>,
    /// Istio's own namespace.
    pub istio_namespace: String,
    /// Objects not to read, by kind, namespace and name: somebody has a newer version of them.
    pub except: BTreeSet<(String, String, String)>,
    /// Everything that istiods tell, not only what rules look at.
    pub whole: bool,
    /// The logs of istiods, and later of the proxies that are read.
    pub logs: Option<Logs>,
}

/// Which logs are read, and how much of each.
#[derive(Clone, Copy, Debug)]
pub struct Logs {
    /// Lines from the end.
    pub tail: u32,
    /// Only what is younger.
    pub since: Option<Duration>,
    /// Of each log.
    pub max_bytes: u64,
    /// Of all containers, not only of proxies and istiods.
    pub all: bool,
}

/// Which proxies are read.
#[derive(Clone, Debug)]
pub enum Choice {
    /// Every one.
    All,
    /// So many, of as many workloads as can be; in a namespace, when one is named.
    Sample(usize, Option<String>),
    /// These.
    These(Vec<ProxyRef>),
}

/// What is wanted of the proxies.
#[derive(Clone, Debug)]
pub struct ProxyWish {
    /// Which.
    pub choice: Choice,
    /// Which documents; all when none is named. Logs alone are read without a word to the proxy.
    pub shapes: Vec<Shape>,
    /// Which sections of the config dump; all when none is named.
    pub sections: Vec<Section>,
    /// Envoy's admin port.
    pub port: u16,
    /// Their logs.
    pub logs: Option<Logs>,
    /// These are all that the question is about, so to have read them is to have read all.
    pub is_enough: bool,
}

/// Connected clusters and what was noted of them so far.
pub struct Session {
    clusters: Vec<Cluster>,
    lost: Vec<UnreachableCluster>,
    seen: Vec<gather::ClusterNotes>,
    pace: Arc<Pace>,
    store: Store,
    stop: tokio::sync::watch::Receiver<bool>,
}

/// One of several clusters that could not be reached: what can be read of the others is.
struct UnreachableCluster {
    source: String,
    origin: String,
    why: String,
}

impl Session {
    /// Connects, and asks each API server for its version: who cannot be reached is told at once.
    ///
    /// # Errors
    /// When there is no cluster to read, none can be reached, or none knows who we are.
    pub fn connect(
        access: &Access,
        limits: Limits,
        tally: Arc<Tally>,
    ) -> Result<Self, CollectError> {
        let stop = runtime::stop();
        let pace = runtime::run(async { Arc::new(Pace::new(limits, stop.clone(), tally)) });
        let (clusters, lost) = runtime::run(connected(access, &limits, &pace))?;
        let seen = clusters
            .iter()
            .map(|_| gather::ClusterNotes::default())
            .collect();
        Ok(Self {
            clusters,
            lost,
            seen,
            pace,
            store: Store::new(limits.max_size),
            stop,
        })
    }

    /// Reads objects, and what istiods say when that is among the needs.
    ///
    /// # Errors
    /// When there is more than allowed.
    pub fn objects(&mut self, wish: &Wish) -> Result<Snapshot, CollectError> {
        self.objects_beside(Builder::new(), wish)
    }

    /// Reads objects like [`Self::objects`], beside what was read elsewhere.
    ///
    /// # Errors
    /// When there is more than allowed.
    pub fn objects_beside(
        &mut self,
        builder: Builder,
        wish: &Wish,
    ) -> Result<Snapshot, CollectError> {
        self.store.begin(
            &self
                .clusters
                .iter()
                .map(origin)
                .collect::<Vec<_>>()
                .join(", "),
        );
        let kept = gather::Collection::new(builder, &mut self.store);
        let into_kept = &kept;
        let each = self
            .clusters
            .iter()
            .zip(&mut self.seen)
            .map(|(cluster, seen)| async move {
                let meta = Meta {
                    origin: origin(cluster),
                    form: "cluster",
                    name: Some(cluster.source.clone()).filter(|name| !name.is_empty()),
                    taken_at: Some(cluster.clock.now()),
                    ..Meta::default()
                };
                gather::objects(
                    &mut gather::ClusterSink {
                        cluster,
                        meta,
                        kept: into_kept,
                    },
                    seen,
                    wish,
                )
                .await
            });
        runtime::run(try_join_all(each))?;
        let mut builder = kept.into_builder();
        for UnreachableCluster {
            source,
            origin,
            why,
        } in &self.lost
        {
            builder.source(
                source,
                Meta {
                    origin: origin.clone(),
                    form: "cluster",
                    name: Some(source.clone()).filter(|name| !name.is_empty()),
                    ..Meta::default()
                },
            );
            builder.note_in(
                source,
                Need::Part(Part::Everything),
                Coverage::Denied(why.clone()),
            );
        }
        Ok(builder.finish())
    }

    /// Reads proxies, and puts what they say into the Snapshot.
    ///
    /// # Errors
    /// When there is more than allowed.
    pub fn proxies(
        &mut self,
        snapshot: Snapshot,
        wish: &ProxyWish,
    ) -> Result<Snapshot, CollectError> {
        let kept = gather::Collection::new(snapshot.into_builder(), &mut self.store);
        let into_kept = &kept;
        let each = self
            .clusters
            .iter()
            .zip(&mut self.seen)
            .map(|(cluster, seen)| async move {
                let mut into = gather::ClusterSink {
                    cluster,
                    meta: Meta::default(),
                    kept: into_kept,
                };
                gather::proxies(&mut into, seen, wish).await
            });
        runtime::run(try_join_all(each))?;
        Ok(kept.into_builder().finish())
    }

    /// Asks an istiod of a cluster, by its pod, what it would send to a proxy, `pod.namespace`.
    /// Also why it does not tell.
    ///
    /// # Errors
    /// When there is more than allowed.
    pub fn view(
        &mut self,
        snapshot: Snapshot,
        source: &str,
        istiod: &str,
        proxy: &str,
    ) -> Result<(Snapshot, Option<String>), CollectError> {
        let kept = gather::Collection::new(snapshot.into_builder(), &mut self.store);
        let mut lack = None;
        for (cluster, seen) in self
            .clusters
            .iter()
            .zip(&self.seen)
            .filter(|(cluster, _)| cluster.source == source)
        {
            let mut into = gather::ClusterSink {
                cluster,
                meta: Meta::default(),
                kept: &kept,
            };
            lack = runtime::run(gather::view(&mut into, seen, istiod, proxy))?;
        }
        Ok((kept.into_builder().finish(), lack.map(|lack| lack.why())))
    }

    /// Asks something behind the API server of the first cluster for a path, and gives status and
    /// body.
    pub(crate) fn fetch(
        &self,
        path: &str,
        headers: &http::HeaderMap,
    ) -> Result<(u16, Vec<u8>), Lack> {
        let cluster = self.clusters.first().ok_or(Lack::Absent)?;
        runtime::run(cluster.fetch(path, headers))
    }

    /// How many proxies a choice means.
    pub fn count(&self, choice: &Choice) -> usize {
        self.clusters
            .iter()
            .zip(&self.seen)
            .map(|(cluster, seen)| gather::chosen(cluster, seen, choice).len())
            .sum()
    }

    /// Whether the user pressed Ctrl-C while something was read.
    pub fn is_interrupted(&self) -> bool {
        *self.stop.borrow()
    }

    /// What is being read.
    pub fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.pace.tally)
    }

    /// The namespace of the first context.
    pub fn namespace(&self) -> &str {
        self.clusters
            .first()
            .map_or("default", |cluster| &cluster.namespace)
    }

    /// Of rights those that are not given, and those of which the server does not tell.
    pub fn missing_rights(&self, grant: &Grant) -> (Vec<Right>, Vec<Right>) {
        let namespace = grant.namespace.as_deref();
        let each = grant.rights.iter().map(|right| self.has(right, namespace));
        let answers = runtime::run(join_all(each));
        let (mut missing, mut unknown) = (Vec::new(), Vec::new());
        for (right, answer) in grant.rights.iter().zip(answers) {
            match answer {
                Some(true) => {}
                Some(false) => missing.push(right.clone()),
                None => unknown.push(right.clone()),
            }
        }
        (missing, unknown)
    }

    /// Whether every cluster gives every verb of a right.
    async fn has(&self, right: &Right, namespace: Option<&str>) -> Option<bool> {
        let mut all = Some(true);
        for cluster in &self.clusters {
            for verb in &right.verbs {
                match cluster.may(right, verb, namespace).await {
                    Some(true) => {}
                    Some(false) => return Some(false),
                    None => all = None,
                }
            }
        }
        all
    }
}

/// Whether there is a cluster to read, as far as that is known without asking it.
///
/// # Errors
/// When none is named, or what names it cannot be read.
pub fn is_named(access: &Access) -> Result<(), CollectError> {
    let limits = Limits::default();
    runtime::run(async {
        let pace = Pace::new(limits, runtime::stop(), Arc::new(Tally::default()));
        connect::connect(access, &limits, &pace).await.map(|_| ())
    })
}

async fn connected(
    access: &Access,
    limits: &Limits,
    pace: &Arc<Pace>,
) -> Result<(Vec<Cluster>, Vec<UnreachableCluster>), CollectError> {
    // Credentials may take a while: a plugin may wait for somebody to log in.
    let credentials = "looking for credentials";
    pace.tally.begin(credentials, 1);
    let connections = connect::connect(access, limits, pace).await?;
    pace.tally.done(credentials);
    let is_only = connections.len() == 1 && !access.is_beside;
    let (mut clusters, mut lost, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = Vec::new();
    for connection in connections {
        let name = if is_only {
            String::new()
        } else {
            connect::source_name(&connection.context, &names)
        };
        names.push(name.clone());
        found.push(Cluster::new(connection, name, Arc::clone(pace)));
    }
    // Side by side: one that does not answer takes no time from the others.
    let greeted = join_all(found.iter().map(greet)).await;
    let mut first_error = None;
    for (cluster, greeted) in found.into_iter().zip(greeted) {
        match greeted {
            Ok(()) => clusters.push(cluster),
            Err(CollectError::Interrupted) => return Err(CollectError::Interrupted),
            Err(error) => {
                lost.push(UnreachableCluster {
                    origin: origin(&cluster),
                    why: error.to_string(),
                    source: cluster.source,
                });
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) if clusters.is_empty() => Err(error),
        _ => Ok((clusters, lost)),
    }
}

/// Where what is read of a cluster comes from, in words.
fn origin(cluster: &Cluster) -> String {
    format!("context {} ({})", cluster.context, cluster.server)
}

/// `/version` is open to everybody who is known, so a refusal here is of the credentials, not of a
/// right.
async fn greet(cluster: &Cluster) -> Result<(), CollectError> {
    let (server, context) = (cluster.server.clone(), cluster.context.clone());
    let what = format!("connecting to {server}");
    cluster.pace.tally.begin(&what, 1);
    let answer = cluster.get_json("/version", JSON).await;
    cluster.pace.tally.done(&what);
    match answer {
        Err(Lack::Stranger(why)) => Err(CollectError::Unauthorized {
            server,
            context,
            why,
        }),
        Err(Lack::Keyless(why)) => Err(CollectError::Credentials { context, why }),
        Err(Lack::Refused(why)) if why.contains("cannot impersonate") => {
            Err(CollectError::Unauthorized {
                server,
                context,
                why,
            })
        }
        Err(Lack::Stopped) => Err(CollectError::Interrupted),
        Ok(_) | Err(Lack::Refused(_) | Lack::Absent) => Ok(()),
        Err(lack) => Err(CollectError::Unreachable {
            server,
            context,
            why: lack.why(),
        }),
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("clusters", &self.clusters.len())
            .finish_non_exhaustive()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            concurrency: 16,
            timeout: Duration::from_secs(120),
            request_timeout: Duration::from_secs(30),
            max_size: 4 << 30,
        }
    }
}

impl Default for Logs {
    fn default() -> Self {
        Self {
            tail: 1000,
            since: None,
            max_bytes: 1 << 20,
            all: false,
        }
    }
}
