//! What can be wrong with an archive. What could be read is of use all the same, and nothing is
//! ever written.

use meshladder_capture::snapshot::Snapshot;
use tar::EntryType;

use crate::support::*;

/// Opens an archive plain, as gzip and as zstd: what is wrong with the tar is told the same way.
fn each_packing(tar: &[u8], check: impl Fn(&Place, &Snapshot)) {
    for bytes in [tar.to_vec(), gzip(tar), zstd(tar)] {
        let place = Place::new();
        let snapshot = opened(&place.put("a.tar", bytes));
        check(&place, &snapshot);
    }
}

#[test]
fn what_is_no_file_inside_the_archive_is_left_out() {
    let tar = tar_of(&[
        (EntryType::Directory, "k8s/", b""),
        (EntryType::Regular, "k8s/pods.json", PODS.as_bytes()),
        (EntryType::Regular, "../outside.json", PODS.as_bytes()),
        (
            EntryType::Regular,
            "k8s/../../outside.json",
            PODS.as_bytes(),
        ),
        (EntryType::Regular, "/etc/absolute.json", PODS.as_bytes()),
        (EntryType::Regular, "k8s/\u{1b}[2J.json", PODS.as_bytes()),
        (EntryType::Symlink, "k8s/services.json", b""),
        (EntryType::Link, "k8s/nodes.json", b""),
        (EntryType::Char, "k8s/null.json", b""),
        (EntryType::Block, "k8s/disk.json", b""),
        (EntryType::Fifo, "k8s/fifo.json", b""),
        (EntryType::Regular, "k8s/._pods.json", b"\0\0macOS"),
        (EntryType::Regular, "k8s/pods.json", b"{}"),
        (EntryType::new(b'Z'), "k8s/odd.json", b"{}"),
        (EntryType::Regular, "k8s/secrets.json", PODS.as_bytes()),
    ]);
    each_packing(&tar, |place, snapshot| {
        assert_eq!(ids(snapshot), ["k8s/pods.json", "k8s/secrets.json"]);
        assert_eq!(text(snapshot, "k8s/pods.json"), PODS);
        assert_eq!(
            place.problems(snapshot),
            [
                "a.tar!../outside.json: has a path that leads out of the archive; not read",
                "a.tar!k8s/../../outside.json: has a path that leads out of the archive; not read",
                "a.tar!/etc/absolute.json: has an absolute path; not read",
                "a.tar!k8s/\\u{1b}[2J.json: has control characters in its name; not read",
                "a.tar!k8s/services.json: is a symbolic link; not read",
                "a.tar!k8s/nodes.json: is a hard link; not read",
                "a.tar!k8s/null.json: is a device; not read",
                "a.tar!k8s/disk.json: is a device; not read",
                "a.tar!k8s/fifo.json: is a named pipe; not read",
                "a.tar!k8s/odd.json: is of a kind that is not known; not read",
                "a.tar!k8s/pods.json: is JSON of no known kind, where Kubernetes objects belong",
                "a.tar!k8s/pods.json: a second document for `k8s/pods.json`; the first one is used",
            ]
            .map(str::to_owned)
            .as_slice()
        );
        assert!(
            !place.path("outside.json").exists()
                && !std::path::Path::new("/etc/absolute.json").exists()
        );
    });
}

#[test]
fn an_archive_cut_short_keeps_what_came_before() {
    let files = bundle();
    let tar = tar_of_files(&borrowed(&files));
    // After the second file: between two members, inside a header, inside a content.
    for cut in [2048, 2048 + 100, 2048 + 512 + 10] {
        each_packing(&tar[..cut], |place, snapshot| {
            assert_eq!(
                ids(snapshot),
                [
                    "k8s/pods.json",
                    "k8s/virtualservices.networking.istio.io.json"
                ],
                "{cut}"
            );
            let problems = place.problems(snapshot);
            assert!(
                problems.len() == 1 && problems[0].starts_with("a.tar: the archive is cut short"),
                "{problems:?}"
            );
            assert!(
                problems[0].ends_with("; 2 files could be read, what follows is missing"),
                "{problems:?}"
            );
            assert_eq!(
                (
                    coverage(snapshot, "k8s/pods.json"),
                    coverage(snapshot, "proxies/")
                ),
                ("complete", "partial")
            );
        });
    }
}

#[test]
fn a_compressed_archive_cut_short_keeps_what_came_before() {
    let noise = noise(900_000);
    let tar = tar_of_files(&[
        ("k8s/pods.json", PODS),
        ("proxies/a/b/stats.txt", &noise),
        ("k8s/nodes.json", PODS),
    ]);
    for packed in [gzip(&tar), zstd(&tar)] {
        // Enough for the head that tells what it is, and one file.
        let place = Place::new();
        let snapshot = opened(&place.put("a.tar", &packed[..packed.len() * 2 / 3]));
        assert_eq!(ids(&snapshot), ["k8s/pods.json"]);
        let problems = place.problems(&snapshot);
        assert!(
            problems.len() == 1 && problems[0].starts_with("a.tar: the archive is "),
            "{problems:?}"
        );
    }
}

#[test]
fn a_damaged_archive_keeps_what_came_before() {
    let files = bundle();
    let mut tar = tar_of_files(&borrowed(&files));
    tar[2048 + 3] ^= 0x55;
    each_packing(&tar, |place, snapshot| {
        assert_eq!(snapshot.ids().count(), 2);
        let told = "a.tar: the archive is damaged at byte 2048; 2 files could be read, what follows is missing";
        assert_eq!(place.problems(snapshot), [told]);
    });
    let place = Place::new();
    let mut packed = gzip(&tar_of_files(&borrowed(&files)));
    packed[12] ^= 0xff;
    place.put("bad.tar.gz", &packed);
    assert!(
        place
            .error("bad.tar.gz")
            .starts_with("bad.tar.gz cannot be unpacked: "),
        "{}",
        place.error("bad.tar.gz")
    );
}

#[test]
fn an_empty_archive_says_so() {
    let place = Place::new();
    place.put("a.tar", tar_of(&[]));
    place.put(
        "b.tar.gz",
        gzip(&tar_of(&[(EntryType::Directory, "k8s/", b"")])),
    );
    place.put("c.tar", tar_of(&[(EntryType::Regular, "../x.json", b"{}")]));
    assert_eq!(
        (place.error("a.tar"), place.error("b.tar.gz")),
        ("a.tar is empty".into(), "b.tar.gz is empty".into())
    );
    let told = "c.tar cannot be unpacked: has a path that leads out of the archive; not read";
    assert_eq!(place.error("c.tar"), told);
    let names: Vec<String> = (0..1000).map(|n| format!("../x{n}.json")).collect();
    let members: Vec<_> = names
        .iter()
        .map(|name| (EntryType::Regular, name.as_str(), &b"{}"[..]))
        .collect();
    place.put("d.tar", tar_of(&members));
    let why = "has a path that leads out of the archive; not read";
    let first = [0, 1, 2]
        .map(|n| format!("d.tar!../x{n}.json: {why}"))
        .join("\n  ");
    let told = format!("d.tar cannot be unpacked: 1000 problems, the first three:\n  {first}");
    assert_eq!(place.error("d.tar"), told);
}

#[test]
fn long_names_are_read_in_both_ways_of_writing_them() {
    let name = format!("logs/shop/{}/istio-proxy.log", "very-long-name-".repeat(15));
    let mut pax = format!(" path={name}\n");
    let len = pax.len() + 3;
    pax.insert_str(0, &len.to_string());
    let gnu = format!("{name}\0");
    for (kind, told) in [
        (EntryType::XHeader, pax.as_bytes()),
        (EntryType::GNULongName, gnu.as_bytes()),
    ] {
        let tar = tar_of(&[
            (
                EntryType::XGlobalHeader,
                "pax_global_header",
                b"13 comment=x\n",
            ),
            (kind, "././@LongLink", told),
            (
                EntryType::Regular,
                "logs/shop/short/istio-proxy.log",
                b"long",
            ),
            (
                EntryType::Regular,
                "logs/shop/short/istio-proxy.log",
                b"short",
            ),
        ]);
        each_packing(&tar, |place, snapshot| {
            assert_eq!(
                (text(snapshot, &name).as_str(), place.problems(snapshot)),
                ("long", vec![])
            );
            assert_eq!(text(snapshot, "logs/shop/short/istio-proxy.log"), "short");
        });
    }
}

#[test]
fn a_name_or_size_that_cannot_be_true_ends_the_reading() {
    let pods = (EntryType::Regular, "k8s/pods.json", PODS.as_bytes());
    let huge = vec![b'x'; 2 << 20];
    for (odd, told) in [
        (
            (EntryType::GNULongName, "x", huge.as_slice()),
            "the archive has a file name of 2 MiB",
        ),
        (
            (EntryType::XHeader, "x", b"15 size=999999\n"),
            "`k8s/nodes.json` has two sizes",
        ),
    ] {
        let tar = tar_of(&[
            pods,
            odd,
            (EntryType::Regular, "k8s/nodes.json", PODS.as_bytes()),
        ]);
        each_packing(&tar, |place, snapshot| {
            assert_eq!(ids(snapshot), ["k8s/pods.json"]);
            assert!(
                place.problems(snapshot)[0].contains(told),
                "{:?}",
                place.problems(snapshot)
            );
        });
    }
}

#[test]
fn sparse_files_are_left_out_and_what_follows_is_read() {
    let mut tar = Vec::new();
    let mut header = tar::Header::new_gnu();
    header.set_path("k8s/sparse.json").expect("it fits");
    header.set_entry_type(EntryType::GNUSparse);
    header.set_size(512);
    let gnu = header.as_gnu_mut().expect("a GNU header");
    gnu.set_is_extended(true);
    gnu.set_real_size(1 << 40);
    header.set_cksum();
    tar.extend(header.as_bytes());
    // One extended header, the last one, and one block of content.
    tar.extend([0; 512]);
    tar.extend([b'x'; 512]);
    tar.extend(tar_of(&[
        (EntryType::XHeader, "x", b"22 GNU.sparse.major=1\n"),
        (EntryType::Regular, "k8s/sparse2.json", b"{}"),
        (EntryType::Regular, "k8s/pods.json", PODS.as_bytes()),
    ]));
    each_packing(&tar, |place, snapshot| {
        assert_eq!(ids(snapshot), ["k8s/pods.json"]);
        let why = "is stored as a sparse file; pack it again without --sparse; not read";
        let told =
            ["k8s/sparse.json", "k8s/sparse2.json"].map(|name| format!("a.tar!{name}: {why}"));
        assert_eq!(place.problems(snapshot), told);
    });
}

#[test]
fn an_archive_of_loose_files_is_read_like_a_directory() {
    let cart = cart_dump();
    let tar = tar_of_files(&[
        ("x/pod.yaml", POD),
        ("x/cart.json", &cart),
        ("x/README", "words"),
    ]);
    each_packing(&tar, |place, snapshot| {
        assert_eq!(
            ids(snapshot),
            ["k8s/x/pod.yaml", "proxies/shop/cart-1/config_dump.json"]
        );
        assert_eq!(place.problems(snapshot), [""; 0]);
    });
}

#[test]
fn an_archive_on_disk_that_is_cut_later_is_a_problem_when_it_is_read() {
    let large = format!("{POD}data: {}\n", "x".repeat(2 << 20));
    let place = Place::new();
    let path = place.put("a.tar", tar_of_files(&[("large.yaml", &large)]));
    let snapshot = opened(&path);
    let id = meshladder_capture::snapshot::DocId::new("k8s/large.yaml");
    assert!(
        snapshot
            .open(&id)
            .is_ok_and(|document| *document.text == large)
    );
    std::fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(1000))
        .expect("it can be cut");
    let problem = snapshot.open(&id).expect_err("most of it is gone");
    assert_eq!(
        place.relative(&problem.to_string()),
        "a.tar!large.yaml: has changed while it was being read; run again"
    );
}

/// Whatever the bytes are, there is an answer.
#[test]
fn random_damage_never_ends_in_a_panic() {
    let place = Place::new();
    let tar = tar_of(&[
        (
            EntryType::GNULongName,
            "././@LongLink",
            b"logs/shop/long/istio-proxy.log\0",
        ),
        (
            EntryType::Regular,
            "logs/shop/short/istio-proxy.log",
            b"2026-11-15T06:30:45Z\tinfo",
        ),
        (EntryType::XHeader, "x", b"13 comment=x\n"),
        (EntryType::Regular, "k8s/pods.json", PODS.as_bytes()),
        (EntryType::Regular, "manifest.json", manifest("").as_bytes()),
    ]);
    let mut dice = 1usize;
    let mut roll = |sides: usize| {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    let (mut read, mut refused) = (0, 0);
    for round in 0..600 {
        let mut bytes = match round % 3 {
            0 => tar.clone(),
            1 => gzip(&tar),
            _ => zstd(&tar),
        };
        for _ in 0..=roll(4) {
            let at = roll(bytes.len());
            bytes[at] = u8::try_from(roll(256)).expect("a byte");
        }
        bytes.truncate(bytes.len() - roll(2) * roll(bytes.len()));
        match try_open(&place.put("a", bytes)) {
            Ok(snapshot) => {
                read += 1;
                snapshot.taken_at();
            }
            Err(error) => refused += usize::from(!error.to_string().is_empty()),
        }
    }
    assert!(
        read > 100 && refused > 100 && read + refused == 600,
        "{read} read, {refused} refused"
    );
}
