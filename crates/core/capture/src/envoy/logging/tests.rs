use super::*;
use meshladder_text::json::Raw;
use meshladder_text::tree::Node;

const TOLD: &str =
    "active loggers:\n  admin: warning\n  jwt: warning\n  misc: error\n  rbac: info\n\n";

fn levels(text: &str) -> LogLevels {
    LogLevels::parse(text).expect("an answer of /logging")
}

fn wanted(text: &str) -> LevelRequest {
    LevelRequest::parse(text).expect("levels")
}

fn pod(text: &str) -> Node {
    Node::from_json(Raw::of(text).expect("JSON")).expect("JSON")
}

#[test]
fn the_answer_of_logging_is_read_and_any_other_is_not() {
    let told = levels(TOLD);
    assert_eq!(
        told.told(),
        "admin:warning,jwt:warning,misc:error,rbac:info"
    );
    assert_eq!(told.usual(), Some(ComponentLevel::Warning));
    assert_eq!(
        told.except(ComponentLevel::Warning).collect::<Vec<_>>(),
        [
            ("misc", ComponentLevel::Error),
            ("rbac", ComponentLevel::Info)
        ]
    );
    for other in [
        "",
        "error: unknown logger name\n",
        "current log level is info\n",
    ] {
        assert_eq!(LogLevels::parse(other), None, "{other}");
    }
    assert!(!told.is_fine_grain());
    assert!(levels("active loggers:\n").is_fine_grain());
    assert!(levels("active loggers:\n  source/common/common/logger.cc: info\n").is_fine_grain());
}

#[test]
fn ztunnel_s_answer_is_read_too() {
    let told = LogLevels::parse_ztunnel("current log level is hickory_server::server=off,warn\n")
        .expect("levels");
    assert_eq!(told.told(), "default:warning,hickory_server::server:off");
    assert_eq!(LogLevels::parse_ztunnel(TOLD), None);
}

#[test]
fn levels_are_wanted_as_istioctl_takes_them() {
    assert_eq!(
        wanted("rbac:debug, jwt=warn").named,
        [
            ("rbac", ComponentLevel::Debug),
            ("jwt", ComponentLevel::Warning)
        ]
        .map(|(name, level)| (name.to_owned(), level))
        .into()
    );
    assert_eq!(wanted("envoy::rbac:debug"), wanted("rbac:debug"));
    for all in ["debug", "all:debug", "*:debug", "rbac:trace,debug"] {
        assert_eq!(
            wanted(all),
            LevelRequest {
                all: Some(ComponentLevel::Debug),
                named: BTreeMap::new()
            },
            "{all}"
        );
        assert!(wanted(all).is_flood());
    }
    assert!(!wanted("info").is_flood() && !wanted("rbac:trace").is_flood());
    for wrong in [
        "",
        ",",
        "rbac:loud",
        "none",
        ":debug",
        "a b:debug",
        "x&level:debug",
    ] {
        assert!(LevelRequest::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn only_what_is_not_so_yet_is_changed_and_only_that_is_undone() {
    let change = wanted("rbac:debug,jwt:debug,admin:warning")
        .on(&levels(TOLD))
        .expect("known components");
    assert_eq!(
        change.queries(QueryStyle::Paths),
        ["paths=jwt:debug,rbac:debug"]
    );
    assert_eq!(
        change.queries(QueryStyle::Single),
        ["jwt=debug", "rbac=debug"]
    );
    let now =
        levels("active loggers:\n  admin: debug\n  jwt: debug\n  misc: error\n  rbac: debug\n");
    assert!(change.holds(&now) && !change.holds(&levels(TOLD)));
    assert_eq!(
        queries(&change.undo(&now), QueryStyle::Paths),
        ["paths=jwt:warning,rbac:info"]
    );
    // Somebody else has had a hand in jwt meanwhile.
    let other = levels("active loggers:\n  jwt: info\n  rbac: debug\n");
    assert_eq!(
        queries(&change.undo(&other), QueryStyle::Paths),
        ["rbac=info"]
    );
    let jwt = BTreeMap::from([("jwt".to_owned(), ComponentLevel::Info)]);
    assert_eq!(change.foreign(&other), jwt);
    assert!(change.foreign(&now).is_empty() && change.foreign(&levels(TOLD)).is_empty());
    assert!(change.undo(&levels(TOLD)).is_empty());
    assert!(change.loud_before().is_empty());
    let louder = wanted("rbac:trace").on(&now).expect("known components");
    let rbac = BTreeMap::from([("rbac".to_owned(), ComponentLevel::Debug)]);
    assert_eq!(louder.loud_before(), rbac);
    assert_eq!(
        wanted("nope:debug,rbac:info").on(&levels(TOLD)),
        Err("this Envoy has no component nope".to_owned())
    );
}

#[test]
fn a_level_for_all_is_one_request_and_is_undone_component_by_component() {
    let change = wanted("debug,rbac:trace")
        .on(&levels(TOLD))
        .expect("known components");
    assert_eq!(
        change.queries(QueryStyle::Paths),
        ["level=debug", "rbac=trace"]
    );
    let now =
        levels("active loggers:\n  admin: debug\n  jwt: debug\n  misc: debug\n  rbac: trace\n");
    assert_eq!(
        queries(&change.undo(&now), QueryStyle::Paths),
        ["paths=admin:warning,jwt:warning,misc:error,rbac:info"]
    );
    let none = wanted("warning")
        .on(&levels("active loggers:\n  a: warning\n"))
        .expect("all");
    assert!(none.queries(QueryStyle::Paths).is_empty());
}

#[test]
fn defaults_are_what_the_proxy_is_started_with() {
    let args = r#"{"spec":{"containers":[{"name":"app","args":["--proxyLogLevel=trace"]},{"name":"istio-proxy","args":["proxy","--proxyLogLevel=info","--proxyComponentLogLevel","rbac:debug"]}]}}"#;
    let started = DefaultLevels::of_pod(&pod(args));
    assert_eq!(
        (started.of("http"), started.of("rbac"), started.of("misc")),
        (
            ComponentLevel::Info,
            ComponentLevel::Debug,
            ComponentLevel::Info
        )
    );
    let asked = r#"{"metadata":{"annotations":{"sidecar.istio.io/logLevel":"error","sidecar.istio.io/componentLogLevel":"jwt:debug"}},"spec":{"initContainers":[{"name":"istio-proxy","args":["proxy"]}]}}"#;
    let asked = DefaultLevels::of_pod(&pod(asked));
    assert_eq!(
        (asked.of("http"), asked.of("jwt")),
        (ComponentLevel::Error, ComponentLevel::Debug)
    );
    let nothing = DefaultLevels::of_pod(&pod("{}"));
    assert_eq!(
        (nothing.of("http"), nothing.of("misc")),
        (ComponentLevel::Warning, ComponentLevel::Error)
    );
    assert_eq!(
        nothing.missed_by(&levels(TOLD)),
        [("rbac".to_owned(), ComponentLevel::Warning)].into()
    );
}

#[test]
fn lines_are_told_by_their_component() {
    let rbac = "2026-11-15T16:57:16.401175Z\tdebug\tenvoy rbac external/envoy/source/extensions/filters/http/rbac/rbac_filter.cc:114\tchecking request\tthread=23";
    for (line, of) in [
        (rbac, LineOwner::Component("rbac")),
        (
            "[2026-11-15 16:57:18.495][28818][debug][http] [source/common/http/x.cc:102] done",
            LineOwner::Component("http"),
        ),
        (
            r#"{"level":"debug","time":"2026-11-15T16:57:16Z","scope":"envoy jwt","msg":"x"}"#,
            LineOwner::Component("jwt"),
        ),
        (
            r#"{"level":"info","time":"2026-11-15T16:57:16Z","scope":"cache","msg":"x"}"#,
            LineOwner::Other,
        ),
        (
            r#"{"authority":"cart","response_code":200}"#,
            LineOwner::Other,
        ),
        (
            "2026-11-15T16:57:16.401175Z\tinfo\tcache\tgenerated new workload certificate",
            LineOwner::Other,
        ),
        (
            r#"[2026-11-15T06:31:13.665Z] "GET /[a][1][b][c] HTTP/1.1" 200 -"#,
            LineOwner::Other,
        ),
        ("':authority', 'cart'", LineOwner::More),
        ("", LineOwner::More),
    ] {
        assert_eq!(LineOwner::line(line), of, "{line}");
    }
}

#[test]
fn what_a_component_writes_over_several_lines_is_taken_as_a_whole() {
    let mut lines = ComponentLines::new(&wanted("http:debug"));
    let taken = [
        (
            "2026-11-15T16:57:16.4Z\tdebug\tenvoy http source/x.cc:1\trequest headers complete:",
            true,
        ),
        ("':authority', 'cart'", true),
        (
            r#"[2026-11-15T06:31:13.665Z] "GET / HTTP/1.1" 200 -"#,
            false,
        ),
        ("':path', '/'\tthread=7", true),
        ("not of an entry", false),
        (
            "2026-11-15T16:57:16.4Z\tdebug\tenvoy router source/x.cc:1\trouter decoding headers:",
            false,
        ),
        ("':authority', 'cart'\tthread=7", false),
        (
            "2026-11-15T16:57:16.4Z\twarning\tenvoy http source/x.cc:1\tone line\tthread=7",
            true,
        ),
    ];
    for (line, is_taken) in taken {
        assert_eq!(lines.takes(line), is_taken, "{line}");
    }
    let mut all = ComponentLines::new(&wanted("debug"));
    assert!(all.takes(taken[5].0) && !all.takes(taken[2].0));
}

#[test]
fn rates_are_those_of_the_last_second() {
    let mut flow = LogRate::default();
    assert_eq!(
        [
            flow.add(0, 10),
            flow.add(999, 5),
            flow.add(1000, 1),
            flow.add(5000, 2)
        ],
        [10, 15, 6, 2]
    );
    assert_eq!((flow.total(), flow.peak()), (18, 15));
    let log = "2026-11-15T06:00:00.5Z abc\n2026-11-15T06:00:02.5Z defgh\n";
    assert_eq!(before(log, 10, false), Some(1));
    assert_eq!(before(log, 10, true), Some(5));
    assert_eq!(
        (before("", 10, false), before("", 10, true)),
        (Some(0), None)
    );
}

#[test]
fn quantities_are_millicores() {
    for (text, millis) in [
        ("250m", 250.0),
        ("2", 2000.0),
        ("1500000n", 1.5),
        ("30u", 0.03),
    ] {
        assert!(
            cpu(text).is_some_and(|found| (found - millis).abs() < 1e-9),
            "{text}"
        );
    }
    assert_eq!(cpu("much"), None);
}
