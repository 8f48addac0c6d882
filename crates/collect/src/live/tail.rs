//! Logs of pods that are named: their ends, and what is written to them from now on.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use meshladder_capture::snapshot::{Meta, ProxyRef, Snapshot};
use tokio::time::{Instant, sleep_until};

use super::follow::{Follow, Start};
use super::lack::Lack;
use super::pods::PROXY;
use super::{Choice, Limits, Logs, Session, gather, runtime};
use crate::CollectError;

/// A year: whoever follows without an end ends it by hand.
const LONG: Duration = Duration::from_secs(365 * 24 * 3600);

/// Some lines of a log: which of the pods wrote them, and the text.
pub type Lines = (usize, String);

impl Session {
    /// Reads the ends of the logs of these pods' proxies into the Snapshot.
    ///
    /// # Errors
    /// When there is more than allowed.
    pub fn logs(
        &mut self,
        snapshot: Snapshot,
        pods: &[ProxyRef],
        logs: &Logs,
    ) -> Result<Snapshot, CollectError> {
        let kept = gather::Collection::new(snapshot.into_builder(), &mut self.store);
        let into_kept = &kept;
        let each = self
            .clusters
            .iter()
            .zip(&self.seen)
            .map(|(cluster, seen)| async move {
                let chosen = gather::chosen(cluster, seen, &Choice::These(pods.to_vec()));
                let mut into = gather::ClusterSink {
                    cluster,
                    meta: Meta::default(),
                    kept: into_kept,
                };
                gather::read_logs(&mut into, &chosen.iter().collect::<Vec<_>>(), logs).await
            });
        runtime::run(try_join_all(each))?;
        Ok(kept.into_builder().finish())
    }

    /// Hands on what these pods' proxies log, from the end on and as it comes, until the time is
    /// up, Ctrl-C, or all logs have ended. Gives why those ended that did.
    pub fn follow(
        &self,
        pods: &[ProxyRef],
        logs: &Logs,
        time: Option<Duration>,
        lines: &SyncSender<Lines>,
    ) -> Vec<(ProxyRef, String)> {
        let time = time.unwrap_or(LONG);
        let limits = Limits {
            timeout: time + self.pace.limits.timeout,
            ..self.pace.limits
        };
        let clusters = self.paced(limits, runtime::stop());
        let start = logs.since.map_or(Start::Tail(logs.tail), |since| {
            Start::Since(since, logs.tail)
        });
        runtime::run(async {
            let end = Instant::now() + time;
            let one = |(number, pod): (usize, &ProxyRef)| {
                let (pod, clusters) = (pod.clone(), &clusters);
                async move {
                    let cluster = clusters
                        .iter()
                        .find(|cluster| cluster.source == pod.source)?;
                    let mut stop = runtime::stop();
                    tokio::select! {
                        biased;
                        _ = stop.wait_for(|stopped| *stopped) => None,
                        () = sleep_until(end) => None,
                        lack = hand_on(cluster, &pod, start, number, lines) => lack.map(|lack| (pod.clone(), lack.why())),
                    }
                }
            };
            join_all(pods.iter().enumerate().map(one))
                .await
                .into_iter()
                .flatten()
                .collect()
        })
    }
}

/// Until the log ends, with why; or nobody listens.
async fn hand_on(
    cluster: &super::api::Cluster,
    pod: &ProxyRef,
    start: Start,
    number: usize,
    lines: &SyncSender<Lines>,
) -> Option<Lack> {
    let mut log = match Follow::open(cluster, (&pod.namespace, &pod.pod, PROXY), start).await {
        Ok(log) => log,
        Err(Lack::Absent) => return Some(Lack::Gone("it has no log, or is no more".to_owned())),
        Err(lack) => return Some(lack),
    };
    loop {
        match log.next().await {
            Ok(new) => lines.send((number, new.concat())).ok()?,
            Err(Lack::Absent) => return Some(Lack::Gone("it is no more".to_owned())),
            Err(lack) => return Some(lack),
        }
    }
}
