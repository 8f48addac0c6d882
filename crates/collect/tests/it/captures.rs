//! Real captures. Made-up sources in the other modules hold the same ground.

use std::collections::BTreeMap;
use std::path::PathBuf;

use meshladder_capture::snapshot::{DocId, Shape, Snapshot};
use meshladder_collect::{Options, Source, bundle, open};

use crate::expect::root;
use crate::meshes::{capture, captures, shared};
use crate::support::*;

fn shapes(snapshot: &Snapshot) -> BTreeMap<Shape, usize> {
    snapshot.ids().fold(BTreeMap::new(), |mut shapes, id| {
        *shapes.entry(id.shape()).or_default() += 1;
        shapes
    })
}

#[test]
fn every_mesh_opens_verifies_and_survives_being_written() {
    let place = Place::new();
    for mesh in captures() {
        let path = mesh.bundle();
        let snapshot = opened(&path);
        assert_eq!(place.problems(&snapshot), [""; 0], "{}", path.display());
        assert!(snapshot.ids().count() > 20 && snapshot.taken_at().is_some());
        let verified =
            bundle::verify(&Source::from(path), &Options::default()).expect("it is a bundle");
        let broken = verified
            .problems
            .iter()
            .filter(|problem| !problem.what.contains("secret"))
            .count();
        assert_eq!(broken, 0, "{:?}", verified.problems);
    }
    let healthy = opened(&capture("healthy").bundle());
    for name in ["b.tar", "b.tar.gz", "b.tar.zst", "b"] {
        bundle::write(&healthy, &place.path(name)).expect("it can be written");
        let again = opened(&place.path(name));
        assert_eq!(ids(&again), ids(&healthy));
        for id in healthy.ids() {
            assert!(
                text(&again, id.as_str()) == text(&healthy, id.as_str()),
                "{id}"
            );
        }
        assert_eq!(again.taken_at(), healthy.taken_at());
    }
}

#[test]
fn the_bug_report_and_the_bundle_of_one_mesh_have_the_same_proxies() {
    let report = opened(&root().join("fixtures/bug-report/bug-report.tar.zst"));
    let bundle = opened(&capture("healthy").bundle());
    assert_eq!(report.problems(), []);
    let proxies = |snapshot: &Snapshot, shape| {
        snapshot
            .proxies_with(shape)
            .map(|(proxy, _)| proxy)
            .collect::<Vec<_>>()
    };
    for shape in [
        Shape::ConfigDump,
        Shape::Clusters,
        Shape::Listeners,
        Shape::Certs,
        Shape::ServerInfo,
        Shape::Stats,
    ] {
        assert_eq!(
            proxies(&report, shape),
            proxies(&bundle, shape),
            "{shape:?}"
        );
    }
    assert_eq!(shapes(&report)[&Shape::Objects], 3);
    // The report was taken a few seconds after the bundle, which says so in its manifest.
    let later = report
        .taken_at()
        .expect("logs tell")
        .seconds_since(bundle.taken_at().expect("the manifest tells"));
    assert!((0..60).contains(&later), "{later} s");
    assert_eq!(
        coverage(&report, "k8s/authorizationpolicies.security.istio.io.json"),
        "complete"
    );
}

#[test]
fn files_of_one_proxy_belong_together_whatever_they_are_called() {
    let small = root().join("fixtures/meshes/small/bundle/proxies/tools/curl-5b64d475cf-qzthp");
    let files = ["config_dump", "clusters"].map(|part| {
        (
            format!("{part}-small.json"),
            small.join(part).with_extension("json"),
        )
    });
    let size = belong_together(&files, "proxies/tools/curl-5b64d475cf-qzthp");
    assert!(size > 80_000, "{size}");
    // A proxy that sees 1,500 services.
    if let Some(samples) = shared("samples") {
        let files = [
            "config_dump-1500-services.json.gz",
            "clusters-1500-services.json.gz",
        ]
        .map(|name| (name.to_owned(), samples.join(name)));
        let size = belong_together(&files, "proxies/tools/curl-5b64d475cf-cwr6l");
        assert!(size > 37_000_000, "{size}");
    }
}

/// Puts a config dump and a `/clusters` into one folder, under names of their own, and gives their
/// size.
fn belong_together(files: &[(String, PathBuf); 2], proxy: &str) -> u64 {
    let place = Place::new();
    for (name, path) in files {
        place.put(name, std::fs::read(path).expect("the file is there"));
    }
    let snapshot = opened(&place.path(""));
    let expected = ["clusters", "config_dump"].map(|part| format!("{proxy}/{part}.json"));
    assert_eq!(ids(&snapshot), expected);
    let (_, dump) = &files[0];
    let alone = open(&[Source::from(dump.clone())], &Options::default()).expect("it can be opened");
    let document = alone
        .open(&DocId::new(expected[1].clone()))
        .expect("it is there");
    assert_eq!(document.text.len(), document.text.capacity());
    snapshot.sizes().map(|(_, size)| size).sum()
}
