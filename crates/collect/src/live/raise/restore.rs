//! Levels set back, with as many tries as the time allows.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use meshladder_capture::envoy::logging::{ComponentLevel, LevelChange, QueryStyle, queries};
use meshladder_capture::snapshot::ProxyRef;

use super::{End, RaiseContext};
use crate::live::api::{Cluster, JSON};
use crate::live::door::Door;
use crate::live::lack::Lack;
use crate::live::levels::{admin, set, told};
use crate::live::pace::Pace;
use crate::live::{Limits, runtime};

/// The first wait between two tries, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How often something is tried that is refused: who decides about rights may have a bad moment.
const REFUSALS: u32 = 3;

/// A request that got no answer may still be on its way.
const SETTLE: Duration = Duration::from_secs(1);

/// Sets a proxy back. It has a time of its own, four requests long, and only a second Ctrl-C ends
/// it before.
pub(super) async fn restore(
    cluster: &Cluster,
    pod: &ProxyRef,
    (change, style): (&LevelChange, QueryStyle),
    shared: &RaiseContext<'_>,
    is_unsure: bool,
) -> End {
    let time =
        (shared.limits.request_timeout * 4).clamp(Duration::from_secs(4), Duration::from_secs(120));
    let limits = Limits {
        timeout: time,
        ..shared.limits
    };
    let pace = Arc::new(Pace::new(
        limits,
        runtime::insist(),
        Arc::clone(&cluster.pace.tally),
    ));
    let cluster = cluster.paced(pace);
    let mut end = tries(&cluster, pod, change, style, shared.raise.port).await;
    if is_unsure && matches!(end, End::Restored { .. }) && cluster.pace.wait(SETTLE).await.is_ok() {
        end = tries(&cluster, pod, change, style, shared.raise.port).await;
    }
    if !matches!(end, End::Left { .. }) {
        shared
            .ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(pod);
    }
    end
}

async fn tries(
    cluster: &Cluster,
    pod: &ProxyRef,
    change: &LevelChange,
    style: QueryStyle,
    port: u16,
) -> End {
    let (mut wait, mut refusals, mut why) = (FIRST_WAIT, 0, String::new());
    loop {
        match once(cluster, pod, change, style, port).await {
            Ok(foreign) if foreign.is_empty() => {
                return End::Restored {
                    loud: change.loud_before(),
                };
            }
            Ok(foreign) => return End::Changed(foreign),
            Err(Lack::Gone(_)) => return End::Gone,
            Err(lack @ (Lack::OutOfTime | Lack::Stopped)) => {
                why = if why.is_empty() { lack.why() } else { why };
                break;
            }
            Err(lack) => {
                refusals += u32::from(matches!(
                    lack,
                    Lack::Refused(_) | Lack::Stranger(_) | Lack::Keyless(_)
                ));
                why = lack.why();
            }
        }
        if is_over(cluster, pod).await {
            return End::Gone;
        }
        if refusals >= REFUSALS || cluster.pace.wait(wait).await.is_err() {
            break;
        }
        wait = (wait * 2).min(LONGEST_WAIT);
    }
    End::Left {
        levels: change.before(),
        style,
        why,
    }
}

/// Sets back what still is as it was set; gives what somebody else has set meanwhile.
async fn once(
    cluster: &Cluster,
    pod: &ProxyRef,
    change: &LevelChange,
    style: QueryStyle,
    port: u16,
) -> Result<BTreeMap<String, ComponentLevel>, Lack> {
    let mut door = Door::open(cluster, admin(pod, port)).await?;
    let (_, now) = told(&mut door).await?;
    let undo = change.undo(&now);
    if undo.is_empty() {
        return Ok(change.foreign(&now));
    }
    if set(&mut door, &queries(&undo, style)).await.is_err() && door.is_open() {
        set(&mut door, &queries(&undo, QueryStyle::Single)).await?;
    }
    let (_, now) = told(&mut door).await?;
    if change.undo(&now).is_empty() {
        Ok(change.foreign(&now))
    } else {
        Err(Lack::failed("Envoy did not take the levels"))
    }
}

/// Whether the pod is no more, or nothing runs in it any longer. What is not known is not over.
async fn is_over(cluster: &Cluster, pod: &ProxyRef) -> bool {
    let path = format!(
        "/api/v1/namespaces/{}/pods?fieldSelector=metadata.name%3D{}",
        pod.namespace, pod.pod
    );
    let Ok(list) = cluster.get_json(&path, JSON).await else {
        return false;
    };
    let Some(items) = list["items"].as_array() else {
        return false;
    };
    let here = items
        .iter()
        .find(|item| item["metadata"]["name"] == pod.pod.as_str());
    here.is_none_or(|pod| {
        ["Succeeded", "Failed"]
            .iter()
            .any(|phase| pod["status"]["phase"] == *phase)
    })
}
