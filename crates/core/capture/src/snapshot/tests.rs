use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn snapshot(paths: &[&str], notes: &[(&str, &str, Coverage)]) -> Snapshot {
    let mut builder = Builder::new();
    for path in paths {
        builder.add(DocId::new(*path), *path, b"{}".to_vec());
    }
    for (source, path, coverage) in notes {
        builder.note_in(source, Need::of_path(path), coverage.clone());
    }
    builder.finish()
}

fn word(snapshot: &Snapshot, path: &str) -> &'static str {
    snapshot.coverage(&Need::of_path(path)).word()
}

#[test]
fn what_is_there_is_complete_and_what_is_not_was_not_asked_for() {
    let snapshot = snapshot(
        &[
            "k8s/pods.json",
            "k8s/nodes.yaml",
            "proxies/shop/cart-1/certs.json",
        ],
        &[],
    );
    for path in [
        "k8s/pods.json",
        "k8s/nodes.json",
        "proxies/",
        "proxies/shop/cart-1/certs.json",
    ] {
        assert_eq!(word(&snapshot, path), "complete", "{path}");
    }
    for path in [
        "k8s/services.json",
        "istiod/",
        "proxies/shop/cart/",
        "proxies/shop/cart-1/stats.txt",
    ] {
        assert_eq!(word(&snapshot, path), "not-asked", "{path}");
    }
}

#[test]
fn a_note_on_a_folder_holds_for_what_is_in_it() {
    let denied = Coverage::Denied("pods/portforward".to_owned());
    let partial = Coverage::Partial("only namespace shop".to_owned());
    let snapshot = snapshot(
        &["k8s/pods.json"],
        &[("", "proxies/", denied), ("", "k8s/", partial)],
    );
    assert_eq!(word(&snapshot, "proxies/shop/cart-1/certs.json"), "denied");
    assert_eq!(
        (word(&snapshot, "k8s/pods.json"), word(&snapshot, "logs/")),
        ("partial", "not-asked")
    );
}

#[test]
fn in_an_archive_cut_short_what_was_read_is_complete_and_the_rest_is_partial() {
    let cut = Coverage::Partial("cut short".to_owned());
    let snapshot = snapshot(
        &["k8s/pods.json", "proxies/shop/cart-1/certs.json"],
        &[("", "", cut)],
    );
    assert_eq!(word(&snapshot, "k8s/pods.json"), "complete");
    for path in ["k8s/services.json", "proxies/", "logs/"] {
        assert_eq!(word(&snapshot, path), "partial", "{path}");
    }
}

#[test]
fn several_sources_are_taken_together() {
    let denied = Coverage::Denied("forbidden".to_owned());
    let snapshot = snapshot(
        &["1/k8s/pods.json", "2/k8s/services.json"],
        &[("2", "k8s/pods.json", denied)],
    );
    assert_eq!(
        (
            word(&snapshot, "k8s/pods.json"),
            word(&snapshot, "k8s/services.json")
        ),
        ("partial", "complete")
    );
    assert_eq!(
        snapshot.coverage_in("1", &Need::of_path("k8s/services.json")),
        Coverage::NotAsked
    );
}

#[test]
fn a_source_that_tells_its_time_is_not_searched_for_one() {
    let mut builder = Builder::new();
    let told = Time::parse("2026-01-01T00:00:00Z");
    let meta = |taken_at| Meta {
        taken_at,
        ..Meta::default()
    };
    builder.source("1", meta(told));
    builder.source("2", meta(None));
    let dump = |time: &str| format!("{{\"last_updated\": \"{time}\"}}").into_bytes();
    builder.add(
        DocId::new("1/proxies/a/b/config_dump.json"),
        "",
        dump("2027-01-01T00:00:00Z"),
    );
    builder.add(
        DocId::new("2/proxies/a/b/config_dump.json"),
        "",
        dump("2025-01-01T00:00:00Z"),
    );
    assert_eq!(builder.finish().taken_at(), told);
}

#[test]
fn bytes_that_are_not_utf_8_are_told_also_when_read_late() {
    let mut builder = Builder::new();
    builder.defer(
        DocId::new("k8s/a.yaml"),
        "a.yaml",
        3,
        Arc::new(|| Ok(b"a\n\xff".to_vec())),
    );
    let snapshot = builder.finish();
    let document = snapshot
        .open(&DocId::new("k8s/a.yaml"))
        .expect("it can be fetched");
    assert_eq!(document.text.as_str(), "a\n\u{fffd}");
    let problem = document.problem.expect("the byte is not UTF-8");
    assert_eq!(
        problem.to_string(),
        "a.yaml:2:1: invalid UTF-8; the bytes are shown as U+FFFD"
    );
}

#[test]
fn a_document_that_was_opened_is_not_read_again_for_its_time() {
    let reads = Arc::new(AtomicUsize::new(0));
    let fetch = {
        let reads = Arc::clone(&reads);
        move || {
            reads.fetch_add(1, Ordering::Relaxed);
            Ok(b"kind: Pod\nmetadata:\n  creationTimestamp: 2026-01-01T00:00:00Z\n".to_vec())
        }
    };
    let mut builder = Builder::new();
    builder.defer(DocId::new("k8s/a.yaml"), "a.yaml", 62, Arc::new(fetch));
    let snapshot = builder.finish();
    snapshot
        .open(&DocId::new("k8s/a.yaml"))
        .expect("it can be fetched");
    assert_eq!(snapshot.taken_at(), Time::parse("2026-01-01T00:00:00Z"));
    assert_eq!(reads.load(Ordering::Relaxed), 1);
}
