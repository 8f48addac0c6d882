//! One file, or standard input.

use std::fs::{self, File};
use std::io::{Cursor, Read};

use meshladder_capture::snapshot::DocId;
use meshladder_collect::{CollectError, Options, Source, open};

use crate::support::*;

#[test]
fn a_document_is_told_by_its_content_and_gets_the_id_of_a_bundle() {
    let cart = cart_dump();
    let gzipped = gzip(cart.as_bytes());
    let zipped = zstd(CLUSTERS_JSON.as_bytes());
    let cases: [(&str, &[u8], &str); 14] = [
        (
            "x.txt",
            cart.as_bytes(),
            "proxies/shop/cart-1/config_dump.json",
        ),
        (
            "x.json.gz",
            &gzipped,
            "proxies/shop/cart-1/config_dump.json",
        ),
        (
            "clusters.yaml",
            CLUSTERS_JSON.as_bytes(),
            "proxies/-/clusters/clusters.json",
        ),
        ("c.json.zst", &zipped, "proxies/-/c/clusters.json"),
        ("c", CLUSTERS.as_bytes(), "proxies/-/c/clusters.txt"),
        ("s.json", STATS.as_bytes(), "proxies/-/s/stats.txt"),
        ("s.prom", PROMETHEUS.as_bytes(), "proxies/-/s/stats.prom"),
        (
            "z.json",
            br#"{"workloads": [], "services": []}"#,
            "ztunnels/-/z/config_dump.json",
        ),
        (
            "syncz.json",
            br#"[{"cluster_id": "K", "proxy": "a.b"}]"#,
            "istiod/syncz/debug/syncz.json",
        ),
        ("pod.yaml", POD.as_bytes(), "k8s/pod.yaml"),
        ("pod", POD.as_bytes(), "k8s/pod.yaml"),
        ("service.txt", SERVICE.as_bytes(), "k8s/service.txt.json"),
        ("list.json", PODS.as_bytes(), "k8s/list.json"),
        ("a b?.yml", POD.as_bytes(), "k8s/a-b-.yml"),
    ];
    for (name, bytes, id) in cases {
        let place = Place::new();
        let snapshot = opened(&place.put(name, bytes));
        assert_eq!(
            (ids(&snapshot), place.problems(&snapshot)),
            (vec![id], vec![]),
            "{name}"
        );
        assert_eq!(
            place.relative(snapshot.origin(&DocId::new(id)).expect("it is there")),
            name
        );
    }
}

#[test]
fn a_dump_without_a_node_is_named_after_its_file() {
    for (name, content, owner) in [
        ("my-dump.json", dump(""), "-/my-dump"),
        ("x.json", dump("sidecar~1.2.3.4~../../etc~x"), "-/x"),
        ("x.json", dump("sidecar~1.2.3.4~nodots~x"), "-/x"),
        ("x.json", "{\"configs\": []}".to_owned(), "-/x"),
        (
            "x.json",
            dump("router~::1~a.b.c-1.istio-system~x"),
            "istio-system/a.b.c-1",
        ),
    ] {
        let place = Place::new();
        let snapshot = opened(&place.put(name, content));
        assert_eq!(
            ids(&snapshot),
            [format!("proxies/{owner}/config_dump.json")]
        );
    }
}

#[test]
fn the_node_is_found_wherever_the_bootstrap_stands() {
    let filler = format!("{{\"@type\": \"c\", \"x\": \"{}\"}}", "y".repeat(3 << 20));
    let late = cart_dump().replace("[{", &format!("[{filler}, {{"));
    let place = Place::new();
    let snapshot = opened(&place.put("late.json", &late));
    assert_eq!(ids(&snapshot), ["proxies/shop/cart-1/config_dump.json"]);
    assert_eq!(
        text(&snapshot, "proxies/shop/cart-1/config_dump.json"),
        late
    );
}

#[test]
fn an_object_whose_kind_comes_late_is_found() {
    let late = format!(
        "{{\"data\": {{\"x\": \"{}\"}}, \"apiVersion\": \"v1\", \"kind\": \"ConfigMap\"}}",
        "y".repeat(1 << 18)
    );
    assert_eq!(
        ids(&opened(&Place::new().put("late.json", late))),
        ["k8s/late.json"]
    );
    let late = format!(
        "data:\n  x: {}\napiVersion: v1\nkind: ConfigMap\n",
        "y".repeat(1 << 18)
    );
    assert_eq!(
        ids(&opened(&Place::new().put("late.yaml", late))),
        ["k8s/late.yaml"]
    );
}

#[test]
fn a_large_document_is_read_into_memory_of_its_size_and_not_kept() {
    let large = format!("{POD}data: {}\n", "x".repeat(5 << 20));
    let place = Place::new();
    let path = place.put("large.yaml", &large);
    let snapshot = opened(&path);
    assert_eq!(
        snapshot.sizes().map(|(_, size)| size).collect::<Vec<_>>(),
        [large.len() as u64]
    );
    let document = snapshot
        .open(&DocId::new("k8s/large.yaml"))
        .expect("it can be read");
    assert_eq!(
        (document.text.len(), document.text.capacity()),
        (large.len(), large.len())
    );
}

#[test]
fn a_file_that_changes_vanishes_or_shrinks_later_is_a_problem_when_it_is_read() {
    let large = format!("{POD}data: {}\n", "x".repeat(2 << 20));
    let id = DocId::new("k8s/large.yaml");
    let place = Place::new();
    let path = place.put("large.yaml", &large);
    let snapshot = opened(&path);
    let read = || {
        snapshot
            .open(&id)
            .map(|document| document.text.len())
            .map_err(|problem| place.relative(&problem.to_string()))
    };
    assert_eq!(read(), Ok(large.len()));
    File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(100))
        .expect("it can be cut");
    assert_eq!(
        read(),
        Err("large.yaml: has changed while it was being read; run again".to_owned())
    );
    fs::remove_file(&path).expect("it can be removed");
    assert_eq!(
        read(),
        Err("large.yaml: has vanished since it was first seen; run again".to_owned())
    );
}

#[test]
fn what_is_nothing_known_is_told_with_what_it_seems_to_be() {
    let place = Place::new();
    for (name, bytes, error) in [
        (
            "package.json",
            &b"{\"name\": \"x\"}"[..],
            "package.json is JSON of no known kind (it has `name`)",
        ),
        (
            "list.json",
            b"[[1]]",
            "list.json is a JSON list of no known kind",
        ),
        (
            "a.png",
            b"\x89PNG\r\n\0\0",
            "a.png is binary data of no known kind",
        ),
        (
            "utf16.yaml",
            b"\xff\xfea\0",
            "utf16.yaml is UTF-16 text; convert it to UTF-8 first",
        ),
        ("empty.yaml", b"", "empty.yaml is empty"),
        ("comment.yaml", b"# nothing\n---\n", "comment.yaml is empty"),
        (
            "nan.json",
            b"NaN",
            "nan.json is text, but neither Kubernetes objects (no `apiVersion` and `kind`) nor anything Envoy writes",
        ),
    ] {
        place.put(name, bytes);
        assert_eq!(place.error(name), error);
    }
    assert_eq!(
        place.error("absent"),
        "cannot read absent: no such file or directory"
    );
}

#[test]
fn broken_json_and_bytes_that_are_not_utf_8_are_taken_with_their_fault() {
    let whole = cart_dump();
    let place = Place::new();
    // A dump cut in the middle: the part that is there is of use.
    let snapshot = opened(&place.put("cut.json", &whole[..whole.len() - 20]));
    assert_eq!(ids(&snapshot), ["proxies/shop/cart-1/config_dump.json"]);
    let deep = format!("{{\"configs\": {}", "[".repeat(100_000));
    assert_eq!(
        ids(&opened(&place.put("deep.json", deep))),
        ["proxies/-/deep/config_dump.json"]
    );
    let snapshot = opened(&place.put("bytes.yaml", b"apiVersion: v1\nkind: Pod\nx: \xff\n"));
    let problem = "bytes.yaml:3:4: invalid UTF-8; the bytes are shown as U+FFFD";
    assert_eq!(
        (ids(&snapshot), place.problems(&snapshot)),
        (vec!["k8s/bytes.yaml"], vec![problem.to_owned()])
    );
}

#[test]
fn a_document_of_the_wrong_shape_is_told_with_its_place() {
    let place = Place::new();
    for (text, problem) in [
        (
            "{\"configs\": NaN}",
            "x.json:1:13: `configs` is `NaN`, not a list",
        ),
        (
            "{\n  \"configs\": {\"a\": 1}\n}",
            "x.json:2:14: `configs` is an object, not a list",
        ),
        (
            "{\"cluster_statuses\": null}",
            "x.json:1:22: `cluster_statuses` is `null`, not a list",
        ),
        (
            "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": \"x\"}",
            "x.json:1:47: `items` is a text, not a list",
        ),
        (
            "[{\"configs\": []}]",
            "x.json:1:1: is a JSON list of no known kind (it has `configs`); not used",
        ),
        (
            "\n{\"a\": NaN}",
            "x.json:2:1: is JSON of no known kind (it has `a`); not used",
        ),
    ] {
        let path = place.put("d/x.json", text);
        place.put("d/pod.yaml", POD);
        let told = |path: &std::path::Path| -> Vec<String> {
            place
                .problems(&opened(path))
                .iter()
                .map(|told| told.replace("d/x", "x"))
                .collect()
        };
        assert_eq!(told(&place.path("d")), [problem]);
        if !problem.ends_with("not used") {
            assert_eq!(told(&path), [problem]);
        }
    }
    let place = Place::with(&[("proxies/shop/cart-1/config_dump.json", "{\"configs\": 7}")]);
    let problem = "proxies/shop/cart-1/config_dump.json:1:13: `configs` is `7`, not a list";
    assert_eq!(place.problems(&opened(&place.path(""))), [problem]);
    let whole = format!("{}{POD}", "# a comment\n".repeat(10));
    assert_eq!(
        place.problems(&opened(&place.put("pod.yaml", whole))),
        [""; 0]
    );
}

#[test]
fn a_compressed_document_that_is_cut_short_keeps_what_could_be_read() {
    let noise = noise(1_800_000);
    let whole = cart_dump().replace("\"b\"", &format!("\"{noise}\""));
    for (name, packed) in [
        ("cut.json.gz", gzip(whole.as_bytes())),
        ("cut.json.zst", zstd(whole.as_bytes())),
    ] {
        let place = Place::new();
        let snapshot = opened(&place.put(name, &packed[..packed.len() / 2]));
        let problems = place.problems(&snapshot);
        assert!(
            problems.len() == 1 && problems[0].starts_with(&format!("{name}: is cut short")),
            "{problems:?}"
        );
        let kept = text(&snapshot, "proxies/-/cut/config_dump.json");
        assert!(
            kept.len() > 100_000 && whole.starts_with(&kept),
            "{}",
            kept.len()
        );
        assert_eq!(coverage(&snapshot, "k8s/pods.json"), "partial");
    }
    let place = Place::new();
    place.put("nothing.gz", &gzip(b"x")[..8]);
    assert!(
        place
            .error("nothing.gz")
            .starts_with("nothing.gz cannot be unpacked: ")
    );
}

#[test]
fn a_bomb_is_stopped_at_the_limit_or_before_it_goes_off() {
    let place = Place::new();
    let zeros = vec![0; 64 << 20];
    place.put("zeros.gz", gzip(&zeros));
    assert_eq!(place.error("zeros.gz"), "zeros.gz is empty");
    let blanks = format!("{{\"configs\": {}", " ".repeat(64 << 20));
    for (name, packed) in [
        ("a.gz", gzip(blanks.as_bytes())),
        ("a.zst", zstd(blanks.as_bytes())),
    ] {
        let source = Source::from(place.put(name, packed));
        let options = Options {
            max_size: 1 << 20,
            max_memory: 1 << 30,
            ..Options::default()
        };
        match open(&[source], &options) {
            Err(error @ CollectError::TooLarge { .. }) => {
                assert_eq!(
                    place.relative(&error.to_string()),
                    format!("{name} is larger than 1 MiB")
                );
            }
            other => panic!("{other:?}"),
        }
    }
    let plain = Source::from(place.put("plain.json", &blanks));
    let error = open(
        &[plain],
        &Options {
            max_size: 1 << 20,
            max_memory: 1 << 30,
            ..Options::default()
        },
    )
    .expect_err("it is too large");
    assert_eq!(
        place.relative(&error.to_string()),
        "plain.json is larger than 1 MiB"
    );
}

#[test]
fn what_does_not_fit_in_memory_is_read_from_a_temporary_file() {
    let place = Place::new();
    let large = |letter: &str| format!("{POD}data: {}\n", letter.repeat(40 << 20));
    let tar = tar_of_files(&[
        ("a.yaml", &large("a")),
        ("b.yaml", &large("b")),
        ("c.yaml", POD),
    ]);
    let snapshot = opened(&place.put("large.tar.gz", gzip(&tar)));
    for (id, content) in [
        ("k8s/a.yaml", large("a")),
        ("k8s/b.yaml", large("b")),
        ("k8s/c.yaml", POD.to_owned()),
    ] {
        assert!(text(&snapshot, id) == content, "{id}");
        assert!(text(&snapshot, id) == content, "{id} can be read again");
    }
    assert_eq!(place.problems(&snapshot), [""; 0]);
}

fn stdin(
    stdin: fn() -> Box<dyn Read>,
) -> Result<meshladder_capture::snapshot::Snapshot, CollectError> {
    open(
        &[Source::from("-")],
        &Options {
            stdin,
            max_size: 1 << 20,
            max_memory: 1 << 30,
        },
    )
}

#[test]
fn standard_input_is_told_apart_like_a_file() {
    let snapshot = stdin(|| Box::new(POD.as_bytes())).expect("it is a pod");
    assert_eq!(
        (
            ids(&snapshot),
            snapshot.origin(&DocId::new("k8s/stdin.yaml"))
        ),
        (vec!["k8s/stdin.yaml"], Some("stdin"))
    );
    let snapshot =
        stdin(|| Box::new(Cursor::new(gzip(cart_dump().as_bytes())))).expect("it is a dump");
    assert_eq!(ids(&snapshot), ["proxies/shop/cart-1/config_dump.json"]);
    let snapshot = stdin(|| Box::new(Cursor::new(tar_of_files(&borrowed(&bundle())))))
        .expect("it is a bundle");
    assert_eq!(ids(&snapshot), BUNDLE_IDS);
    assert_eq!(
        snapshot.origin(&DocId::new("k8s/pods.json")),
        Some("stdin!k8s/pods.json")
    );
}

#[test]
fn standard_input_has_an_end_and_a_limit() {
    let error = |result: Result<_, CollectError>| {
        result.map(drop).expect_err("it cannot be read").to_string()
    };
    assert_eq!(
        error(stdin(|| Box::new(std::io::empty()))),
        "stdin is empty"
    );
    let endless = || -> Box<dyn Read> { Box::new(POD.as_bytes().chain(std::io::repeat(b' '))) };
    assert_eq!(error(stdin(endless)), "stdin is larger than 1 MiB");
    let twice = open(&[Source::Stdin, Source::from("-")], &Options::default());
    assert_eq!(error(twice), "`-` is given more than once");
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_device_is_refused_without_being_opened() {
    let place = Place::new();
    let fifo = place.path("fifo.yaml");
    let made = std::process::Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .expect("mkfifo can be run");
    assert!(made.success());
    assert_eq!(
        place.error("fifo.yaml"),
        "fifo.yaml is a named pipe, not a file or a directory"
    );
    assert_eq!(
        place.error("/dev/zero"),
        "/dev/zero is a device, not a file or a directory"
    );
    let place = Place::with(&[("pod.yaml", POD)]);
    fs::rename(&fifo, place.path("fifo.yaml")).expect("a pipe can be moved");
    let snapshot = opened(&place.path(""));
    assert_eq!(
        place.problems(&snapshot),
        ["fifo.yaml: is a pipe, a socket or a device; not read"]
    );
}

/// `meshladder … -s <(kubectl get pods -o yaml)`
#[cfg(target_os = "linux")]
#[test]
fn what_a_shell_puts_in_the_place_of_a_command_is_read() {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    let (reader, mut writer) = std::io::pipe().expect("a pipe can be made");
    writer
        .write_all(POD.as_bytes())
        .expect("it takes a few bytes");
    drop(writer);
    let snapshot = opened(format!("/dev/fd/{}", reader.as_raw_fd()).as_ref());
    assert_eq!(
        (ids(&snapshot), snapshot.problems()),
        (vec!["k8s/stdin.yaml"], &[][..])
    );
}
