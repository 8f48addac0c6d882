//! `bundle verify`.

use std::path::Path;

use meshladder_collect::{CollectError, Options, Source, bundle::verify};

use crate::support::*;

fn problems(place: &Place, path: &Path) -> Vec<String> {
    let verified = verify(&Source::from(path), &Options::default()).expect("it is a bundle");
    verified
        .problems
        .iter()
        .map(|problem| place.relative(&problem.to_string()))
        .collect()
}

#[test]
fn a_sound_bundle_has_no_problems() {
    let files = bundle();
    let place = Place::with(&borrowed(&files));
    let verified =
        verify(&Source::from(place.path("")), &Options::default()).expect("it is a bundle");
    let bytes: usize = files
        .iter()
        .filter(|(path, _)| path != "manifest.json")
        .map(|(_, text)| text.len())
        .sum();
    assert_eq!(
        (verified.documents, verified.bytes, verified.problems),
        (6, bytes as u64, vec![])
    );
}

#[test]
fn every_document_is_read_strictly() {
    let place = Place::with(&borrowed(&bundle()));
    for (path, bytes) in [
        ("k8s/nodes.json", &b"{\"a\": NaN}"[..]),
        ("k8s/jobs.batch.json", b""),
        ("istiod/istiod-1/debug/mesh.json", b"{\n\"a\": 1,\n}"),
        (
            "proxies/shop/cart-1/config_dump.json",
            &cart_dump().as_bytes()[..40],
        ),
        ("proxies/shop/cart-1/stats.txt", b"a\nb\xff\n"),
        ("proxies/shop/readme", b"x"),
        ("fix.yaml", b"x"),
    ] {
        place.put(path, bytes);
    }
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    place.put("k8s/deep.json", deep);
    let mut found = problems(&place, &place.path(""));
    found.sort();
    let expected = [
        "fix.yaml: is no part of the bundle layout; it is ignored",
        "istiod/istiod-1/debug/mesh.json:3:1: ",
        "k8s/deep.json:1:513: nested too deep",
        "k8s/jobs.batch.json:1:1: the document is cut short",
        "k8s/nodes.json:1:7: ",
        "proxies/shop/cart-1/config_dump.json:1:41: the document is cut short",
        "proxies/shop/cart-1/stats.txt:2:2: invalid UTF-8",
        "proxies/shop/readme: is no part of the bundle layout; it is ignored",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn the_manifest_and_the_archive_are_checked_too() {
    let place = Place::new();
    let tar = tar_of_files(&[("k8s/pods.json", PODS)]);
    let path = place.put("a.tar", &tar[..1024]);
    let found = problems(&place, &path);
    assert!(
        found.len() == 1 && found[0].starts_with("a.tar: the archive is cut short"),
        "{found:?}"
    );
    place.put(
        "b/manifest.json",
        r#"{"format": "meshladder-bundle", "version": 1, "takenAt": 7}"#,
    );
    assert_eq!(
        problems(&place, &place.path("b")),
        ["b/manifest.json:1:58: `takenAt` is no time: 7"]
    );
}

#[test]
fn a_bundle_without_a_manifest_is_sound_and_that_is_noted() {
    let place = Place::with(&[("b/k8s/pods.json", PODS)]);
    let path = place.put("a.tar", tar_of_files(&[("k8s/pods.json", PODS)]));
    for (path, name) in [(path, "a.tar"), (place.path("b"), "b")] {
        let verified = verify(&Source::from(path), &Options::default()).expect("it is a bundle");
        assert_eq!((verified.documents, verified.problems), (1, vec![]));
        let notes: Vec<String> = verified
            .notes
            .iter()
            .map(|note| place.relative(note))
            .collect();
        assert_eq!(
            notes,
            [format!(
                "{name} has no manifest.json that tells when it was taken"
            )]
        );
    }
    place.put("b/manifest.json", manifest(""));
    let verified =
        verify(&Source::from(place.path("b")), &Options::default()).expect("it is a bundle");
    assert_eq!((verified.notes, verified.problems), (vec![], vec![]));
}

#[test]
fn what_is_no_bundle_is_not_verified() {
    let place = Place::with(&[("pod.yaml", POD), ("report/bug-report.log", "x")]);
    for (path, form) in [
        ("pod.yaml", "a single document"),
        ("report", "a bug-report"),
        ("", "a collection of files"),
    ] {
        match verify(&Source::from(place.path(path)), &Options::default()) {
            Err(CollectError::NotABundle { form: told, .. }) => assert_eq!(told, form),
            other => panic!("{other:?}"),
        }
    }
}
