//! Directories that are neither a bundle nor a bug-report.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

use meshladder_collect::{Options, Source, open};

use crate::support::*;

#[test]
fn every_file_is_told_by_its_content_whatever_its_name_and_folder() {
    let place = Place::with(&[
        ("a/pod.yaml", POD),
        ("a/b/service.txt", SERVICE),
        ("README", "# Words\n"),
        ("notes.txt", "just words"),
        ("empty.yaml", ""),
        ("comment.yaml", "# nothing here\n"),
        ("values.yaml", "replicas: 1\n"),
        ("package.json", "{\"name\": \"x\"}"),
        ("list.json", "[1]"),
        ("empty.json", ""),
        (".hidden/pod.yaml", POD),
        (".pod.yaml", POD),
        ("dumps/cart.json", &cart_dump()),
    ]);
    place.put(
        "dumps/other.json.gz",
        gzip(dump("sidecar~1~other-1.shop~x").as_bytes()),
    );
    place.put("chart.tgz", gzip(&tar_of_files(&[("x/pod.yaml", POD)])));
    let snapshot = opened(&place.path(""));
    let found = [
        "k8s/a/b/service.txt.json",
        "k8s/a/pod.yaml",
        "proxies/shop/cart-1/config_dump.json",
        "proxies/shop/other-1/config_dump.json",
    ];
    assert_eq!(ids(&snapshot), found);
    assert_eq!(
        place.problems(&snapshot),
        [
            "empty.json: is empty",
            "list.json:1:1: is a JSON list of no known kind; not used",
            "package.json:1:1: is JSON of no known kind (it has `name`); not used",
            "values.yaml: is text, but neither Kubernetes objects (no `apiVersion` and `kind`) nor anything Envoy writes; not used",
        ]
    );
    let only_these = "partial";
    assert_eq!(
        (
            coverage(&snapshot, "k8s/pods.json"),
            coverage(&snapshot, "proxies/")
        ),
        (only_these, only_these)
    );
    assert_eq!(coverage(&snapshot, "istiod/"), "not-asked");
}

#[test]
fn what_lies_beside_a_dump_belongs_to_its_proxy() {
    let (a, b) = (dump("sidecar~1~a-1.shop~x"), dump("sidecar~1~b-1.shop~x"));
    let place = Place::with(&[
        // Alone with one dump in a folder.
        ("one/config_dump.json", &a),
        ("one/clusters.json", CLUSTERS_JSON),
        ("one/stats.txt", STATS),
        // By name.
        ("two/config_dump-b.json", &b),
        ("two/clusters-b.txt", CLUSTERS),
        ("two/x.json", &dump("")),
        ("two/x.prom", PROMETHEUS),
        // Nobody's.
        ("three/q.txt", STATS),
        ("four/clusters.txt", CLUSTERS),
    ]);
    assert_eq!(
        ids(&opened(&place.path(""))),
        [
            "proxies/-/four/clusters.txt",
            "proxies/-/q/stats.txt",
            "proxies/-/x/config_dump.json",
            "proxies/-/x/stats.prom",
            "proxies/shop/a-1/clusters.json",
            "proxies/shop/a-1/config_dump.json",
            "proxies/shop/a-1/stats.txt",
            "proxies/shop/b-1/clusters.txt",
            "proxies/shop/b-1/config_dump.json",
        ]
    );
}

#[test]
fn two_dumps_of_one_proxy_are_told() {
    let place = Place::with(&[("after.json", &cart_dump()), ("before.json", &cart_dump())]);
    let snapshot = opened(&place.path(""));
    assert_eq!(snapshot.ids().count(), 1);
    let told = "before.json: a second document for `proxies/shop/cart-1/config_dump.json`; the first one is used";
    assert_eq!(place.problems(&snapshot), [told]);
}

#[test]
fn a_relative_path_is_part_of_the_id_and_of_what_the_user_sees() {
    // The tests of this crate run in its folder.
    let place = tempfile::Builder::new()
        .prefix("given-")
        .tempdir_in("tests")
        .expect("a directory of our own");
    let folder = format!(
        "tests/{}",
        place
            .path()
            .file_name()
            .expect("it has a name")
            .to_string_lossy()
    );
    fs::write(place.path().join("pod.yaml"), POD).expect("it can be written");
    let id = format!("k8s/{folder}/pod.yaml");
    for given in [
        folder.clone(),
        format!("./{folder}/"),
        format!("{folder}/pod.yaml"),
    ] {
        let snapshot =
            open(&[Source::from(given.as_str())], &Options::default()).expect("it can be opened");
        assert_eq!(ids(&snapshot), [id.as_str()], "{given}");
        let origin = snapshot
            .ids()
            .next()
            .and_then(|id| snapshot.origin(id))
            .expect("it has an origin");
        assert!(
            origin.starts_with(given.as_str()) && origin.ends_with("pod.yaml"),
            "{origin}"
        );
    }
}

#[test]
fn a_directory_of_nothing_known_says_so() {
    let place = Place::with(&[("words/README", "x")]);
    assert_eq!(
        place.error("words"),
        "nothing in words is a Kubernetes object or anything Envoy or istiod writes"
    );
    place.put(
        "words/bundle.tar.gz",
        gzip(&tar_of_files(&[("k8s/pods.json", PODS)])),
    );
    assert_eq!(
        place.error("words"),
        "nothing in words is a Kubernetes object or anything Envoy or istiod writes; it holds the archive words/bundle.tar.gz, which must be given by its own name"
    );
    place.put("odd/x.json", "{\"a\": 1}");
    assert_eq!(
        place.error("odd"),
        "odd is of no use: odd/x.json:1:1: is JSON of no known kind (it has `a`); not used"
    );
    for n in 0..200 {
        place.put(&format!("many/x{n:03}.json"), "");
    }
    let first =
        "\n  many/x000.json: is empty\n  many/x001.json: is empty\n  many/x002.json: is empty";
    assert_eq!(
        place.error("many"),
        format!("many is of no use: 200 problems, the first three:{first}")
    );
    fs::create_dir(place.path("empty")).expect("it can be made");
    assert_eq!(place.error("empty"), "empty is empty");
}

#[test]
fn links_are_followed_to_files_inside_and_nowhere_else() {
    let outside = Place::with(&[("secret.yaml", POD), ("folder/pod.yaml", POD)]);
    let place = Place::with(&[("pod.yaml", POD), ("sub/service.json", SERVICE)]);
    for (link, target) in [
        ("outside.yaml", outside.path("secret.yaml")),
        ("outside.d", outside.path("folder")),
        ("copy.yaml", "pod.yaml".into()),
        ("inside.d", "sub".into()),
        ("loop.yaml", "loop.yaml".into()),
        ("sub/up", "..".into()),
        ("gone.yaml", "nowhere".into()),
        ("gone", "nowhere".into()),
    ] {
        symlink(target, place.path(link)).expect("a link can be made");
    }
    let snapshot = opened(&place.path(""));
    assert_eq!(ids(&snapshot), ["k8s/pod.yaml", "k8s/sub/service.json"]);
    assert_eq!(
        place.problems(&snapshot),
        [
            "gone.yaml: is a link that leads nowhere: no such file or directory",
            "loop.yaml: is a link that leads nowhere: too many levels of symbolic links",
            "outside.d: is a link that leads out of the directory; not followed",
            "outside.yaml: is a link that leads out of the directory; not followed",
        ]
    );
}

#[test]
fn a_mounted_config_map_is_read_once() {
    let place = Place::with(&[
        ("..2026_11_15/pod.yaml", POD),
        ("..2026_11_15/service.json", SERVICE),
    ]);
    symlink("..2026_11_15", place.path("..data")).expect("a link can be made");
    for name in ["pod.yaml", "service.json"] {
        symlink(format!("..data/{name}"), place.path(name)).expect("a link can be made");
    }
    let snapshot = opened(&place.path(""));
    assert_eq!(
        (ids(&snapshot), place.problems(&snapshot)),
        (vec!["k8s/pod.yaml", "k8s/service.json"], vec![])
    );
}

#[test]
fn names_that_could_rewrite_a_terminal_are_not_used() {
    let place = Place::with(&[("pod.yaml", POD), ("a\u{1b}[2J.yaml", POD)]);
    let snapshot = opened(&place.path(""));
    assert_eq!(ids(&snapshot), ["k8s/pod.yaml"]);
    assert_eq!(
        place.problems(&snapshot),
        ["a\\u{1b}[2J.yaml: has control characters in its name; not read"]
    );
}

/// Root may read everything, so as root the test runs itself once more as somebody else.
#[test]
fn a_directory_or_file_one_may_not_read_is_told() {
    const INNER: &str = "MESHLADDER_TEST_UNPRIVILEGED";
    let place = Place::with(&[
        ("open/pod.yaml", POD),
        ("open/shut/pod.yaml", POD),
        ("open/shut.yaml", POD),
    ]);
    let shut = |path: &str| {
        fs::set_permissions(place.path(path), fs::Permissions::from_mode(0o000))
            .expect("ours to shut");
    };
    shut("open/shut");
    shut("open/shut.yaml");
    if fs::read_dir(place.path("open/shut")).is_ok() {
        assert!(std::env::var_os(INNER).is_none(), "still privileged");
        let copy = Place::new();
        fs::set_permissions(copy.path(""), fs::Permissions::from_mode(0o755))
            .expect("ours to open");
        let this = std::env::current_exe().expect("tests have a path");
        // Not by this process: what it has open for writing, children of other tests have open for
        // a moment too, and such a file cannot be executed.
        let copied = Command::new("cp")
            .arg(this)
            .arg(copy.path("tests"))
            .status();
        assert!(copied.expect("cp starts").success());
        let name = "directories::a_directory_or_file_one_may_not_read_is_told";
        let mut again = Command::new(copy.path("tests"));
        again
            .args(["--exact", name])
            .env(INNER, "1")
            .uid(65534)
            .gid(65534)
            .current_dir("/");
        let output = again.output().expect("root may become anybody");
        let text = String::from_utf8_lossy(&output.stdout);
        return assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}"
        );
    }
    let snapshot = opened(&place.path("open"));
    assert_eq!(ids(&snapshot), ["k8s/pod.yaml"]);
    assert_eq!(
        place.problems(&snapshot),
        [
            "open/shut: cannot be listed: permission denied",
            "open/shut.yaml: cannot be read: permission denied"
        ]
    );
    assert_eq!(
        place.error("open/shut"),
        "cannot read open/shut: permission denied"
    );
    fs::set_permissions(place.path("open/shut"), fs::Permissions::from_mode(0o755))
        .expect("ours to open");
}

/// Linux takes any bytes but `/` and zero in a name.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8_are_read_and_shown_as_well_as_can_be() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let folder = place.path("").join(OsStr::from_bytes(b"d\xff"));
    fs::create_dir(&folder).expect("it can be made");
    let tar = folder.join(OsStr::from_bytes(b"b\xfe.tar"));
    fs::write(&tar, tar_of_files(&[("k8s/pods.json", PODS)])).expect("it can be written");
    let file = folder.join(OsStr::from_bytes(b"pod\xff.yaml"));
    fs::write(&file, POD).expect("it can be written");
    for (source, id, origin) in [
        (
            Source::from(folder.clone()),
            "k8s/pod-.yaml",
            "d\u{fffd}/pod\u{fffd}.yaml",
        ),
        (
            Source::from(OsString::from(&file)),
            "k8s/pod-.yaml",
            "d\u{fffd}/pod\u{fffd}.yaml",
        ),
        (
            Source::from(tar.as_os_str()),
            "k8s/pods.json",
            "d\u{fffd}/b\u{fffd}.tar!k8s/pods.json",
        ),
    ] {
        let snapshot =
            open(std::slice::from_ref(&source), &Options::default()).expect("it can be opened");
        assert_eq!(
            (ids(&snapshot), place.problems(&snapshot)),
            (vec![id], vec![])
        );
        let told = snapshot
            .ids()
            .next()
            .and_then(|id| snapshot.origin(id))
            .expect("it has an origin");
        assert_eq!(place.relative(told), origin);
    }
    let absent = Source::from(place.path("").join(OsStr::from_bytes(b"\xc3")));
    let error = open(&[absent], &Options::default()).expect_err("it is not there");
    assert_eq!(
        place.relative(&error.to_string()),
        "cannot read \u{fffd}: no such file or directory"
    );
    assert_eq!(Source::from(OsString::from("-")), Source::Stdin);
}
