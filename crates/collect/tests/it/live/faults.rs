//! Everything that can go wrong, one by one and together: a run always ends in time, and says what
//! is missing.

use std::time::{Duration, Instant};

use meshladder_capture::snapshot::{Coverage, Snapshot};
use meshladder_collect::live::Limits;
use meshladder_judge::ladder::{self, Question, Scope};
use meshladder_judge::report::Report;
use meshladder_mesh::Mesh;
use meshladder_output::report::to_json;
use serde_json::{Value, json};

use super::{quick, whole, why};
use crate::fake::{Fake, Fault, State, Trouble};
use crate::support::coverage;

/// Where something goes wrong, and the path of the bundle that then lacks something.
const PLACES: [(&str, &str); 8] = [
    ("/api/v1/services", "k8s/services.json"),
    ("/api/v1/pods?", "k8s/pods.json"),
    ("/configmaps", "k8s/configmaps.json"),
    ("/portforward", "proxies/"),
    ("continue=500", "k8s/events.json"),
    (
        "PORT shop/cart-00001/config_dump",
        "proxies/shop/cart-00001/",
    ),
    ("PORT istio-system/istiod-1/debug/syncz", "istiod/istiod-1/"),
    ("/pods/cart-00002/log", "logs/"),
];

/// How many combinations are tried.
const ROUNDS: usize = 16;

const TROUBLES: [Trouble; 9] = [
    Trouble::Status(500, None),
    Trouble::Status(429, Some(3600)),
    Trouble::Status(409, None),
    Trouble::Status(410, None),
    Trouble::Silence,
    Trouble::Cut,
    Trouble::Html,
    Trouble::Nonsense,
    Trouble::Trickle,
];

fn hasty() -> Limits {
    Limits {
        timeout: Duration::from_secs(12),
        request_timeout: Duration::from_secs(1),
        concurrency: 8,
        ..quick()
    }
}

/// A run may be late by what a busy machine takes to notice that the time is over.
const LATE: Duration = Duration::from_secs(10);

/// More than a page of them.
fn events() -> Vec<Value> {
    let event = |number: usize| json!({"metadata": {"name": format!("e-{number}"), "namespace": "shop"}, "type": "Warning"});
    (0..600).map(event).collect()
}

/// The report of whatever could be read; no lack stops it.
fn climbed(snapshot: &Snapshot) -> Report {
    let mesh = Mesh::build(snapshot);
    ladder::climb(
        snapshot,
        &mesh,
        &Question {
            scope: Scope::Mesh,
            seen: None,
            threads: 1,
        },
    )
}

fn in_time(fake: &Fake) -> Snapshot {
    let start = Instant::now();
    let snapshot = whole(fake, hasty());
    assert!(
        start.elapsed() < hasty().timeout + LATE,
        "it took {:?}",
        start.elapsed()
    );
    snapshot
}

#[test]
fn each_fault_is_noted_where_it_hurts_and_nowhere_else() {
    std::thread::scope(|scope| {
        for (at, path) in PLACES {
            scope.spawn(move || {
                TROUBLES
                    .iter()
                    .filter(|trouble| hurts(at, trouble))
                    .for_each(|t| is_noted(at, path, t));
            });
        }
    });
}

/// What a log or a dump holds is for the reader of the Snapshot to judge: a page of HTML is taken.
fn hurts(at: &str, trouble: &Trouble) -> bool {
    // An expired page is answered by starting again, at last without pages.
    if at.starts_with("continue") && *trouble == Trouble::Status(410, None) {
        return false;
    }
    !((at.contains("/log") || at.starts_with("PORT"))
        && matches!(trouble, Trouble::Html | Trouble::Nonsense))
}

fn is_noted(at: &str, path: &str, trouble: &Trouble) {
    let mut state = State::made_up(4, 100);
    state.objects.insert("events".to_owned(), events());
    let fake = Fake::with(state);
    fake.state.fault(Fault::always(at, trouble.clone()));
    let snapshot = in_time(&fake);
    climbed(&snapshot);
    let told = coverage(&snapshot, path);
    assert!(
        ["partial", "denied"].contains(&told),
        "{at} {trouble:?}: {told}"
    );
    assert!(!why(&snapshot, path).is_empty(), "{at} {trouble:?}");
    assert_eq!(
        coverage(&snapshot, "k8s/namespaces.json"),
        "complete",
        "{at} {trouble:?}"
    );
}

#[test]
fn faults_in_any_combination_end_in_time() {
    let mut seed = 0x5eed_u64;
    let mut random = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).expect("31 bits") % below
    };
    for round in 0..ROUNDS {
        let mut state = State::made_up(6, 1000);
        state.objects.insert("events".to_owned(), events());
        for right in [
            "list services in all",
            "create pods/portforward",
            "create pods/exec",
            "get pods/log",
        ] {
            if random(4) == 0 {
                state = state.deny(&[right]);
            }
        }
        let fake = Fake::with(state);
        for _ in 0..=random(4) {
            let (at, _) = PLACES[random(PLACES.len())];
            fake.state.fault(Fault::times(
                at,
                TROUBLES[random(TROUBLES.len())].clone(),
                1 + random(5),
            ));
        }
        let snapshot = in_time(&fake);
        assert_eq!(
            coverage(&snapshot, "k8s/namespaces.json"),
            "complete",
            "round {round}"
        );
        let report = to_json(&climbed(&snapshot));
        for path in ["k8s/services.json", "k8s/pods.json", "proxies/"] {
            let told = json!(why(&snapshot, path)).to_string();
            assert!(
                report.contains(told.trim_matches('"')),
                "round {round}: {path}: {told}"
            );
        }
        let silent = snapshot
            .coverages()
            .filter(|(_, _, coverage)| match coverage {
                Coverage::Partial(why) | Coverage::Denied(why) => why.is_empty(),
                _ => false,
            });
        assert_eq!(silent.count(), 0);
    }
}

#[test]
fn two_thousand_proxies_are_read_so_many_at_a_time() {
    let fake = Fake::with(State::made_up(2000, 100));
    let limits = Limits {
        timeout: Duration::from_secs(300),
        concurrency: 24,
        ..Limits::default()
    };
    let snapshot = whole(&fake, limits);
    assert_eq!(
        coverage(&snapshot, "proxies/"),
        "complete",
        "{}",
        why(&snapshot, "proxies/")
    );
    let busiest = fake.state.busiest.load(std::sync::atomic::Ordering::SeqCst);
    // A forwarded port is a request and then a connection: while one ends the next may begin.
    assert!((20..=2 * 24).contains(&busiest), "{busiest}");
}
