//! One proxy's part: its levels remembered, raised, watched and set back.

use std::sync::mpsc::TrySendError;
use std::sync::{Mutex, PoisonError};

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use meshladder_capture::envoy::logging::{ComponentLines, LevelChange, LogRate, QueryStyle};
use meshladder_capture::snapshot::ProxyRef;
use tokio::time::{Instant, sleep_until};

use super::cost::{Cost, cpu_now, rate_before, sample};
use super::restore::restore;
use super::{End, Ending, RaiseContext, RaiseEvent, StopReason, find};
use crate::live::api::Cluster;
use crate::live::door::Door;
use crate::live::follow::{Follow, Start};
use crate::live::lack::Lack;
use crate::live::levels::{admin, apply, told};
use crate::live::pods::PROXY;
use crate::live::runtime;

/// A proxy whose levels are known and whose log is open.
struct OpenProxy<'c> {
    cluster: &'c Cluster,
    pod: ProxyRef,
    change: LevelChange,
    log: Follow<'c>,
    cost: Cost,
}

/// First all are looked at, then those that can be raised are, all at the same time.
pub(super) async fn all(shared: &RaiseContext<'_>, clusters: &[Cluster]) -> Vec<Ending> {
    let (mut ready, mut endings) = (Vec::new(), Vec::new());
    let pods = shared.raise.pods.clone();
    let looks = pods
        .into_iter()
        .filter_map(|pod| Some((find(clusters, &pod)?, pod)))
        .map(|(cluster, pod)| async move {
            let looked = look(shared, cluster, &pod).await;
            (cluster, pod, looked)
        });
    let mut looks = stream::iter(looks).buffer_unordered(16);
    while let Some((cluster, pod, looked)) = looks.next().await {
        match looked {
            Ok((change, log, cost)) => ready.push(OpenProxy {
                cluster,
                pod,
                change,
                log,
                cost,
            }),
            Err(why) => endings.push(ending(
                cluster,
                pod,
                End::Untouched(why),
                None,
                Cost::default(),
            )),
        }
    }
    drop(looks);
    endings.extend(join_all(ready.into_iter().map(|ready| hold(shared, ready))).await);
    endings.sort_by(|a, b| a.pod.cmp(&b.pod));
    endings
}

fn ending(
    cluster: &Cluster,
    pod: ProxyRef,
    end: End,
    why: Option<StopReason>,
    cost: Cost,
) -> Ending {
    Ending {
        pod,
        context: cluster.context.clone(),
        end,
        why,
        cost,
    }
}

/// What has to change, the open log, and what it costs before; or why nothing is changed.
async fn look<'c>(
    shared: &RaiseContext<'_>,
    cluster: &'c Cluster,
    pod: &ProxyRef,
) -> Result<(LevelChange, Follow<'c>, Cost), String> {
    let why = |lack: Lack| lack.why();
    let (raise, max) = (shared.raise, shared.raise.max_rate);
    let levels = {
        let mut door = Door::open(cluster, admin(pod, raise.port))
            .await
            .map_err(why)?;
        told(&mut door).await.map_err(why)?.1
    };
    if levels.is_fine_grain() {
        return Err(
            "its loggers are source files (--enable-fine-grain-logging): what they are at is not told".to_owned()
        );
    }
    let change = raise.wanted.on(&levels)?;
    if change.steps.is_empty() {
        return Err("it has these levels already".to_owned());
    }
    // Without its log nobody would see that it logs too much.
    let no_log = |lack: Lack| format!("its log cannot be read: {}", lack.why());
    let before = rate_before(cluster, pod).await.map_err(no_log)?;
    if let Some(rate) = before.filter(|rate| *rate > max) {
        return Err(format!(
            "it logs {rate} bytes a second as it is, which is over --max-rate"
        ));
    }
    let cpu = cpu_now(cluster, pod).await.map(|(millis, _)| millis);
    let log = Follow::open(cluster, (&pod.namespace, &pod.pod, PROXY), Start::Tail(0))
        .await
        .map_err(no_log)?;
    Ok((
        change,
        log,
        Cost {
            before,
            cpu_before: Some(cpu),
            ..Cost::default()
        },
    ))
}

/// Raises the levels, watches, and sets them back.
async fn hold(shared: &RaiseContext<'_>, mut ready: OpenProxy<'_>) -> Ending {
    let start = Instant::now();
    let (pod, cluster) = (ready.pod.clone(), ready.cluster);
    // From here on it is set back, whatever the answer.
    let note = |style: QueryStyle| {
        let entry = (ready.change.clone(), style);
        shared
            .ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(pod.clone(), entry);
        style
    };
    let mut style = note(QueryStyle::Paths);
    let mut is_unsure = false;
    let why = match raise(shared, &ready).await {
        Ok(used) => {
            style = note(used);
            let set = RaiseEvent::Set(pod.clone(), ready.change.clone(), ready.cost.clone());
            let _ = shared.happenings.try_send(set);
            watched(shared, &mut ready, start).await
        }
        Err(lack) => {
            is_unsure = true;
            Some(reason(lack))
        }
    };
    ready.cost.time = start.elapsed();
    let end = restore(cluster, &pod, (&ready.change, style), shared, is_unsure).await;
    ending(cluster, pod, end, why, ready.cost)
}

async fn raise(shared: &RaiseContext<'_>, ready: &OpenProxy<'_>) -> Result<QueryStyle, Lack> {
    let mut door = Door::open(ready.cluster, admin(&ready.pod, shared.raise.port)).await?;
    let (_, style) = apply(&mut door, &ready.change).await?;
    let (_, now) = told(&mut door).await?;
    if ready.change.holds(&now) {
        Ok(style)
    } else {
        Err(Lack::failed("Envoy did not take the levels"))
    }
}

fn reason(lack: Lack) -> StopReason {
    match lack {
        Lack::Stopped => StopReason::Stopped,
        lack => StopReason::Failed(lack.why()),
    }
}

/// Tells lines until the time is up, which is no reason, or something else ends it.
async fn watched(
    shared: &RaiseContext<'_>,
    ready: &mut OpenProxy<'_>,
    start: Instant,
) -> Option<StopReason> {
    let end = start + shared.raise.time;
    let mut stop = runtime::stop();
    let (cpu, since, cluster, pod) = (
        Mutex::new(None),
        ready.cluster.clock.now(),
        ready.cluster,
        ready.pod.clone(),
    );
    let why = tokio::select! {
        biased;
        _ = stop.wait_for(|stopped| *stopped) => Some(StopReason::Stopped),
        () = sleep_until(end) => None,
        why = lines(shared, ready, start) => Some(why),
        () = sample(cluster, &pod, since, &cpu) => None,
    };
    ready.cost.cpu = cpu.into_inner().unwrap_or_default();
    why
}

async fn lines(shared: &RaiseContext<'_>, ready: &mut OpenProxy<'_>, start: Instant) -> StopReason {
    let mut wanted = ComponentLines::new(&shared.raise.wanted);
    let mut flow = LogRate::default();
    loop {
        let lines = match ready.log.next().await {
            Ok(lines) => lines,
            Err(lack) => return reason(lack),
        };
        let bytes = lines.iter().map(|line| line.len() as u64).sum();
        let rate = flow.add(
            u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
            bytes,
        );
        (ready.cost.bytes, ready.cost.peak) = (flow.total(), flow.peak());
        if rate > shared.raise.max_rate {
            return StopReason::TooMuch(rate);
        }
        for line in lines {
            if wanted.takes(line.trim_end()) || shared.raise.all_lines {
                // Who is too slow to read must not keep levels up.
                match shared
                    .happenings
                    .try_send(RaiseEvent::Line(ready.pod.clone(), line))
                {
                    Ok(()) => {}
                    Err(TrySendError::Full(_)) => ready.cost.dropped += 1,
                    Err(TrySendError::Disconnected(_)) => return StopReason::Stopped,
                }
            }
        }
    }
}
