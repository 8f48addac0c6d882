//! Reading a cluster: what is asked for, with which rights, and what is noted when something is
//! missing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use meshladder_capture::snapshot::{Coverage, Need, Shape, Snapshot};
use meshladder_collect::CollectError;
use meshladder_collect::live::{
    Access, Choice, Limits, Logs, ProxyWish, Purpose, Session, Tally, Wish,
};
use serde_json::{Value, json};

use crate::fake::{Fake, Fault, State, TOKEN, Trouble, capture};
use crate::support::{coverage, ids, text};

mod connecting;
mod envoy;
mod faults;
mod lists;
mod reports;

pub(crate) fn quick() -> Limits {
    Limits {
        timeout: Duration::from_secs(120),
        request_timeout: Duration::from_secs(20),
        ..Limits::default()
    }
}

pub(crate) fn access(fake: &Fake) -> Access {
    Access {
        kubeconfig: Some(fake.kubeconfig()),
        ..Access::default()
    }
}

pub(crate) fn session(fake: &Fake, limits: Limits) -> Session {
    Session::connect(&access(fake), limits, Arc::new(Tally::default())).expect("the fake answers")
}

pub(crate) fn wish(purpose: Purpose) -> Wish {
    Wish {
        needs: purpose.needs(),
        istio_namespace: "istio-system".to_owned(),
        logs: Some(Logs::default()),
        ..Wish::default()
    }
}

pub(crate) fn all_proxies() -> ProxyWish {
    ProxyWish {
        choice: Choice::All,
        shapes: Vec::new(),
        sections: Vec::new(),
        port: 15000,
        logs: Some(Logs::default()),
        is_enough: false,
    }
}

/// Everything that `snapshot` reads.
pub(crate) fn whole(fake: &Fake, limits: Limits) -> Snapshot {
    let mut session = session(fake, limits);
    let wish = Wish {
        whole: true,
        ..wish(Purpose::Snapshot)
    };
    let objects = session.objects(&wish).expect("it is small");
    session
        .proxies(objects, &all_proxies())
        .expect("it is small")
}

pub(crate) fn why(snapshot: &Snapshot, path: &str) -> String {
    snapshot
        .coverage(&Need::of_path(path))
        .why()
        .unwrap_or_default()
        .to_owned()
}

fn names_of(snapshot: &Snapshot, id: &str) -> Vec<String> {
    let list: Value = serde_json::from_str(&text(snapshot, id)).expect("JSON");
    let names = list["items"].as_array().expect("a list").iter();
    names
        .map(|item| {
            item["metadata"]["name"]
                .as_str()
                .expect("a name")
                .to_owned()
        })
        .collect()
}

#[test]
fn a_cluster_gives_the_documents_of_the_bundle_it_serves() {
    let fake = Fake::demo();
    let snapshot = whole(&fake, quick());
    let expected = crate::support::opened(&capture());
    let has = ids(&snapshot);
    for id in ids(&expected)
        .into_iter()
        .filter(|id| !id.ends_with("app.log"))
    {
        let is_known =
            id.starts_with("k8s/") || id.starts_with("proxies/") || id.contains("istio-proxy.log");
        assert!(!is_known || has.contains(&id), "{id} is missing in {has:?}");
    }
    for (_, need, coverage) in snapshot.coverages() {
        assert_eq!(*coverage, Coverage::Complete, "{need}");
    }
}

#[test]
fn only_what_is_asked_for_is_read() {
    let fake = Fake::demo();
    let mut session = session(&fake, quick());
    let needs = [Need::of_path("k8s/services.json")].into();
    let snapshot = session
        .objects(&Wish {
            needs,
            ..Wish::default()
        })
        .expect("it is small");
    assert_eq!(ids(&snapshot), ["k8s/services.json"]);
    assert_eq!(
        fake.state.requests(),
        ["GET /version", "GET /api/v1/services?limit=500"]
    );
}

#[test]
fn a_refusal_names_the_verb_and_the_resource() {
    let fake = Fake::with(State::demo().deny(&[
        "list virtualservices.networking.istio.io",
        "list mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "create pods/portforward",
        "create pods/exec",
        "get pods/log",
        "list configmaps",
        "get configmaps",
    ]));
    let snapshot = whole(&fake, quick());
    for (path, expected) in [
        (
            "k8s/virtualservices.networking.istio.io.json",
            "no right to list virtualservices.networking.istio.io in namespace istio-system",
        ),
        (
            "k8s/mutatingwebhookconfigurations.admissionregistration.k8s.io.json",
            "no right to list mutatingwebhookconfigurations.admissionregistration.k8s.io",
        ),
        ("proxies/", "no right to open ports of pods in namespace "),
        (
            "istiod/",
            "no right to open ports of pods in namespace istio-system",
        ),
        ("logs/", "no right to get pods/log in namespace "),
        (
            "k8s/configmaps.json",
            "no right to get or list configmaps in namespace istio-system",
        ),
    ] {
        assert_eq!(coverage(&snapshot, path), "denied", "{path}");
        assert!(
            why(&snapshot, path).starts_with(expected),
            "{path}: {}",
            why(&snapshot, path)
        );
    }
    assert_eq!(coverage(&snapshot, "k8s/services.json"), "complete");
    let forwards = fake
        .state
        .requests()
        .iter()
        .filter(|line| line.contains("/portforward"))
        .count();
    let namespaces = 8;
    assert!(
        forwards <= namespaces * 4,
        "what is refused in a namespace is not tried for each pod: {forwards}"
    );
}

#[test]
fn a_proxy_is_asked_through_its_agent_where_ports_may_not_be_forwarded() {
    let fake = Fake::with(State::demo().deny(&["create pods/portforward"]));
    let snapshot = whole(&fake, quick());
    assert_eq!(
        (
            coverage(&snapshot, "proxies/"),
            coverage(&snapshot, "istiod/")
        ),
        ("complete", "complete")
    );
    let direct = whole(&Fake::demo(), quick());
    let dumps = |snapshot: &Snapshot| {
        let of = |(_, id): (_, &meshladder_capture::snapshot::DocId)| text(snapshot, id.as_str());
        snapshot
            .proxies_with(Shape::ConfigDump)
            .map(of)
            .collect::<Vec<_>>()
    };
    assert!(!dumps(&direct).is_empty());
    assert_eq!(dumps(&snapshot), dumps(&direct));
}

#[test]
fn a_node_that_does_not_answer_takes_no_more_than_a_few_tries() {
    let mut state = State::made_up(40, 10);
    for (number, pod) in state
        .objects
        .get_mut("pods")
        .expect("pods")
        .iter_mut()
        .enumerate()
    {
        pod["spec"]["nodeName"] = json!(if number % 2 == 0 { "alive" } else { "gone" });
    }
    let fake = Fake::with(state);
    for number in (0..40).step_by(2) {
        fake.state.fault(Fault::always(
            &format!("/pods/cart-{number:05}/portforward"),
            Trouble::Silence,
        ));
    }
    let limits = Limits {
        request_timeout: Duration::from_secs(5),
        concurrency: 4,
        ..quick()
    };
    let snapshot = whole(&fake, limits);
    assert_eq!(snapshot.proxies_with(Shape::ConfigDump).count(), 20);
    assert!(
        why(&snapshot, "proxies/").starts_with("20 of 40 proxies could not be read"),
        "{}",
        why(&snapshot, "proxies/")
    );
    let tried = (0..40).step_by(2).filter(|number| {
        let line = format!("/pods/cart-{number:05}/portforward");
        fake.state
            .requests()
            .iter()
            .any(|asked| asked.contains(&line))
    });
    assert!(tried.count() < 8);
}

#[test]
fn a_proxy_is_asked_through_its_agent_where_its_node_cannot_forward_ports() {
    let fake = Fake::with(State::made_up(3, 100));
    fake.state
        .fault(Fault::always("FORWARD shop/", Trouble::Nonsense));
    let snapshot = whole(&fake, quick());
    assert_eq!(
        coverage(&snapshot, "proxies/"),
        "complete",
        "{}",
        why(&snapshot, "proxies/")
    );
    assert!(
        fake.state
            .requests()
            .iter()
            .any(|line| line.contains("/exec?"))
    );
    let refused = Fake::with(State::made_up(3, 100).deny(&["create pods/exec"]));
    refused
        .state
        .fault(Fault::always("FORWARD shop/", Trouble::Nonsense));
    let snapshot = whole(&refused, quick());
    assert_eq!(snapshot.proxies_with(Shape::ConfigDump).count(), 0);
    assert!(!why(&snapshot, "proxies/").is_empty());
}

#[test]
fn busy_servers_are_asked_again_when_they_say_so() {
    let fake = Fake::demo();
    fake.state.fault(Fault::times(
        "/api/v1/services",
        Trouble::Status(429, Some(0)),
        2,
    ));
    fake.state
        .fault(Fault::times("/api/v1/pods?", Trouble::Status(503, None), 1));
    fake.state
        .fault(Fault::times("/deployments", Trouble::Cut, 1));
    let snapshot = whole(&fake, quick());
    for path in [
        "k8s/services.json",
        "k8s/pods.json",
        "k8s/deployments.apps.json",
    ] {
        assert_eq!(
            coverage(&snapshot, path),
            "complete",
            "{}",
            why(&snapshot, path)
        );
    }
}

#[test]
fn who_asks_to_come_back_after_the_deadline_is_not_waited_for() {
    let fake = Fake::demo();
    fake.state.fault(Fault::always(
        "/api/v1/services",
        Trouble::Status(429, Some(3600)),
    ));
    let snapshot = whole(&fake, quick());
    assert_eq!(coverage(&snapshot, "k8s/services.json"), "partial");
    assert_eq!(coverage(&snapshot, "k8s/pods.json"), "complete");
}

#[test]
fn one_dead_istiod_or_proxy_takes_nothing_from_the_others() {
    let fake = Fake::demo();
    let proxies: Vec<String> = crate::support::opened(&capture())
        .proxies_with(Shape::ConfigDump)
        .map(|(proxy, _)| format!("{}/{}", proxy.namespace, proxy.pod))
        .collect();
    fake.state.fault(Fault::always(
        &format!("PORT {}/config_dump", proxies[0]),
        Trouble::Silence,
    ));
    let snapshot = whole(
        &fake,
        Limits {
            request_timeout: Duration::from_secs(8),
            ..quick()
        },
    );
    assert_eq!(coverage(&snapshot, "proxies/"), "partial");
    assert!(
        why(&snapshot, "proxies/").contains("no answer within 8 s"),
        "{}",
        why(&snapshot, "proxies/")
    );
    assert_eq!(
        snapshot.proxies_with(Shape::ConfigDump).count(),
        proxies.len() - 1
    );
}

#[test]
fn what_was_read_before_the_deadline_is_kept() {
    let fake = Fake::demo();
    fake.state
        .fault(Fault::always("/api/v1/services", Trouble::Trickle));
    let limits = Limits {
        timeout: Duration::from_secs(5),
        request_timeout: Duration::from_secs(60),
        ..Limits::default()
    };
    let start = std::time::Instant::now();
    let snapshot = whole(&fake, limits);
    assert!(
        start.elapsed() < limits.request_timeout / 2,
        "it waits for nothing that has longer"
    );
    assert!(why(&snapshot, "k8s/services.json").contains("--timeout"));
    assert_eq!(coverage(&snapshot, "k8s/pods.json"), "complete");
    assert_eq!(coverage(&snapshot, "proxies/"), "partial");
}

#[test]
fn where_pods_could_not_be_listed_proxies_are_not_complete() {
    for (trouble, expected) in [
        (
            Fault::always("/api/v1/pods?", Trouble::Status(500, None)),
            "proxies are found among the pods: ",
        ),
        (Fault::always("/nothing", Trouble::Cut), ""),
    ] {
        let fake = Fake::with(State::made_up(2, 10));
        fake.state.fault(trouble);
        let snapshot = whole(&fake, quick());
        assert!(
            why(&snapshot, "proxies/").starts_with(expected),
            "{}",
            why(&snapshot, "proxies/")
        );
        assert_eq!(
            coverage(&snapshot, "proxies/") == "complete",
            expected.is_empty()
        );
    }
}

#[test]
fn a_sample_is_noted_as_one() {
    let fake = Fake::demo();
    let mut session = session(&fake, quick());
    let objects = session.objects(&wish(Purpose::Check)).expect("it is small");
    let sample = ProxyWish {
        choice: Choice::Sample(1, None),
        ..all_proxies()
    };
    let snapshot = session.proxies(objects, &sample).expect("it is small");
    assert_eq!(snapshot.proxies_with(Shape::ConfigDump).count(), 1);
    assert!(
        why(&snapshot, "proxies/").starts_with("1 of "),
        "{}",
        why(&snapshot, "proxies/")
    );
}

#[test]
fn secrets_are_names_and_types_and_nothing_else() {
    let mut state = State::demo();
    let applied = json!({"data": {"tls.key": "hunter2-in-an-annotation"}}).to_string();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": {"tls.key": "hunter2-value"},
        "metadata": {"name": "cert", "namespace": "shop", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied}}});
    state.objects.insert("secrets".to_owned(), vec![secret]);
    let fake = Fake::with(state);
    let snapshot = whole(&fake, quick());
    let list: Value = serde_json::from_str(&text(&snapshot, "k8s/secrets.json")).expect("JSON");
    assert_eq!(
        list["items"][0],
        json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": "cert", "namespace": "shop"}})
    );
    for id in ids(&snapshot) {
        let text = text(&snapshot, id);
        assert!(!text.contains("hunter2") && !text.contains(TOKEN), "{id}");
    }
    let secrets = fake
        .state
        .requests()
        .into_iter()
        .filter(|line| line.contains("/secrets"))
        .count();
    assert_eq!(secrets, 1, "no secret is read by its name");
}

#[test]
fn several_contexts_are_several_sources() {
    let fake = Fake::demo();
    let kubeconfig = fake.write_kubeconfig("two", &["east", "arn:aws:eks/west"]);
    let contexts = vec!["east".to_owned(), "arn:aws:eks/west".to_owned()];
    let access = Access {
        kubeconfig: Some(kubeconfig),
        contexts,
        ..Access::default()
    };
    let mut session =
        Session::connect(&access, quick(), Arc::new(Tally::default())).expect("the fake answers");
    let needs = [Need::of_path("k8s/services.json")].into();
    let snapshot = session
        .objects(&Wish {
            needs,
            ..Wish::default()
        })
        .expect("it is small");
    assert_eq!(
        ids(&snapshot),
        [
            "arn-aws-eks-west/k8s/services.json",
            "east/k8s/services.json"
        ]
    );
}

/// What the first takes of the time, the second does not have to wait for.
#[test]
fn clusters_are_read_side_by_side() {
    let (slow, quick_one) = (Fake::demo(), Fake::demo());
    let path = slow.write_kubeconfig("two", &["east", "west"]);
    let text = std::fs::read_to_string(&path).expect("a kubeconfig");
    let other = format!(
        "clusters:\n- name: other\n  cluster: {{server: 'http://{}'}}\n",
        quick_one.address
    );
    let west = "- name: west\n  context: {cluster: fake";
    let text = text
        .replace("clusters:\n", &other)
        .replace(west, &west.replace("fake", "other"));
    std::fs::write(&path, text).expect("a kubeconfig");
    let contexts = vec!["east".to_owned(), "west".to_owned()];
    let access = Access {
        kubeconfig: Some(path),
        contexts,
        ..Access::default()
    };
    let limits = Limits {
        timeout: Duration::from_secs(6),
        request_timeout: Duration::from_secs(60),
        ..quick()
    };
    let needs = || [Need::of_path("k8s/services.json")].into();

    slow.state
        .fault(Fault::always("/services", Trouble::Silence));
    let mut session =
        Session::connect(&access, limits, Arc::new(Tally::default())).expect("both answer");
    let snapshot = session
        .objects(&Wish {
            needs: needs(),
            ..Wish::default()
        })
        .expect("it is small");
    assert_eq!(ids(&snapshot), ["west/k8s/services.json"]);

    slow.state
        .fault(Fault::always("/version", Trouble::Silence));
    let before = quick_one.state.requests().len();
    Session::connect(&access, limits, Arc::new(Tally::default())).expect("one of them answers");
    assert_eq!(
        quick_one.state.requests().split_off(before),
        ["GET /version"]
    );
}

#[test]
fn a_user_is_impersonated() {
    let fake = Fake::demo();
    let access = Access {
        impersonate: Some("oncall".to_owned()),
        groups: vec!["sre".to_owned()],
        ..access(&fake)
    };
    Session::connect(&access, quick(), Arc::new(Tally::default())).expect("the fake answers");
    assert_eq!(fake.state.requests(), ["GET /version as oncall"]);
}

#[test]
fn what_is_wrong_with_the_way_to_a_cluster_is_told() {
    let fake = Fake::demo();
    let error = |access: &Access| {
        let error = Session::connect(access, quick(), Arc::new(Tally::default()))
            .expect_err("it cannot connect");
        assert!(!error.hint().is_empty());
        error
    };
    let missing = Access {
        kubeconfig: Some("/nowhere/config".into()),
        ..Access::default()
    };
    assert!(matches!(error(&missing), CollectError::Kubeconfig { .. }));
    let context = Access {
        contexts: vec!["nope".to_owned()],
        ..access(&fake)
    };
    assert!(error(&context).to_string().contains("no context `nope`"));
    let broken = write(&fake, "broken", "apiVersion: v1\nclusters: [");
    assert!(matches!(error(&broken), CollectError::Kubeconfig { .. }));
    let text = std::fs::read_to_string(fake.kubeconfig()).expect("a kubeconfig");
    let stranger = write(
        &fake,
        "stranger",
        &text.replace(TOKEN, "hunter2-someone-else"),
    );
    let told = error(&stranger);
    assert!(
        matches!(told, CollectError::Unauthorized { .. }) && !told.to_string().contains("hunter2"),
        "{told}"
    );
    let server = text
        .lines()
        .find(|line| line.contains("server:"))
        .expect("a server");
    let gone = write(
        &fake,
        "gone",
        &text.replace(server, "  cluster: {server: 'http://127.0.0.1:1'}"),
    );
    assert!(matches!(error(&gone), CollectError::Unreachable { .. }));
}

fn write(fake: &Fake, name: &str, text: &str) -> Access {
    let path = fake.kubeconfig().with_file_name(name);
    std::fs::write(&path, text).expect("a file");
    Access {
        kubeconfig: Some(Path::new(&path).to_owned()),
        ..Access::default()
    }
}
