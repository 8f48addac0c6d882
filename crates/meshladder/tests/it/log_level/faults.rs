//! Whatever goes wrong, in whatever combination: the levels at the end are those at the start, or
//! the command that makes them so is told.

use super::Bed;
use crate::fake::Trouble;

const PLACES: [&str; 6] = [
    "/portforward",
    "PORT shop/cart-00000/logging?",
    "PORT shop/cart-00000/logging",
    "EXEC shop/cart-00000/logging",
    "follow=true",
    "/log?",
];

const TROUBLES: [Trouble; 4] = [
    Trouble::Status(500, None),
    Trouble::Silence,
    Trouble::Cut,
    Trouble::Lost,
];

/// How it is ended.
const ENDS: [&str; 3] = ["", "-INT", "-TERM"];

#[test]
fn levels_are_set_back_or_the_command_is_told() {
    let rounds = std::env::var("MESHLADDER_FAULT_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(6);
    std::thread::scope(|scope| {
        for seed in [0x5eed_u64, 0xfeed] {
            scope.spawn(move || (0..rounds).for_each(|round| one(seed * 1000 + round)));
        }
    });
}

fn one(seed: u64) {
    let mut state = seed;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let is_denied = random(4) == 0;
    let bed = Bed::with(1, |state| {
        if is_denied {
            state.deny(&["create pods/portforward"])
        } else {
            state
        }
    });
    let before = bed.levels();
    let faults: Vec<_> = (0..=random(3))
        .map(|_| {
            (
                PLACES[random(PLACES.len())],
                TROUBLES[random(TROUBLES.len())].clone(),
                1 + random(8),
            )
        })
        .collect();
    let (early, end) = (random(2) == 0, ENDS[random(ENDS.len())]);
    let sow = || {
        for (at, trouble, times) in &faults {
            bed.fault(at, trouble.clone(), *times);
        }
    };
    if early {
        sow();
    }
    let time = if end.is_empty() { "1s" } else { "10m" };
    let words = [
        "log-level",
        "cart-00000.shop",
        "--level",
        "admin:debug,rbac:trace",
        "--request-timeout",
        "500ms",
    ];
    let mut running = bed.start(&[&words[..], &["--for", time]].concat());
    while running
        .child
        .try_wait()
        .expect("the child can be asked")
        .is_none()
        && !bed.has("admin: debug")
    {
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    if !early {
        sow();
        bed.cut_logs();
    }
    if !end.is_empty()
        && running
            .child
            .try_wait()
            .expect("the child can be asked")
            .is_none()
    {
        running.signal(end);
    }
    let run = running.end();
    let told = format!(
        "seed {seed}: {faults:?} early {early} end {end}: {}",
        run.stderr
    );
    assert_ne!(run.code, 2, "{told}");
    if bed.levels() == before {
        return;
    }
    assert_eq!(run.code, 1, "{told}");
    bed.fake
        .state
        .faults
        .lock()
        .expect("nobody panicked")
        .clear();
    let command = run
        .stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("meshladder "));
    let command = command.unwrap_or_else(|| panic!("{told}"));
    let set = crate::support::meshladder(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(
        (set.code, bed.levels()),
        (0, before),
        "{told} {}",
        set.stderr
    );
}
