//! Bundles that are written.

use std::fs;
use std::path::Path;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Snapshot};
use meshladder_collect::{Options, Source, bundle, open};

use crate::support::*;

const NAMES: [&str; 6] = [
    "b.tar",
    "b.tar.gz",
    "b.tgz",
    "b.TAR.ZST",
    "directory",
    "dotted.name",
];

/// Everything a question could be asked of.
fn whole(snapshot: &Snapshot) -> Vec<String> {
    let ids: Vec<DocId> = snapshot.ids().cloned().collect();
    let mut all: Vec<String> = ids
        .iter()
        .map(|id| format!("{id}: {}", text(snapshot, id.as_str())))
        .collect();
    all.push(format!("{:?}", snapshot.taken_at()));
    all
}

fn written(snapshot: &Snapshot, to: &Path) -> bundle::Summary {
    bundle::write(snapshot, to).expect("it can be written")
}

#[test]
fn what_is_written_is_read_again() {
    let long = format!("logs/shop/{}/app.log", "a".repeat(180));
    let mut files = bundle();
    files.push((long, "{\u{1F600}}\n".to_owned()));
    let source = Place::with(&borrowed(&files));
    let snapshot = opened(&source.path(""));
    for name in NAMES {
        let place = Place::new();
        let summary = written(&snapshot, &place.path(name));
        let size = snapshot.sizes().map(|(_, size)| size).sum::<u64>();
        assert_eq!(
            (summary.documents, summary.bytes, summary.failed),
            (7, size, vec![]),
            "{name}"
        );
        let again = opened(&place.path(name));
        assert_eq!(
            (whole(&again), again.problems()),
            (whole(&snapshot), &[][..]),
            "{name}"
        );
        let noted = |snapshot: &Snapshot| {
            snapshot
                .coverages()
                .map(|noted| format!("{noted:?}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(noted(&again), noted(&snapshot), "{name}");
        let meta = |snapshot: &Snapshot| {
            snapshot
                .sources()
                .next()
                .and_then(|(_, meta)| meta)
                .cloned()
                .expect("known")
        };
        let same = |meta: meshladder_capture::snapshot::Meta| {
            (meta.cluster, meta.network, meta.istio_version, meta.form)
        };
        assert_eq!(same(meta(&again)), same(meta(&snapshot)));
        assert_eq!(
            fs::read_dir(place.path("")).expect("ours").count(),
            1,
            "nothing is left beside {name}"
        );
    }
}

#[test]
fn files_and_bug_reports_become_bundles() {
    let list = "apiVersion: v1\nitems: []\nkind: List\n";
    let report = [
        ("bug-report.log", "2026-11-15T06:31:13Z\tx"),
        ("cluster/k8s-resources", list),
        ("versions", "x"),
    ];
    let loose = [
        ("pod", POD),
        (".hidden/..x", "x"),
        ("deep/er/service.json", SERVICE),
        ("d.json", "{\"configs\": []}"),
    ];
    for files in [&report[..], &loose] {
        let snapshot = opened(&Place::with(files).path(""));
        let place = Place::new();
        written(&snapshot, &place.path("b.tar.zst"));
        let again = opened(&place.path("b.tar.zst"));
        assert_eq!(
            (whole(&again), again.problems()),
            (whole(&snapshot), &[][..])
        );
        for path in ["k8s/pods.json", "k8s/services.json", "proxies/", "logs/"] {
            assert_eq!(coverage(&again, path), coverage(&snapshot, path), "{path}");
        }
    }
}

#[test]
fn the_same_snapshot_gives_the_same_bytes() {
    let source = Place::with(&borrowed(&bundle()));
    let place = Place::new();
    for name in ["a.tar.gz", "b.tar.gz", "a.tar.zst", "b.tar.zst"] {
        written(&opened(&source.path("")), &place.path(name));
    }
    let bytes = |name: &str| fs::read(place.path(name)).expect("it was written");
    assert!(bytes("a.tar.gz") == bytes("b.tar.gz") && bytes("a.tar.zst") == bytes("b.tar.zst"));
}

#[test]
fn a_bundle_replaces_an_archive_an_empty_directory_or_a_bundle() {
    let source = Place::with(&borrowed(&bundle()));
    let snapshot = opened(&source.path(""));
    let place = Place::with(&[
        ("old.tar.gz", "old"),
        ("old/manifest.json", &manifest("")),
        ("old/k8s/pods.json", "{}"),
    ]);
    fs::create_dir(place.path("empty")).expect("it can be made");
    for name in ["old.tar.gz", "old", "empty"] {
        written(&snapshot, &place.path(name));
        assert_eq!(ids(&opened(&place.path(name))), BUNDLE_IDS, "{name}");
    }
    // In place, over what it is read from.
    written(&snapshot, &source.path("self.tar"));
    let itself = opened(&source.path("self.tar"));
    written(&itself, &source.path("self.tar"));
    assert_eq!(whole(&opened(&source.path("self.tar"))), whole(&snapshot));
}

#[test]
fn nothing_else_is_overwritten() {
    let snapshot = opened(&Place::with(&borrowed(&bundle())).path(""));
    let place = Place::with(&[
        ("mine/notes.txt", "x"),
        ("noted/manifest.json", &manifest("")),
        ("noted/notes.txt", "x"),
        ("hand/k8s/pods.json", PODS),
        ("file", "x"),
        ("dir.tar/x", "x"),
    ]);
    let refused = |name: &str| {
        let error = bundle::write(&snapshot, &place.path(name)).expect_err("it is refused");
        assert!(!error.hint().is_empty());
        place.relative(&error.to_string())
    };
    for name in ["mine", "noted", "hand"] {
        assert_eq!(
            refused(name),
            format!("{name} exists and is a directory that is neither empty nor a bundle")
        );
    }
    assert_eq!(refused("file"), "file exists and is not a directory");
    assert_eq!(refused("dir.tar"), "dir.tar exists and is not a file");
    assert_eq!(
        refused("x.zip"),
        "cannot tell from the name x.zip how to write it"
    );
    assert_eq!(
        refused("x.json.gz"),
        "cannot tell from the name x.json.gz how to write it"
    );
    assert_eq!(
        refused("absent/x.tar"),
        "cannot write absent/x.tar: no such file or directory"
    );
    assert_eq!(
        fs::read_to_string(place.path("noted/notes.txt"))
            .ok()
            .as_deref(),
        Some("x")
    );
    assert_eq!(fs::read_dir(place.path("")).expect("ours").count(), 5);
}

#[test]
fn a_document_that_vanished_is_noted_and_the_rest_is_written() {
    let source = Place::with(&borrowed(&bundle()));
    let large = source.put(
        "k8s/large.yaml",
        format!("{POD}data: {}\n", "x".repeat(2 << 20)),
    );
    let snapshot = opened(&source.path(""));
    fs::remove_file(large).expect("it can be removed");
    let place = Place::new();
    let summary = written(&snapshot, &place.path("b.tar.gz"));
    assert_eq!((summary.documents, summary.failed.len()), (6, 1));
    assert!(summary.failed[0].1.contains("has vanished"), "{summary:?}");
    assert_eq!(
        coverage(&opened(&place.path("b.tar.gz")), "k8s/large.yaml"),
        "partial"
    );
}

#[test]
fn several_sources_are_bundles_side_by_side() {
    let place = Place::with(&[("a.yaml", POD), ("b.yaml", POD)]);
    let sources = ["a.yaml", "b.yaml"].map(|name| Source::from(place.path(name)));
    let snapshot = open(&sources, &Options::default()).expect("both can be opened");
    // Twice, over itself.
    for name in ["both.tar.gz", "both", "both"] {
        written(&snapshot, &place.path(name));
        let again = opened(&place.path(name));
        assert_eq!(whole(&again), whole(&snapshot), "{name}");
        assert_eq!(
            again.sources().map(|(name, _)| name).collect::<Vec<_>>(),
            ["1", "2"]
        );
        let verified =
            bundle::verify(&Source::from(place.path(name)), &Options::default()).expect("a bundle");
        assert_eq!(
            (verified.documents, verified.problems.len()),
            (2, 0),
            "{verified:?}"
        );
    }
    place.put("both/1/notes.txt", "mine");
    bundle::write(&snapshot, &place.path("both")).expect_err("somebody's notes lie in it");
}

#[test]
fn bundles_side_by_side_have_names_of_their_own_beside_other_sources() {
    let place = Place::with(&[
        ("two/east/manifest.json", &manifest("")),
        ("two/east/k8s/pods.json", PODS),
        ("two/west/manifest.json", &manifest("")),
        ("two/west/k8s/pods.json", PODS),
        ("one.yaml", POD),
    ]);
    let sources = ["two", "one.yaml"].map(|name| Source::from(place.path(name)));
    let snapshot = open(&sources, &Options::default()).expect("both can be opened");
    let names: Vec<_> = snapshot.sources().map(|(name, _)| name).collect();
    assert_eq!(names, ["1-east", "1-west", "2"]);
    assert!(
        ids(&snapshot).contains(&"1-west/k8s/pods.json"),
        "{:?}",
        ids(&snapshot)
    );
}

#[test]
fn the_manifest_is_json_whatever_the_reasons_say() {
    let why = "User \"oncall\" cannot\n\tlist \\ \u{1} pods";
    let mut builder = meshladder_capture::snapshot::Builder::new();
    let denied = meshladder_capture::snapshot::Coverage::Denied(why.to_owned());
    builder.note(
        meshladder_capture::snapshot::Need::Objects(Kind::Pod),
        denied,
    );
    let place = Place::new();
    written(&builder.finish(), &place.path("b"));
    let text = fs::read_to_string(place.path("b/manifest.json")).expect("it was written");
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(
        manifest["coverage"]["k8s/pods.json"],
        serde_json::json!({"state": "denied", "why": why})
    );
    assert_eq!(
        (&manifest["format"], &manifest["version"]),
        (&"meshladder-bundle".into(), &1.into())
    );
    assert_eq!(manifest.get("takenAt"), None);
}
