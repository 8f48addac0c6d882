//! Whatever ends it, the levels are what they were.

use serde_json::json;

use super::{Bed, PATIENCE};
use crate::fake::Trouble;

#[test]
fn levels_are_raised_and_their_lines_told_and_set_back_when_the_time_is_up() {
    let bed = Bed::new();
    let before = bed.levels();
    let words = [
        "log-level",
        "cart-00000.shop",
        "--level",
        "admin:debug,rbac:debug",
        "--for",
        "8s",
    ];
    let mut running = bed.start(&words);
    running.until("the levels are up", || {
        bed.has("admin: debug") && bed.has("rbac: debug")
    });
    assert!(bed.has("http: warning"), "only the named ones");
    let out = running.out.clone();
    running.until("a line is told", || {
        bed.make_lines();
        std::fs::read_to_string(&out).is_ok_and(|text| text.contains("envoy admin "))
    });
    let run = running.end();
    assert_eq!((run.code, bed.levels()), (0, before), "{}", run.stderr);
    let own = |line: &str| line.starts_with("cart-00000.shop: ") && line.contains("\tenvoy admin ");
    assert!(run.stdout.lines().all(own), "{}", run.stdout);
    for told in [
        "admin warning → debug, rbac warning → debug for 8 s",
        "its levels are what they were",
        "CPU not known",
    ] {
        assert!(run.stderr.contains(told), "{told} in {}", run.stderr);
    }
}

#[test]
fn signals_set_them_back() {
    for name in ["-INT", "-TERM", "-HUP"] {
        let bed = Bed::new();
        let before = bed.levels();
        let running = {
            let changed = bed.raised(&[]);
            assert_ne!(bed.levels(), before);
            changed
        };
        running.signal(name);
        let run = running.end();
        assert_eq!(
            (run.code, bed.levels()),
            (130, before),
            "{name}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_log_that_is_cut_is_opened_again_and_one_that_stays_away_ends_it() {
    let bed = Bed::new();
    let before = bed.levels();
    let mut running = bed.raised(&[]);
    let opened = || {
        bed.fake
            .state
            .requests()
            .iter()
            .filter(|line| line.contains("follow=true"))
            .count()
    };
    let first = opened();
    bed.cut_logs();
    running.until("it is opened again", || opened() > first);
    let out = running.out.clone();
    running.until("lines are told again", || {
        bed.make_lines();
        std::fs::read_to_string(&out).is_ok_and(|text| text.contains("/ready"))
    });
    assert!(bed.has("admin: debug"));
    bed.fault("follow=true", Trouble::Status(500, None), 100);
    bed.cut_logs();
    let run = running.end();
    assert_eq!((run.code, bed.levels()), (1, before), "{}", run.stderr);
    assert!(run.stderr.contains("set back after"), "{}", run.stderr);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let unique: std::collections::BTreeSet<&str> = lines.iter().copied().collect();
    assert_eq!(
        lines.len(),
        unique.len(),
        "no line is told twice: {}",
        run.stdout
    );
}

#[test]
fn who_logs_too_much_is_set_back_at_once() {
    let bed = Bed::new();
    let before = bed.levels();
    let words = [
        "log-level",
        "cart-00000.shop",
        "--level",
        "trace",
        "--yes",
        "--max-rate",
        "20KB",
        "--for",
        "10m",
    ];
    let mut running = bed.start(&words);
    let deadline = std::time::Instant::now() + PATIENCE;
    while running
        .child
        .try_wait()
        .expect("the child can be asked")
        .is_none()
    {
        assert!(std::time::Instant::now() < deadline, "{}", running.told());
        (0..20).for_each(|_| bed.make_lines());
    }
    let run = running.end();
    assert_eq!((run.code, bed.levels()), (1, before), "{}", run.stderr);
    assert!(
        run.stderr.contains("in a second, over --max-rate 20.0 kB"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_pod_that_is_no_more_needs_nothing() {
    let bed = Bed::new();
    let running = bed.raised(&[]);
    bed.fake
        .state
        .gone
        .lock()
        .expect("nobody panicked")
        .insert("shop/cart-00000".to_owned());
    bed.cut_logs();
    let run = running.end();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("cart-00000.shop is no more"),
        "{}",
        run.stderr
    );
}

#[test]
fn where_ports_may_not_be_forwarded_the_agent_sets_levels_and_sets_them_back() {
    let bed = Bed::with(1, |state| state.deny(&["create pods/portforward"]));
    let before = bed.levels();
    let running = bed.raised(&[]);
    running.signal("-INT");
    let run = running.end();
    assert_eq!((run.code, bed.levels()), (130, before), "{}", run.stderr);
    assert!(
        bed.fake
            .state
            .requests()
            .iter()
            .any(|line| line.starts_with("EXEC shop/cart-00000/logging?"))
    );
}

#[test]
fn without_a_way_to_the_proxy_or_to_its_log_nothing_is_changed() {
    for (denied, told) in [
        (
            &["create pods/portforward", "create pods/exec"][..],
            "no right to open ports of pods",
        ),
        (&["get pods/log"][..], "its log cannot be read: "),
    ] {
        let bed = Bed::with(1, |state| state.deny(denied));
        let before = bed.levels();
        let run = bed.run(&["log-level", "cart-00000.shop", "--level", "admin:debug"]);
        assert!([3, 4].contains(&run.code), "{}", run.stderr);
        assert_eq!(bed.levels(), before);
        assert!(
            run.stderr.contains("nothing was changed") && run.stderr.contains(told),
            "{}",
            run.stderr
        );
        let sets = bed
            .fake
            .state
            .requests()
            .into_iter()
            .filter(|line| line.contains("logging?"))
            .count();
        assert_eq!(sets, 0);
    }
}

#[test]
fn what_cannot_be_set_back_is_told_with_the_command_that_does_it() {
    let bed = Bed::new();
    let before = bed.levels();
    let running = bed.raised(&["--request-timeout", "2s"]);
    bed.fault("/portforward", Trouble::Status(500, None), usize::MAX);
    running.signal("-INT");
    let run = running.end();
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(bed.has("admin: debug"), "it could not");
    let agent = "-- pilot-agent request POST 'logging?admin=warning'";
    assert!(
        run.stderr
            .contains("kubectl exec -n shop cart-00000 -c istio-proxy --kubeconfig"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains(agent), "{}", run.stderr);
    bed.fake
        .state
        .faults
        .lock()
        .expect("nobody panicked")
        .clear();
    let command = run
        .stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("meshladder "))
        .expect("our own command");
    let words: Vec<&str> = command.split(' ').collect();
    let set = crate::support::meshladder(&words);
    assert_eq!(
        (set.code, bed.levels()),
        (0, before),
        "{command}: {}",
        set.stderr
    );
}

#[test]
fn a_second_ctrl_c_gives_up_and_says_so() {
    let bed = Bed::new();
    let mut running = bed.raised(&["--request-timeout", "30s"]);
    bed.fault("/portforward", Trouble::Silence, usize::MAX);
    let tries = || {
        bed.fake
            .state
            .requests()
            .iter()
            .filter(|line| line.contains("/portforward"))
            .count()
    };
    let first = tries();
    running.signal("-INT");
    running.until("it tries to set back", || tries() > first);
    running.signal("-INT");
    let run = running.end();
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("--restore admin:warning"),
        "{}",
        run.stderr
    );
}

#[test]
fn what_somebody_else_set_meanwhile_is_left_alone() {
    let bed = Bed::new();
    let running = bed.raised(&[]);
    let head = b"POST /logging?admin=info HTTP/1.1\r\nhost: admin\r\ncontent-length: 0\r\n\r\n";
    super::Client::new(bed.ports[0]).send(head);
    running.signal("-INT");
    let run = running.end();
    assert_eq!(run.code, 1, "it is not what it was: {}", run.stderr);
    assert!(
        run.stderr
            .contains("somebody else has set admin:info meanwhile"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("are what they were"), "{}", run.stderr);
    assert!(bed.has("admin: info"));
}

#[test]
fn an_envoy_that_takes_one_component_at_a_time_is_asked_so() {
    let bed = Bed::new();
    let before = bed.levels();
    bed.fault("logging?paths=", Trouble::Status(400, None), usize::MAX);
    let words = [
        "log-level",
        "cart-00000.shop",
        "--level",
        "admin:debug,rbac:trace",
        "--for",
        "10m",
    ];
    let mut running = bed.start(&words);
    running.until("both are up", || {
        bed.has("admin: debug") && bed.has("rbac: trace")
    });
    running.signal("-INT");
    let run = running.end();
    assert_eq!((run.code, bed.levels()), (130, before), "{}", run.stderr);
    let asked = bed.fake.state.requests();
    for query in [
        "?admin=debug",
        "?rbac=trace",
        "?admin=warning",
        "?rbac=warning",
    ] {
        assert!(
            asked.iter().any(|line| line.ends_with(query)),
            "{query} in {asked:?}"
        );
    }
}

#[test]
fn the_proxy_s_cpu_is_told_where_it_is_measured() {
    let usage = json!({"metadata": {"name": "cart-00000", "namespace": "shop"}, "timestamp": "2026-11-15T06:00:00Z",
        "containers": [{"name": "app", "usage": {"cpu": "1"}}, {"name": "istio-proxy", "usage": {"cpu": "7200000n"}}]});
    let bed = Bed::with(1, |mut state| {
        state
            .objects
            .insert("pods.metrics.k8s.io".to_owned(), vec![usage]);
        state
    });
    let mut running = bed.raised(&[]);
    let err = running.err.clone();
    running.until("the change is told", || {
        std::fs::read_to_string(&err).is_ok_and(|text| text.contains("millicores"))
    });
    running.signal("-INT");
    let run = running.end();
    assert!(
        run.stderr.contains("of log a second, 7 millicores"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("CPU was not measured again"),
        "{}",
        run.stderr
    );
}
