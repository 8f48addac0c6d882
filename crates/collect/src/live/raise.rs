//! Log levels raised for a while, and set back whatever happens: when the time is up, on Ctrl-C,
//! after an error, when too much is logged, when the connection is lost.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use meshladder_capture::envoy::logging::{ComponentLevel, LevelChange, LevelRequest, QueryStyle};
use meshladder_capture::snapshot::ProxyRef;

use super::api::Cluster;
use super::pace::Pace;
use super::{Limits, Session, runtime};

mod cost;
mod one;
mod restore;

pub use cost::Cost;

/// What is to be raised, where, and for how long.
#[derive(Clone, Debug)]
pub struct Raise {
    /// The proxies.
    pub pods: Vec<ProxyRef>,
    /// The levels.
    pub wanted: LevelRequest,
    /// For how long.
    pub time: Duration,
    /// Bytes a second of one proxy's log at which it is set back at once.
    pub max_rate: u64,
    /// Envoy's admin port.
    pub port: u16,
    /// Every line of the log, not only those of the components.
    pub all_lines: bool,
}

/// Something to tell while it goes on.
#[derive(Clone, Debug)]
pub enum RaiseEvent {
    /// A line of a proxy's log.
    Line(ProxyRef, String),
    /// What was done, and what it costs before.
    Set(ProxyRef, LevelChange, Cost),
}

/// How it ended for one proxy.
#[derive(Clone, Debug)]
pub struct Ending {
    /// The proxy.
    pub pod: ProxyRef,
    /// The context of its cluster.
    pub context: String,
    /// How.
    pub end: End,
    /// Why the levels were set back, when it was for another reason than that the time was up.
    pub why: Option<StopReason>,
    /// What it cost.
    pub cost: Cost,
}

/// See [`Ending`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing was changed, and why.
    Untouched(String),
    /// The levels are what they were when this began.
    Restored {
        /// Those of them that were loud: somebody had raised them before.
        loud: BTreeMap<String, ComponentLevel>,
    },
    /// Somebody else set these meanwhile, and they are left as they are; all others are what they
    /// were.
    Changed(BTreeMap<String, ComponentLevel>),
    /// The pod is no more.
    Gone,
    /// The levels could not be set back to these.
    Left {
        /// What they were.
        levels: BTreeMap<String, ComponentLevel>,
        /// How this Envoy is told several at once.
        style: QueryStyle,
        /// What stood in the way.
        why: String,
    },
}

/// Why levels were set back before the time was up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Ctrl-C, or a request to end.
    Stopped,
    /// So many bytes in a second.
    TooMuch(u64),
    /// An error, in words.
    Failed(String),
}

/// What was changed and is not known to be set back: from before the first request that changes
/// something.
type Ledger = Arc<Mutex<BTreeMap<ProxyRef, (LevelChange, QueryStyle)>>>;

/// What every proxy's part needs.
struct RaiseContext<'s> {
    raise: &'s Raise,
    ledger: Ledger,
    happenings: SyncSender<RaiseEvent>,
    limits: Limits,
}

impl Session {
    /// Raises levels, tells what is logged, and sets the levels back. What the taker of
    /// `happenings` is too slow for is dropped: a pager must not keep levels up.
    pub fn raise(&self, raise: &Raise, happenings: SyncSender<RaiseEvent>) -> Vec<Ending> {
        let _guard = runtime::guard();
        let limits = Limits {
            timeout: raise.time + self.pace.limits.timeout,
            ..self.pace.limits
        };
        let clusters = self.paced(limits, runtime::stop());
        let shared = RaiseContext {
            raise,
            ledger: Ledger::default(),
            happenings,
            limits,
        };
        let ran = catch_unwind(AssertUnwindSafe(|| {
            runtime::run(one::all(&shared, &clusters))
        }));
        ran.unwrap_or_else(|panic| {
            let left =
                std::mem::take(&mut *shared.ledger.lock().unwrap_or_else(PoisonError::into_inner));
            runtime::run(async {
                for (pod, (change, style)) in left {
                    if let Some(cluster) = find(&clusters, &pod) {
                        restore::restore(cluster, &pod, (&change, style), &shared, false).await;
                    }
                }
            });
            resume_unwind(panic)
        })
    }

    /// The clusters at a pace of their own: the session's time is for reading.
    pub(crate) fn paced(
        &self,
        limits: Limits,
        stop: tokio::sync::watch::Receiver<bool>,
    ) -> Vec<Cluster> {
        let pace = Arc::new(Pace::new(limits, stop, self.tally()));
        self.clusters
            .iter()
            .map(|cluster| cluster.paced(Arc::clone(&pace)))
            .collect()
    }
}

fn find<'c>(clusters: &'c [Cluster], pod: &ProxyRef) -> Option<&'c Cluster> {
    clusters.iter().find(|cluster| cluster.source == pod.source)
}
