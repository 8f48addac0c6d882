//! Real captures, when `MESHLADDER_SHARED` says where they are. Made-up sources in the other
//! modules hold the same ground.

use std::collections::BTreeMap;
use std::path::PathBuf;

use meshladder_capture::snapshot::{DocId, Shape, Snapshot};
use meshladder_collect::{Options, Source, bundle, open};

use crate::support::*;

fn shared(path: &str) -> Option<PathBuf> {
    std::env::var_os("MESHLADDER_SHARED").map(|folder| PathBuf::from(folder).join(path))
}

fn shapes(snapshot: &Snapshot) -> BTreeMap<Shape, usize> {
    snapshot.ids().fold(BTreeMap::new(), |mut shapes, id| {
        *shapes.entry(id.shape()).or_default() += 1;
        shapes
    })
}

#[test]
fn every_mesh_opens_verifies_and_survives_being_written() {
    let Some(meshes) = shared("meshes") else {
        return;
    };
    let place = Place::new();
    for mesh in std::fs::read_dir(meshes)
        .expect("the captures are there")
        .flatten()
    {
        let path = mesh.path().join("bundle.tar.gz");
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
    let healthy = opened(&shared("meshes/healthy/bundle.tar.gz").expect("it is set"));
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
    let (Some(report), Some(bundle)) = (
        shared("samples/bug-report.tar.gz"),
        shared("meshes/healthy/bundle.tar.gz"),
    ) else {
        return;
    };
    let (report, bundle) = (opened(&report), opened(&bundle));
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
fn the_samples_of_one_large_proxy_belong_together() {
    let Some(samples) = shared("samples") else {
        return;
    };
    let files = [
        "config_dump-1500-services.json.gz",
        "clusters-1500-services.json.gz",
    ];
    let place = Place::new();
    for name in files {
        place.put(
            name,
            std::fs::read(samples.join(name)).expect("the sample is there"),
        );
    }
    let snapshot = opened(&place.path(""));
    let proxy = "proxies/tools/curl-5b64d475cf-cwr6l";
    assert_eq!(
        ids(&snapshot),
        [
            format!("{proxy}/clusters.json"),
            format!("{proxy}/config_dump.json")
        ]
    );
    let sizes: u64 = snapshot.sizes().map(|(_, size)| size).sum();
    assert!(sizes > 37_000_000);
    let alone = open(&[Source::from(samples.join(files[0]))], &Options::default())
        .expect("it can be opened");
    let document = alone
        .open(&DocId::new(format!("{proxy}/config_dump.json")))
        .expect("it is there");
    assert_eq!(document.text.len(), document.text.capacity());
}
