//! A forwarded port that leads to a real Envoy's admin interface.

use std::net::SocketAddr;
use std::sync::Arc;

use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::snapshot::{DocId, Need, ProxyRef, Shape};
use meshladder_collect::live::{Choice, ProxyWish, Wish};
use meshladder_judge::diff::{self, ProxySide};
use serde_json::json;

use super::{all_proxies, quick, session, why};
use crate::fake::{Fake, State};
use crate::harness::envoy::Envoy;
use crate::support::{coverage, ids, text};

#[test]
fn a_real_envoy_tells_all_documents_through_a_forwarded_port() {
    let (_envoy, fake) = one_envoy();
    let mut session = session(&fake, quick());
    let snapshot = session.objects(&Wish::default()).expect("it is small");
    let snapshot = session
        .proxies(snapshot, &one_proxy())
        .expect("it is small");
    assert_eq!(
        coverage(&snapshot, "proxies/"),
        "complete",
        "{}",
        why(&snapshot, "proxies/")
    );
    let files = [
        "certs.json",
        "clusters.json",
        "config_dump.json",
        "listeners.json",
        "logging.txt",
        "server_info.json",
        "stats.txt",
    ];
    assert_eq!(
        ids(&snapshot),
        files.map(|file| format!("proxies/shop/cart-00000/{file}"))
    );
    let dump = text(&snapshot, "proxies/shop/cart-00000/config_dump.json");
    let dump = Dump::index(&dump, &[Section::Listeners]).expect("a dump");
    assert_eq!(
        dump.of(Section::Listeners)
            .map(|listener| listener.name.as_ref())
            .collect::<Vec<_>>(),
        ["told"]
    );
    assert!(text(&snapshot, "proxies/shop/cart-00000/logging.txt").contains("admin: "));
    assert_eq!(snapshot.proxies_with(Shape::Stats).count(), 1);
}

#[test]
fn a_real_envoy_tells_one_section_alone_in_the_shape_it_has_in_the_whole() {
    let (_envoy, fake) = one_envoy();
    let mut dumps = Vec::new();
    for sections in [vec![Section::Listeners], Vec::new()] {
        let mut session = session(&fake, quick());
        let snapshot = session.objects(&Wish::default()).expect("it is small");
        let wish = ProxyWish {
            shapes: vec![Shape::ConfigDump],
            sections,
            ..one_proxy()
        };
        let snapshot = session.proxies(snapshot, &wish).expect("it is small");
        dumps.push(text(&snapshot, "proxies/shop/cart-00000/config_dump.json"));
    }
    let [part, whole] =
        [&dumps[0], &dumps[1]].map(|dump| Dump::index(dump, &Section::ALL).expect("a dump"));
    assert!(
        part.section(Section::Bootstrap).is_none() && whole.section(Section::Bootstrap).is_some()
    );
    let listeners = |dump: &Dump<'_>| {
        dump.of(Section::Listeners)
            .map(|l| l.name.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(listeners(&part), listeners(&whole));
}

/// What is running differs from what is running beside it, and not from itself a moment later.
#[test]
fn two_real_envoys_are_compared() {
    let (_first, one) = envoy("told");
    let (_second, other) = envoy("other");
    let mut state = State::made_up(2, 10);
    state.real.insert("shop/cart-00000:15000".to_owned(), one);
    state.real.insert("shop/cart-00001:15000".to_owned(), other);
    let fake = Fake::with(state);
    let dumps = || {
        let mut session = session(&fake, quick());
        let needs = [Need::of_path("k8s/pods.json")].into();
        let snapshot = session
            .objects(&Wish {
                needs,
                ..Wish::default()
            })
            .expect("it is small");
        let wish = ProxyWish {
            shapes: vec![Shape::ConfigDump],
            logs: None,
            ..all_proxies()
        };
        let snapshot = session.proxies(snapshot, &wish).expect("it is small");
        ["cart-00000", "cart-00001"]
            .map(|pod| text(&snapshot, &format!("proxies/shop/{pod}/config_dump.json")))
    };
    let ([left, right], [later, _]) = (dumps(), dumps());
    let side = |name: &str, text| ProxySide {
        name: name.to_owned(),
        doc: DocId::new(format!("proxies/shop/{name}/config_dump.json")),
        text,
        names: Arc::default(),
        is_same_mesh: true,
        is_istiods: false,
    };
    let differ = diff::proxies(&side("a", &left), &side("b", &right)).expect("both are dumps");
    let listeners = differ
        .changes
        .iter()
        .filter(|change| change.kind == "listener");
    let mut names: Vec<&str> = listeners.map(|change| change.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["other", "told"]);
    let same = diff::proxies(&side("a", &left), &side("a", &later)).expect("both are dumps");
    assert_eq!((same.changes, same.noise.total()), (Vec::new(), 0));
}

fn one_proxy() -> ProxyWish {
    let cart = ProxyRef {
        source: String::new(),
        namespace: "shop".to_owned(),
        pod: "cart-00000".to_owned(),
    };
    ProxyWish {
        choice: Choice::These(vec![cart]),
        logs: None,
        ..all_proxies()
    }
}

/// A cluster whose only pod is a real Envoy.
fn one_envoy() -> (Envoy, Fake) {
    let (envoy, address) = envoy("told");
    let mut state = State::made_up(1, 10);
    state
        .real
        .insert("shop/cart-00000:15000".to_owned(), address);
    (envoy, Fake::with(state))
}

/// An Envoy with a listener of that name, and where its admin port is.
fn envoy(listener: &str) -> (Envoy, SocketAddr) {
    let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": 0}});
    let listener = json!({"name": listener, "address": address, "filter_chains": [{"filters": [{"name": "envoy.filters.network.echo",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.network.echo.v3.Echo"}}]}]});
    let config =
        json!({"admin": {"address": address}, "static_resources": {"listeners": [listener]}});
    let envoy = Envoy::start(&config);
    let told = std::fs::read_to_string(envoy.folder.join("admin")).expect("its address");
    (envoy, told.trim().parse().expect("an address"))
}
