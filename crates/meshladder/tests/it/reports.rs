//! What holds for every report, on the demo's capture and, where the run is given them, on all
//! captures.

use std::fs;
use std::path::{Path, PathBuf};

use meshladder_capture::snapshot::Snapshot;
use meshladder_collect::{Options, Source, bundle};
use meshladder_judge::finding::Spot;
use meshladder_judge::ladder::{self, Question, Scope};
use meshladder_judge::report::{Report, Verdict};
use meshladder_mesh::Mesh;
use meshladder_output::report::to_json;
use meshladder_sim::request::Claims;
use meshladder_sim::walk::{Call, Caller, Url};
use serde_json::Value;

use crate::expect::root;
use crate::meshes;

/// A request to ask about: who calls, and what.
type Request = (String, String);

/// Every capture, with a request where one is known.
fn captures() -> Vec<(PathBuf, Option<Request>)> {
    let demo = root().join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst");
    let request = (
        "shop/frontend".to_owned(),
        "http://catalog.shop:8080/".to_owned(),
    );
    let mut found = vec![
        (root().join("fixtures/meshes/small/bundle"), None),
        (demo, Some(request)),
    ];
    for capture in meshes::captures() {
        let incident = capture.folder.join("incident.json");
        let incident = fs::read_to_string(incident).expect("an incident");
        let incident: Value = serde_json::from_str(&incident).expect("JSON");
        let text = |key: &str| incident["ask"][key].as_str().map(str::to_owned);
        found.push((capture.bundle(), text("from").zip(text("to"))));
    }
    found
}

pub(crate) fn open(path: &Path) -> Snapshot {
    meshladder_collect::open(&[Source::from(path)], &Options::default()).expect("it can be read")
}

/// The report on the mesh, and on the request if there is one.
fn reports(path: &Path, request: Option<&Request>, threads: usize) -> Vec<Report> {
    let snapshot = open(path);
    let mesh = Mesh::build(&snapshot);
    let climb = |scope| {
        ladder::climb(
            &snapshot,
            &mesh,
            &Question {
                scope,
                seen: None,
                threads,
            },
        )
    };
    let request = request.map(|(from, to)| Scope::Request(Box::new(call(from, to, &mesh))));
    [Some(Scope::Mesh), request]
        .into_iter()
        .flatten()
        .map(climb)
        .collect()
}

pub(crate) fn call(from: &str, to: &str, mesh: &Mesh) -> Call {
    let pod = from.split_once('/').and_then(|(namespace, name)| {
        let pods = mesh.pods.iter().filter(|pod| pod.namespace == namespace);
        pods.map(|pod| &pod.name)
            .filter(|pod| pod.starts_with(name))
            .min()
            .map(|pod| (namespace, pod))
    });
    let from = match pod {
        Some((namespace, name)) => Caller::Pod {
            namespace: namespace.to_owned(),
            name: name.clone(),
        },
        None => Caller::Outside,
    };
    let to = Url::parse(to).expect("a URL");
    let (method, http) = ("GET".to_owned(), "1.1".to_owned());
    Call {
        from,
        to,
        method,
        headers: Vec::new(),
        http,
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::None,
    }
}

fn as_json(reports: &[Report]) -> Vec<String> {
    reports.iter().map(to_json).collect()
}

#[test]
fn two_runs_give_the_same_bytes_on_any_number_of_threads() {
    for (path, request) in captures() {
        let first = as_json(&reports(&path, request.as_ref(), 1));
        assert_eq!(
            first,
            as_json(&reports(&path, request.as_ref(), 3)),
            "{}",
            path.display()
        );
    }
}

#[test]
fn a_saved_bundle_gives_the_same_report_byte_for_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, request) in captures() {
        let saved = folder.path().join("saved.tar.gz");
        bundle::write(&open(&path), &saved).expect("it can be written");
        let (before, after) = (
            reports(&path, request.as_ref(), 2),
            reports(&saved, request.as_ref(), 2),
        );
        assert_eq!(as_json(&before), as_json(&after), "{}", path.display());
    }
}

#[test]
fn the_order_of_objects_does_not_matter() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, (path, request)) in captures().into_iter().enumerate() {
        let shuffled = folder.path().join(number.to_string());
        bundle::write(&open(&path), &shuffled).expect("it can be written");
        let before = reports(&shuffled, request.as_ref(), 2);
        shuffle_lists(&shuffled.join("k8s"), 7 + number as u64);
        let after = reports(&shuffled, request.as_ref(), 2);
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(
                without_places(before),
                without_places(after),
                "{}",
                path.display()
            );
        }
        fs::remove_dir_all(shuffled).expect("it can be removed");
    }
}

/// Puts the items of every list in another order.
fn shuffle_lists(folder: &Path, mut seed: u64) {
    for entry in fs::read_dir(folder).expect("objects") {
        let path = entry.expect("a file").path();
        let Ok(mut list) = serde_json::from_slice::<Value>(&fs::read(&path).expect("a file"))
        else {
            continue;
        };
        let Some(items) = list["items"].as_array_mut() else {
            continue;
        };
        for last in (1..items.len()).rev() {
            // Knuth's multiplier: any mixing will do, as long as it is the same every time.
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            items.swap(
                last,
                usize::try_from(seed >> 33).expect("31 bits") % (last + 1),
            );
        }
        fs::write(&path, list.to_string()).expect("it can be written");
    }
}

/// A report without what the order of objects decides: where in a document an object stands.
fn without_places(report: &Report) -> Value {
    let mut json: Value = serde_json::from_str(&to_json(report)).expect("JSON");
    let findings = json["findings"].as_array_mut().expect("findings");
    for evidence in findings
        .iter_mut()
        .flat_map(|finding| finding["evidence"].as_array_mut().expect("evidence"))
    {
        for key in ["pointer", "line", "excerpt"] {
            evidence[key] = Value::Null;
        }
    }
    json
}

#[test]
fn who_names_a_cause_does_not_say_that_nothing_explains_it() {
    for (path, request) in captures() {
        for report in reports(&path, request.as_ref(), 2) {
            let is_given_up = report.unknown.iter().any(|fact| {
                fact.to_string()
                    .contains("nothing that was read explains it")
            });
            assert!(
                !is_given_up || report.verdict == Verdict::Undecided,
                "{}: {:?}",
                path.display(),
                report.unknown
            );
        }
    }
}

#[test]
fn every_piece_of_evidence_leads_somewhere() {
    for (path, request) in captures() {
        for report in reports(&path, request.as_ref(), 2) {
            for told in &report.findings {
                assert!(
                    !told.finding.evidence.is_empty(),
                    "{}: {}",
                    path.display(),
                    told.finding.id()
                );
                for (evidence, shown) in told.finding.evidence.iter().zip(&told.shown) {
                    let leads = evidence.spot == Spot::Whole
                        || (shown.line.is_some() && !shown.excerpt.is_empty());
                    assert!(
                        leads,
                        "{}: {}: {evidence:?}",
                        path.display(),
                        told.finding.id()
                    );
                }
            }
        }
    }
}

/// Whoever installed the cluster may have chosen another domain; then every full name ends
/// otherwise. The trust domain is another matter: it stands in certificates.
#[test]
fn the_domain_of_the_cluster_does_not_matter() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, (path, request)) in captures().into_iter().enumerate() {
        let renamed = folder.path().join(number.to_string());
        bundle::write(&open(&path), &renamed).expect("it can be written");
        let before = reports(&renamed, request.as_ref(), 2);
        rename(&renamed);
        let request = request.map(|(from, to)| (from, in_another_domain(&to)));
        for (before, after) in before.iter().zip(reports(&renamed, request.as_ref(), 2)) {
            assert_eq!(first(before), first(&after), "{}", path.display());
        }
        fs::remove_dir_all(renamed).expect("it can be removed");
    }
}

fn first(report: &Report) -> (Verdict, Option<String>) {
    (
        report.verdict,
        report.findings.first().map(|told| told.finding.id()),
    )
}

fn in_another_domain(text: &str) -> String {
    text.replace("svc.cluster.local", "svc.corp.internal")
        .replace("\"*.local\"", "\"*.internal\"")
}

/// Puts the full names in all files below a folder into another domain.
fn rename(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            rename(&path);
            continue;
        }
        let mut text = in_another_domain(&fs::read_to_string(&path).expect("text"));
        if path.ends_with("k8s/pods.json") {
            let mut pods: Value = serde_json::from_str(&text).expect("JSON");
            pods["items"]
                .as_array_mut()
                .expect("pods")
                .iter_mut()
                .for_each(tell_istiod);
            text = pods.to_string();
        }
        fs::write(&path, text).expect("it can be written");
    }
}

/// `discovery --domain cluster.local`
fn tell_istiod(pod: &mut Value) {
    let args = pod["spec"]["containers"][0]["args"].as_array_mut();
    for arg in args
        .into_iter()
        .flatten()
        .filter(|arg| *arg == "cluster.local")
    {
        *arg = "corp.internal".into();
    }
}
