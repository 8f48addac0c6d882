//! Lists: their pages, their versions, and where they may be read.

use meshladder_capture::snapshot::Need;
use meshladder_collect::live::Wish;
use serde_json::{Value, json};

use super::{names_of, quick, session, whole, why};
use crate::fake::{Fake, Fault, State, TOKEN, Trouble};
use crate::support::{coverage, ids, text};

fn pods(count: usize) -> Vec<Value> {
    let pod = |number: usize| {
        json!({"metadata": {"name": format!("pod-{number:05}"), "namespace": "shop", "labels": {"app": "x"}},
            "spec": {"containers": [{"name": "app"}, {"name": "istio-proxy"}]}, "status": {"phase": "Running"}})
    };
    (0..count).map(pod).collect()
}

#[test]
fn a_list_is_read_page_by_page_and_again_when_its_token_expires() {
    let mut state = State::default();
    state.objects.insert("pods".to_owned(), pods(1203));
    let fake = Fake::with(state);
    fake.state
        .fault(Fault::times("continue=1000", Trouble::Status(410, None), 1));
    let mut session = session(&fake, quick());
    let needs = [Need::of_path("k8s/pods.json")].into();
    let snapshot = session
        .objects(&Wish {
            needs,
            ..Wish::default()
        })
        .expect("it is small");
    let names = names_of(&snapshot, "k8s/pods.json");
    assert_eq!((names.len(), names.is_sorted()), (1203, true));
    assert_eq!(coverage(&snapshot, "k8s/pods.json"), "complete");
    let starts = fake
        .state
        .requests()
        .iter()
        .filter(|line| line.ends_with("pods?limit=500"))
        .count();
    assert_eq!(starts, 2);
}

#[test]
fn a_list_that_always_expires_is_asked_for_in_one_piece() {
    let mut state = State::default();
    state.objects.insert("pods".to_owned(), pods(700));
    let fake = Fake::with(state);
    fake.state
        .fault(Fault::always("continue=", Trouble::Status(410, None)));
    let mut session = session(&fake, quick());
    let needs = [Need::of_path("k8s/pods.json")].into();
    let snapshot = session
        .objects(&Wish {
            needs,
            ..Wish::default()
        })
        .expect("it is small");
    assert_eq!(names_of(&snapshot, "k8s/pods.json").len(), 700);
    assert!(
        fake.state
            .requests()
            .iter()
            .any(|line| line.ends_with("pods?resourceVersion=0"))
    );
}

#[test]
fn what_may_not_be_listed_everywhere_is_listed_where_it_may() {
    let fake = Fake::with(State::demo().deny(&[
        "list services in all",
        "list pods in all",
        "list pods in istio-system",
    ]));
    let mut session = session(&fake, quick());
    let needs = [
        Need::of_path("k8s/services.json"),
        Need::of_path("k8s/pods.json"),
    ]
    .into();
    let wish = Wish {
        needs,
        istio_namespace: "istio-system".to_owned(),
        ..Wish::default()
    };
    let snapshot = session.objects(&wish).expect("it is small");
    assert_eq!(
        why(&snapshot, "k8s/services.json"),
        "only namespace shop, istio-system: no right to list services in all namespaces"
    );
    assert_eq!(
        why(&snapshot, "k8s/pods.json"),
        "only namespace shop: no right to list pods in all namespaces"
    );
    let reviews = fake
        .state
        .requests()
        .iter()
        .filter(|line| line.contains("selfsubjectrulesreviews"))
        .count();
    assert_eq!(
        reviews, 2,
        "one for each namespace, however many kinds are refused"
    );
    let asked = fake.state.requests();
    assert!(
        !asked
            .iter()
            .any(|line| line.contains("/namespaces/istio-system/pods")),
        "the review says no: {asked:?}"
    );
}

#[test]
fn a_kind_that_is_not_installed_is_complete_even_for_who_may_not_list_it() {
    let mut state = State::demo().deny(&["list wasmplugins.extensions.istio.io"]);
    for kind in [
        "wasmplugins.extensions.istio.io",
        "workloadgroups.networking.istio.io",
    ] {
        state.objects.remove(kind).expect("a kind of the capture");
    }
    let fake = Fake::with(state);
    let mut session = session(&fake, quick());
    let needs = [
        Need::of_path("k8s/wasmplugins.extensions.istio.io.json"),
        Need::of_path("k8s/workloadgroups.networking.istio.io.json"),
    ]
    .into();
    let snapshot = session
        .objects(&Wish {
            needs,
            ..Wish::default()
        })
        .expect("it is small");
    for id in ids(&snapshot) {
        assert!(names_of(&snapshot, id).is_empty());
    }
    assert_eq!(
        coverage(&snapshot, "k8s/workloadgroups.networking.istio.io.json"),
        "complete"
    );
    assert_eq!(
        coverage(&snapshot, "k8s/wasmplugins.extensions.istio.io.json"),
        "complete"
    );
}

#[test]
fn an_old_cluster_is_read_in_the_versions_it_serves() {
    let fake = Fake::with(State::demo().years_ago());
    let (old, new) = (whole(&fake, quick()), whole(&Fake::demo(), quick()));
    assert_eq!(ids(&old), ids(&new));
    for id in ids(&new).into_iter().filter(|id| id.starts_with("k8s/")) {
        assert_eq!(names_of(&old, id), names_of(&new, id), "{id}");
        assert_eq!(coverage(&old, id), "complete", "{id}");
    }
    let first = |id: &str| {
        let list: Value = serde_json::from_str(&text(&old, id)).expect("JSON");
        list["items"][0]["apiVersion"].clone()
    };
    assert_eq!(
        first("k8s/endpointslices.discovery.k8s.io.json"),
        "discovery.k8s.io/v1beta1"
    );
    assert_eq!(
        first("k8s/virtualservices.networking.istio.io.json"),
        "networking.istio.io/v1beta1"
    );
    let by_agent = whole(
        &Fake::with(State::demo().years_ago().deny(&["create pods/portforward"])),
        quick(),
    );
    assert_eq!(ids(&by_agent), ids(&new));
    // Whoever may not list it still learns that it is there, in whatever version.
    let rights = ["list virtualservices.networking.istio.io"];
    let refused = whole(
        &Fake::with(State::demo().years_ago().deny(&rights)),
        quick(),
    );
    assert_eq!(
        coverage(&refused, "k8s/virtualservices.networking.istio.io.json"),
        "denied"
    );
}

#[test]
fn a_list_whose_pages_expire_in_its_second_namespace_keeps_those_of_the_first() {
    let mut state = State::default().deny(&["list pods in all"]);
    let in_istio = pods(3).into_iter().map(|mut pod| {
        pod["metadata"]["namespace"] = json!("istio-system");
        pod
    });
    let in_shop = pods(700).into_iter();
    state
        .objects
        .insert("pods".to_owned(), in_istio.chain(in_shop).collect());
    let fake = Fake::with(state);
    fake.state.fault(Fault::times(
        "/shop/pods?limit=500&continue=",
        Trouble::Status(410, None),
        1,
    ));
    let mut session = session(&fake, quick());
    let needs = [Need::of_path("k8s/pods.json")].into();
    let namespaces = vec!["istio-system".to_owned()];
    let wish = Wish {
        needs,
        namespaces,
        istio_namespace: "shop".to_owned(),
        ..Wish::default()
    };
    let snapshot = session.objects(&wish).expect("it is small");
    assert_eq!(names_of(&snapshot, "k8s/pods.json").len(), 703);
}

#[test]
fn istios_config_maps_are_found_behind_any_number_of_others() {
    let mut state = State::made_up(1, 10);
    let map = |name: &str| json!({"metadata": {"name": name, "namespace": "istio-system"}, "data": {"mesh": "x"}});
    let mut maps: Vec<Value> = (0..1200)
        .map(|number| map(&format!("a-{number:05}")))
        .collect();
    maps.extend(["istio", "istio-sidecar-injector"].map(map));
    state.objects.insert("configmaps".to_owned(), maps);
    let fake = Fake::with(state);
    let snapshot = whole(&fake, quick());
    assert_eq!(
        names_of(&snapshot, "k8s/configmaps.json"),
        ["istio", "istio-sidecar-injector"]
    );
    let read = fake
        .state
        .requests()
        .into_iter()
        .filter(|line| line.contains("/configmaps/a-"))
        .count();
    assert_eq!(read, 0, "nobody else's is read");
}

#[test]
fn nothing_is_watched_though_it_could_be() {
    use std::io::{BufRead, BufReader, Write};
    let fake = Fake::with(State::made_up(2, 10));
    let told = |query: &str| {
        let mut stream = std::net::TcpStream::connect(fake.address).expect("the fake listens");
        let head = format!(
            "GET /api/v1/pods?watch=1&{query} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        let lines = BufReader::new(stream)
            .lines()
            .map_while(Result::ok)
            .filter(|line| line.starts_with('{'));
        let events = lines
            .map(|line| serde_json::from_str::<Value>(&line).expect("an event")["type"].clone());
        let mut kinds = Vec::new();
        for kind in events {
            kinds.push(kind.as_str().expect("a type").to_owned());
            if kind != "ADDED" {
                break;
            }
        }
        kinds
    };
    assert_eq!(told(""), ["ADDED", "ADDED", "ADDED", "BOOKMARK"]);
    assert_eq!(told("resourceVersion=too-old"), ["ERROR"]);
    let before = fake.state.requests().len();
    whole(&fake, quick());
    assert!(
        fake.state.requests()[before..]
            .iter()
            .all(|line| !line.contains("watch="))
    );
}
