//! Broken and hostile input, through the binary: a message with file and place, the right exit code, no panic.

use std::fs;
use std::path::Path;

use crate::expect::root;
use crate::support::{Run, meshladder};

fn listing(command: &str, path: &Path) -> Run {
    let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    words.extend(["--file".to_owned(), path.display().to_string()]);
    let run = meshladder(&words);
    assert!(!run.stderr.contains("panicked") && run.code < 70, "{command} {}: {run:?}", path.display());
    run
}

#[test]
fn documents_that_are_no_dump_end_with_exit_3_and_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.json");
    for (text, told) in [
        (&b""[..], "empty"),
        (b"[]", "dump.json"),
        (b"{\"configs\": 7", "dump.json"),
        (b"\x00\xff\xfe", "dump.json"),
        (b"{\"configs\":\n NaN}", "dump.json"),
        (b"hello", "dump.json"),
    ] {
        fs::write(&path, text).expect("a file");
        let run = listing("pc cluster", &path);
        assert!(matches!(run.code, 1 | 3), "{text:?}: {run:?}");
        assert!(run.stderr.contains(told), "{text:?}: {}", run.stderr);
    }
    let missing = listing("pc cluster", &folder.path().join("missing.json"));
    assert_eq!(missing.code, 3);
    assert!(missing.stderr.contains("missing.json"), "{}", missing.stderr);
}

#[test]
fn a_dump_cut_anywhere_is_listed_as_far_as_it_goes() {
    let dump = root().join("fixtures/meshes/small/bundle/proxies/tools/curl-5b64d475cf-qzthp/config_dump.json");
    let whole = fs::read(&dump).expect("the fixture");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cut.json");
    for part in 1..12 {
        let cut = whole.len() * part / 12;
        fs::write(&path, &whole[..cut]).expect("a file");
        for command in ["pc cluster", "pc listener", "pc route", "pc all", "pc eds -o json"] {
            let run = listing(command, &path);
            assert!(matches!(run.code, 0 | 1 | 3), "{command} at {cut}: {run:?}");
            if run.code == 3 {
                assert!(run.stderr.contains("cut.json:"), "{command} at {cut}: {}", run.stderr);
            }
        }
    }
    fs::write(&path, &whole[..whole.len() * 11 / 12]).expect("a file");
    let run = listing("pc cluster", &path);
    assert_eq!(run.code, 3, "a cut dump is never exit 0");
    assert!(run.stdout.contains("catalog.shop.svc.cluster.local") && run.stderr.contains("cut short"), "{run:?}");
}

#[test]
fn deep_nesting_is_refused_or_skipped_and_never_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("deep.json");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let dump = format!(
        r#"{{"configs":[{{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","dynamic_active_clusters":[{{"cluster":{{"name":"outbound|80||a","x":{deep}}}}}]}}]}}"#
    );
    fs::write(&path, dump).expect("a file");
    let run = listing("pc cluster", &path);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("outbound"), "{}", run.stdout);
    for command in ["pc cluster -o json", "pc cluster -o yaml", "pc all -o yaml"] {
        assert!(matches!(listing(command, &path).code, 0 | 3), "{command}");
    }
}

#[test]
fn damaged_bytes_in_a_dump_never_panic() {
    let dump = root().join("fixtures/meshes/small/bundle/proxies/tools/curl-5b64d475cf-qzthp/config_dump.json");
    let whole = fs::read(&dump).expect("the fixture");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("damaged.json");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("it is below a usize")
    };
    for round in 0..40 {
        let mut bytes = whole.clone();
        for _ in 0..=round % 7 {
            let at = random(bytes.len());
            bytes[at] = b"\"\\{}[]:,\x00\xff0n"[random(12)];
        }
        fs::write(&path, &bytes).expect("a file");
        listing(["pc all", "pc listener -o json", "pc route -o yaml", "pc secret"][round % 4], &path);
    }
}

#[test]
fn more_than_max_size_is_refused_before_it_is_read() {
    let dump = root().join("fixtures/meshes/small/bundle/proxies/tools/curl-5b64d475cf-qzthp/config_dump.json");
    let run = meshladder(&["pc", "cluster", "--max-size", "10KiB", "--file", &dump.display().to_string()]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("max-size"), "{}", run.stderr);
}
