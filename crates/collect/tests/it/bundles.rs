//! Bundles, whole and in part.

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, DocId, Need};
use meshladder_collect::{Options, Source, open};

use crate::support::*;

#[test]
fn a_bundle_is_the_same_as_a_directory_and_as_any_archive_with_any_top_folder() {
    let files = bundle();
    let place = Place::new();
    for (path, text) in &files {
        place.put(&format!("plain/{path}"), text);
        place.put(&format!("around/deep/er/{path}"), text);
    }
    let topped: Vec<_> = files
        .iter()
        .map(|(path, text)| (format!("./my.folder/{path}"), text.clone()))
        .collect();
    let tar = tar_of_files(&borrowed(&files));
    // No name says what is in them.
    for (name, bytes) in [
        ("a", tar.clone()),
        ("b.zip", gzip(&tar)),
        ("c.txt", zstd(&tar)),
        ("d", gzip(&tar_of_files(&borrowed(&topped)))),
    ] {
        place.put(name, bytes);
    }
    for name in ["plain", "around", "a", "b.zip", "c.txt", "d"] {
        let snapshot = opened(&place.path(name));
        assert_eq!(ids(&snapshot), BUNDLE_IDS, "{name}");
        assert_eq!(
            text(&snapshot, "proxies/shop/cart-1/config_dump.json"),
            cart_dump()
        );
        assert_eq!(
            snapshot.taken_at().map(|time| time.to_string()).as_deref(),
            Some("2026-11-15T05:00:00Z")
        );
        assert_eq!(snapshot.problems(), []);
        let (_, meta) = snapshot.sources().next().expect("there is a source");
        let meta = meta.expect("it is known");
        assert_eq!(
            (meta.form, meta.cluster.as_deref(), meta.network.as_deref()),
            ("bundle", Some("east"), Some("n1"))
        );
        assert_eq!(meta.istio_version.as_deref(), Some("1.30.0"));
    }
}

#[test]
fn coverage_is_what_the_manifest_and_the_files_say() {
    let place = Place::with(&borrowed(&bundle()));
    let snapshot = opened(&place.path(""));
    for (path, word) in [
        ("k8s/pods.json", "complete"),
        ("k8s/services.json", "not-asked"),
        ("k8s/secrets.json", "denied"),
        ("logs/", "not-asked"),
        ("logs/shop/cart-1/istio-proxy.log", "not-asked"),
        ("proxies/", "complete"),
        ("istiod/", "complete"),
    ] {
        assert_eq!(coverage(&snapshot, path), word, "{path}");
    }
    let secrets = snapshot.coverage(&Need::Objects(Kind::Secret));
    assert_eq!(
        secrets,
        Coverage::Denied("no right to list secrets".to_owned())
    );
}

#[test]
fn a_bundle_made_by_hand_needs_no_manifest() {
    for file in [
        ("k8s/pods.json", PODS),
        ("k8s/pods.yaml", "apiVersion: v1\nitems: []\nkind: List\n"),
        ("proxies/shop/cart-1/stats.txt", STATS),
        ("istiod/istiod-1/debug/mesh.json", "{}"),
        ("logs/shop/cart-1/app.log", "hello\n"),
    ] {
        let snapshot = opened(&Place::with(&[file, ("notes.txt", "x")]).path(""));
        assert_eq!(ids(&snapshot), [file.0]);
        assert_eq!(coverage(&snapshot, "k8s/services.json"), "not-asked");
    }
}

#[test]
fn a_repository_with_a_folder_named_k8s_is_no_bundle() {
    let place = Place::with(&[
        ("k8s/deploy/pod.yaml", POD),
        ("k8s/pod.yaml", POD),
        ("mesh/service.json", SERVICE),
    ]);
    assert_eq!(opened(&place.path("")).ids().count(), 3);
    let place = Place::with(&[("logs/a/b/c.log", "x"), ("pod.yaml", POD)]);
    assert_eq!(ids(&opened(&place.path(""))), ["k8s/pod.yaml"]);
}

#[test]
fn an_error_page_where_objects_or_a_dump_belong_is_no_proof_of_anything() {
    let mut files = bundle();
    for (path, text) in [
        (
            "k8s/services.json",
            "Error from server (Forbidden): services is forbidden\n",
        ),
        ("k8s/nodes.json", "[1]"),
        ("k8s/jobs.batch.json", ""),
        (
            "proxies/shop/b/config_dump.json",
            "upstream connect error\n",
        ),
        ("proxies/shop/c/config_dump.json", SERVICE),
        ("proxies/shop/c/clusters.txt", "{\"error\": 1}"),
    ] {
        files.push((path.to_owned(), text.to_owned()));
    }
    let place = Place::with(&borrowed(&files));
    let snapshot = opened(&place.path(""));
    let text = "text, but neither Kubernetes objects (no `apiVersion` and `kind`) nor anything Envoy writes";
    assert_eq!(
        place.problems(&snapshot),
        [
            "k8s/jobs.batch.json: is empty where Kubernetes objects belong",
            "k8s/nodes.json: is a JSON list of no known kind, where Kubernetes objects belong",
            &format!("k8s/services.json: is {text}, where Kubernetes objects belong"),
            &format!("proxies/shop/b/config_dump.json: is {text}, where a config dump belongs"),
            "proxies/shop/c/clusters.txt: is JSON of no known kind (it has `error`), where Envoy's clusters belong",
            "proxies/shop/c/config_dump.json: is something else where a config dump belongs",
        ]
    );
    for path in [
        "k8s/services.json",
        "k8s/nodes.json",
        "k8s/jobs.batch.json",
        "proxies/shop/b/config_dump.json",
    ] {
        assert_eq!(coverage(&snapshot, path), "partial", "{path}");
    }
}

#[test]
fn what_is_no_part_of_a_bundle_is_ignored() {
    let mut files = bundle();
    for path in [
        "README.md",
        "fix.yaml",
        "k8s/notes.md",
        "k8s/.pods.json.swp",
        "logs/x",
        "proxies/shop/x",
        ".git/config",
    ] {
        files.push((path.to_owned(), POD.to_owned()));
    }
    let place = Place::with(&borrowed(&files));
    let snapshot = opened(&place.path(""));
    assert_eq!(
        (ids(&snapshot), snapshot.problems()),
        (BUNDLE_IDS.to_vec(), &[][..])
    );
}

#[test]
fn a_document_in_a_bundle_may_be_compressed() {
    let place = Place::with(&[("manifest.json", &manifest(""))]);
    place.put(
        "proxies/shop/cart-1/config_dump.json.gz",
        gzip(cart_dump().as_bytes()),
    );
    place.put(
        "proxies/shop/cart-1/clusters.json",
        zstd(CLUSTERS_JSON.as_bytes()),
    );
    let snapshot = opened(&place.path(""));
    assert_eq!(
        text(&snapshot, "proxies/shop/cart-1/config_dump.json"),
        cart_dump()
    );
    assert_eq!(
        text(&snapshot, "proxies/shop/cart-1/clusters.json"),
        CLUSTERS_JSON
    );
}

#[test]
fn what_is_odd_in_a_manifest_is_a_problem_with_its_place() {
    let place = Place::with(&[("k8s/pods.json", PODS)]);
    let odd = r#"{"format": "meshladder-bundle", "version": 2,
  "takenAt": "yesterday",
  "coverage": {"proxies/": {"state": "gone"}, "logs/": {"state": "partial", "why": "w"}}, NaN}"#;
    place.put("manifest.json", odd);
    let snapshot = opened(&place.path(""));
    assert_eq!(
        place.problems(&snapshot),
        [
            "manifest.json:3:91: expected a member name in quotes",
            "manifest.json:1:1: the bundle's version is 2; this program knows version 1",
            "manifest.json:2:14: `takenAt` is no time: \"yesterday\"",
            "manifest.json:3:28: the coverage of `proxies/` has no known `state`",
        ]
    );
    assert_eq!(
        (
            coverage(&snapshot, "logs/"),
            coverage(&snapshot, "k8s/pods.json")
        ),
        ("partial", "complete")
    );
    place.put(
        "manifest.json",
        r#"{"format": "meshladder-bundle", "version": 1, "coverage": []}"#,
    );
    assert_eq!(
        place.problems(&opened(&place.path(""))),
        ["manifest.json:1:59: `coverage` is not an object"]
    );
}

#[test]
fn a_bundle_in_which_everything_was_refused_is_still_a_bundle() {
    let place = Place::with(&[(
        "manifest.json",
        &manifest(r#""k8s/": {"state": "denied", "why": "no"}"#),
    )]);
    let snapshot = opened(&place.path(""));
    assert_eq!(
        (snapshot.ids().count(), coverage(&snapshot, "k8s/pods.json")),
        (0, "denied")
    );
}

#[test]
fn with_several_sources_each_id_starts_with_its_sources_number() {
    let place = Place::new();
    for (path, text) in bundle() {
        place.put(&format!("east/{path}"), text);
    }
    let tar = place.put(
        "west.tar.gz",
        gzip(&tar_of_files(&[("x/k8s/pods.json", PODS)])),
    );
    let sources = [Source::from(place.path("east")), Source::from(tar)];
    let snapshot = open(&sources, &Options::default()).expect("both can be opened");
    let (east, west): (Vec<&str>, Vec<&str>) =
        ids(&snapshot).iter().partition(|id| id.starts_with("1/"));
    assert_eq!((east.len(), west), (6, vec!["2/k8s/pods.json"]));
    let origin = snapshot
        .origin(&DocId::new("2/k8s/pods.json"))
        .expect("it has an origin");
    assert_eq!(place.relative(origin), "west.tar.gz!x/k8s/pods.json");
    let metas: Vec<_> = snapshot
        .sources()
        .map(|(name, meta)| (name, meta.map(|meta| meta.form)))
        .collect();
    assert_eq!(metas, [("1", Some("bundle")), ("2", Some("bundle"))]);
    assert_eq!(
        snapshot.coverage_in("2", &Need::of_path("k8s/secrets.json")),
        Coverage::NotAsked
    );
    assert_eq!(coverage(&snapshot, "k8s/secrets.json"), "denied");
}
