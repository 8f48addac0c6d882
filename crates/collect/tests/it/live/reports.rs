//! A report of a cluster is the report of the bundle it was saved as, byte for byte.

use std::sync::Arc;

use meshladder_capture::snapshot::{Document, Shape, Snapshot};
use meshladder_collect::bundle;
use meshladder_collect::live::{Access, Purpose, Session, Tally};
use meshladder_judge::describe;
use meshladder_judge::diff::{self, ProxySide};
use meshladder_judge::ladder::{self, Analysis, Question, Scope};
use meshladder_mesh::{Mesh, ObjectRef};
use meshladder_output::{self as output, report::to_json};
use meshladder_sim::request::Claims;
use meshladder_sim::walk::{Call, Caller, Url};

use super::{all_proxies, quick, session, wish};
use crate::fake::{Fake, Fault, State, Trouble};
use crate::support::{Place, opened};

fn reports(snapshot: &Snapshot) -> Vec<String> {
    let mesh = Mesh::build(snapshot);
    let frontend = mesh
        .pods
        .iter()
        .find(|pod| pod.name.starts_with("frontend-"))
        .map(|pod| Caller::Pod {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
        });
    let to = Url::parse("http://catalog.shop.svc.cluster.local:8080/").expect("a URL");
    let call = Call {
        from: frontend.unwrap_or(Caller::Somebody),
        to,
        method: "GET".to_owned(),
        headers: Vec::new(),
        http: "1.1".to_owned(),
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::None,
    };
    let climb = |scope| {
        to_json(&ladder::climb(
            snapshot,
            &mesh,
            &Question {
                scope,
                seen: None,
                threads: 2,
            },
        ))
    };
    let analyzed = ladder::analyze(snapshot, &mesh, &Analysis::default());
    let mut all = vec![
        climb(Scope::Mesh),
        climb(Scope::Request(Box::new(call))),
        to_json(&analyzed),
    ];
    all.extend(descriptions(snapshot, &mesh));
    all.extend(differences(snapshot));
    all
}

/// A pod, a Service, a VirtualService and a Gateway, described.
fn descriptions(snapshot: &Snapshot, mesh: &Mesh) -> Vec<String> {
    let first = |kind: &str| {
        mesh.objects
            .called(kind)
            .next()
            .map(|object| object.id.clone())
    };
    let objects = ["Pod", "Service", "VirtualService", "Gateway"]
        .into_iter()
        .filter_map(first);
    let described = |object: ObjectRef| {
        let question = Question {
            scope: Scope::Object(object.clone()),
            seen: None,
            threads: 2,
        };
        let report = ladder::climb(snapshot, mesh, &question);
        describe::describe(snapshot, mesh, &object, &report)
            .map(|told| output::describe::to_json(&told))
    };
    objects.filter_map(described).collect()
}

/// The first proxy compared with some of the others.
fn differences(snapshot: &Snapshot) -> Vec<String> {
    let dumps: Vec<_> = snapshot.proxies_with(Shape::ConfigDump).collect();
    let documents: Vec<_> = dumps
        .iter()
        .filter_map(|(_, id)| snapshot.open(id).ok())
        .collect();
    let Some((first, others)) = documents.split_first() else {
        return Vec::new();
    };
    let compared = |other: &Document| {
        let [a, b] = [first, other].map(|document| {
            let (name, doc, text) = (
                document.id.to_string(),
                document.id.clone(),
                document.text.as_str(),
            );
            ProxySide {
                name,
                doc,
                text,
                names: Arc::default(),
                is_same_mesh: true,
                is_istiods: false,
            }
        });
        diff::proxies(&a, &b).map_or_else(|why| why, |diff| output::diff::to_json(&diff, true))
    };
    others.iter().take(3).map(compared).collect()
}

fn saved_and_loaded(fake: &Fake) {
    survives(&all_of(&mut session(fake, quick())));
}

fn all_of(session: &mut Session) -> Snapshot {
    let objects = session.objects(&wish(Purpose::Check)).expect("it is small");
    session
        .proxies(objects, &all_proxies())
        .expect("it is small")
}

fn survives(live: &Snapshot) {
    let place = Place::new();
    for name in ["bundle.tar.zst", "bundle"] {
        bundle::write(live, &place.path(name)).expect("it can be written");
        let loaded = opened(&place.path(name));
        assert_eq!(loaded.problems(), []);
        for (live, loaded) in reports(live).iter().zip(reports(&loaded)) {
            assert_eq!(*live, loaded);
        }
    }
}

#[test]
fn a_report_survives_saving_and_loading() {
    saved_and_loaded(&Fake::demo());
}

#[test]
fn so_does_one_of_several_clusters() {
    let fake = Fake::with(State::demo().deny(&[
        "list virtualservices.networking.istio.io",
        "create pods/exec",
    ]));
    let kubeconfig = fake.write_kubeconfig("two", &["east", "k8s"]);
    let contexts = vec!["east".to_owned(), "k8s".to_owned()];
    let access = Access {
        kubeconfig: Some(kubeconfig),
        contexts,
        ..Access::default()
    };
    let mut session =
        Session::connect(&access, quick(), Arc::new(Tally::default())).expect("the fake answers");
    let live = all_of(&mut session);
    assert_eq!(
        live.sources().map(|(name, _)| name).collect::<Vec<_>>(),
        ["context-k8s", "east"]
    );
    survives(&live);
}

#[test]
fn of_several_clusters_those_that_answer_are_read_and_the_others_named() {
    let fake = Fake::demo();
    let path = fake.write_kubeconfig("two", &["east", "k8s"]);
    let text = std::fs::read_to_string(&path).expect("a kubeconfig");
    let gone = "clusters:\n- name: gone\n  cluster: {server: 'http://127.0.0.1:1'}\n";
    let text =
        text.replace("clusters:\n", gone)
            .replacen("cluster: fake, user", "cluster: gone, user", 1);
    std::fs::write(&path, text).expect("a kubeconfig");
    let contexts = vec!["east".to_owned(), "k8s".to_owned()];
    let access = Access {
        kubeconfig: Some(path),
        contexts,
        ..Access::default()
    };
    let mut session = Session::connect(&access, quick(), Arc::new(Tally::default()))
        .expect("one of them answers");
    let live = all_of(&mut session);
    assert!(
        live.ids().any(|id| id.as_str().ends_with("k8s/pods.json")),
        "the other one is read"
    );
    let why = live.coverage(&meshladder_capture::snapshot::Need::of_path(
        "k8s/pods.json",
    ));
    assert!(
        why.why().is_some_and(|why| why.contains("127.0.0.1:1")),
        "{why:?}"
    );
    survives(&live);
}

#[test]
fn so_does_one_of_what_could_only_be_read_in_part() {
    let rights = [
        "list services in all",
        "list virtualservices.networking.istio.io",
        "create pods/portforward in tools",
        "create pods/exec",
    ];
    let fake = Fake::with(State::demo().deny(&rights));
    fake.state
        .fault(Fault::always("/config_dump", Trouble::Cut));
    fake.state
        .fault(Fault::always("/api/v1/nodes", Trouble::Status(500, None)));
    saved_and_loaded(&fake);
}
