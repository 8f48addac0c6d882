//! `--max-size`: whatever the source is, more than that is refused, and the hint is to raise it.

use std::cell::RefCell;
use std::io::{Cursor, Read};

use meshladder_collect::{CollectError, Options, Source, bundle::verify, open};
use tar::EntryType;

use crate::support::*;

const KIB: usize = 1 << 10;

thread_local! {
    static STDIN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn limited(max_size: u64) -> Options {
    Options {
        max_size,
        max_memory: 1 << 30,
        stdin: || -> Box<dyn Read> { Box::new(Cursor::new(STDIN.take())) },
    }
}

/// What opening and verifying says of it, which is the same.
fn refused(place: &Place, source: impl Into<Source>, max_size: usize) -> String {
    let (source, options) = (source.into(), limited(max_size as u64));
    let told = |error: &CollectError| {
        assert!(matches!(error, CollectError::TooLarge { .. }), "{error:?}");
        assert_eq!(error.hint(), "if it is really that large, raise --max-size");
        place.relative(&error.to_string())
    };
    let stdin = STDIN.with_borrow(Clone::clone);
    let opened = told(&open(std::slice::from_ref(&source), &options).expect_err("it is too large"));
    STDIN.replace(stdin);
    assert_eq!(
        told(&verify(&source, &options).expect_err("it is too large")),
        opened
    );
    opened
}

/// A bundle of so many documents of 100 KiB.
fn files(count: usize) -> Vec<(String, String)> {
    (0..count)
        .map(|n| {
            (
                format!("logs/shop/cart-{n}/istio-proxy.log"),
                "x".repeat(100 * KIB),
            )
        })
        .collect()
}

#[test]
fn a_bundle_is_refused_by_the_sum_of_its_documents_however_it_is_packed() {
    let files = files(90);
    let place = Place::new();
    for (path, text) in &files {
        place.put(&format!("d/{path}"), text);
    }
    let tar = tar_of_files(&borrowed(&files));
    for (max, size) in [
        (1024 * KIB, "1 MiB"),
        (5 * 1024 * KIB, "5 MiB"),
        (9000 * KIB - 1, "8.7 MiB"),
    ] {
        for (name, bytes) in [
            ("a.tar", tar.clone()),
            ("a.tar.gz", gzip(&tar)),
            ("a.tar.zst", zstd(&tar)),
        ] {
            assert_eq!(
                refused(&place, place.put(name, bytes), max),
                format!("{name} is larger than {size}")
            );
        }
        assert_eq!(
            refused(&place, place.path("d"), max),
            format!("d is larger than {size}")
        );
        for bytes in [tar.clone(), gzip(&tar)] {
            STDIN.replace(bytes);
            assert_eq!(
                refused(&place, "-", max),
                format!("stdin is larger than {size}")
            );
        }
    }
    for name in ["a.tar", "a.tar.gz", "a.tar.zst", "d"] {
        let exactly = limited(9000 * 1024);
        let snapshot =
            open(&[Source::from(place.path(name))], &exactly).expect("it is no larger than that");
        assert_eq!(
            (snapshot.ids().count(), place.problems(&snapshot)),
            (90, vec![]),
            "{name}"
        );
    }
}

/// 10 GB that compress to 10 MB: the header tells, so nothing of it is unpacked.
#[test]
fn a_member_larger_than_the_limit_is_refused_by_its_header() {
    let mut tar = tar_of_files(&[("k8s/pods.json", PODS)]);
    tar.truncate(1024);
    tar.extend(member(EntryType::Regular, b"k8s/huge.json", 10_000_000_000));
    tar.extend(vec![b' '; 1 << 20]);
    let place = Place::new();
    for bytes in [tar.clone(), gzip(&tar), zstd(&tar)] {
        let told = refused(&place, place.put("a.tar", bytes), 4 << 30);
        assert_eq!(
            told,
            "a.tar is larger than 4 GiB: k8s/huge.json alone is 9.3 GiB"
        );
    }
}

#[test]
fn what_is_passed_over_counts_only_when_it_must_be_unpacked() {
    let mut tar = tar_of_files(&[("k8s/pods.json", PODS)]);
    tar.truncate(1024);
    tar.extend(member(
        EntryType::Regular,
        b"proxies/a/b/cores/1.core",
        10_000_000_000,
    ));
    let place = Place::new();
    let told = refused(&place, place.put("a.tar.gz", gzip(&tar)), 4 << 30);
    assert_eq!(
        told,
        "a.tar.gz is larger than 4 GiB: it has too much that is no document"
    );
    let snapshot = opened(&place.put("a.tar", &tar));
    assert_eq!(ids(&snapshot), ["k8s/pods.json"]);
}

/// The headers of folders, without end.
struct Folders {
    at: usize,
}

impl Read for Folders {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let read = (&member(EntryType::Directory, b"k8s/", 0)[self.at..]).read(buf)?;
        self.at = (self.at + read) % 512;
        Ok(read)
    }
}

/// Members without content cost nothing but their headers; there may be no end of them.
#[test]
fn an_endless_archive_of_nothing_is_left() {
    let error = open(
        &[Source::Stdin],
        &Options {
            max_size: 1 << 20,
            max_memory: 1 << 30,
            stdin: || Box::new(Folders { at: 0 }),
        },
    )
    .expect_err("it has no end");
    assert_eq!(
        error.to_string(),
        "stdin is larger than 1 MiB: it has too much that is no document"
    );
}

#[test]
fn compressed_documents_count_unpacked() {
    let pods = |spaces: usize| {
        gzip(
            PODS.replace("[]", &format!("[{}]", " ".repeat(spaces)))
                .as_bytes(),
        )
    };
    let place = Place::new();
    for name in ["a", "b", "c"] {
        place.put(&format!("bundle/k8s/{name}.json.gz"), pods(500 * KIB));
        place.put(&format!("report/cluster/{name}"), pods(500 * KIB));
        place.put(&format!("loose/{name}.json.gz"), pods(500 * KIB));
    }
    place.put("bundle/manifest.json", manifest(""));
    place.put("report/bug-report.log", "x");
    assert_eq!(
        refused(&place, place.path("bundle"), 1 << 20),
        "bundle is larger than 1 MiB"
    );
    for name in ["report", "loose"] {
        let error = open(&[Source::from(place.path(name))], &limited(1 << 20))
            .expect_err("it is too large");
        assert_eq!(
            place.relative(&error.to_string()),
            format!("{name} is larger than 1 MiB")
        );
    }
}

#[test]
fn a_large_file_in_a_directory_is_refused_when_it_is_a_document() {
    let place = Place::with(&[
        ("pod.yaml", POD),
        ("words.txt", &"no document ".repeat(200 * KIB)),
    ]);
    assert_eq!(
        open(&[Source::from(place.path(""))], &limited(1 << 20))
            .map_or(0, |found| found.ids().count()),
        1
    );
    place.put(
        "d/large.yaml",
        format!("{POD}data: {}\n", "x".repeat(2 << 20)),
    );
    let error =
        open(&[Source::from(place.path("d"))], &limited(1 << 20)).expect_err("it is too large");
    assert_eq!(
        place.relative(&error.to_string()),
        "d is larger than 1 MiB: d/large.yaml alone is 2 MiB"
    );
}

#[test]
fn several_sources_have_one_limit() {
    let place = Place::new();
    let tar = tar_of_files(&borrowed(&files(6)));
    let sources = [place.put("a.tar", &tar), place.put("b.tar.gz", gzip(&tar))].map(Source::from);
    assert!(
        sources
            .iter()
            .all(|source| open(std::slice::from_ref(source), &limited(1 << 20)).is_ok())
    );
    let error = open(&sources, &limited(1 << 20)).expect_err("together they are too large");
    let told = "b.tar.gz is larger than 1 MiB: the sources before it count too";
    assert_eq!(place.relative(&error.to_string()), told);
}
