//! Broken and hostile input, through the binary: a message with file and place, the right exit
//! code, no panic.

use std::fs;
use std::path::Path;

use crate::expect::root;
use crate::support::{Run, meshladder};

fn listing(command: &str, path: &Path) -> Run {
    let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    words.extend(["--file".to_owned(), path.display().to_string()]);
    let run = meshladder(&words);
    assert!(
        !run.stderr.contains("panicked") && run.code < 70,
        "{command} {}: {run:?}",
        path.display()
    );
    run
}

/// A dump with one section of clusters.
fn clusters(section: &str) -> String {
    format!(
        r#"{{"configs":[{{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump",{section}}}]}}"#
    )
}

#[test]
fn every_kind_of_damage_has_its_exit_code_and_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.json");
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let good = r#"{"cluster":{"name":"outbound|80||good"}}"#;
    for (text, code, told) in [
        (String::new(), 3, "dump.json is empty"),
        ("[]".to_owned(), 3, "dump.json"),
        (
            "{\"configs\": 7".to_owned(),
            3,
            "dump.json:1:14: the document is cut short",
        ),
        (
            "{\"configs\":\n NaN}".to_owned(),
            3,
            "dump.json:1:1: not a config dump",
        ),
        ("hello".to_owned(), 3, "dump.json"),
        (
            format!("{{\"configs\":[{deep}]}}"),
            3,
            "dump.json:1:13: a part of `configs` that is no object",
        ),
        (
            clusters(&format!(
                r#""dynamic_active_clusters":[{good},{{"version_info":NaN,"cluster":{{}}}}]"#
            )),
            3,
            "`version_info` is not a string",
        ),
        (
            clusters(&format!(
                r#""dynamic_active_clusters":[{good},[1],{{"cluster":[1]}},"x"]"#
            )),
            3,
            "dump.json:1:146: an entry of ClustersConfigDump is not an object",
        ),
        (
            clusters(&format!(r#""dynamic_active_clusters":[{good}],"x":NaN"#)),
            3,
            "dump.json:1:151: expected a value",
        ),
        (
            clusters(&format!(r#""dynamic_active_clusters":[{good}],"x":{deep}"#)),
            3,
            "nested too deep",
        ),
        (
            clusters(&format!(r#""dynamic_active_clusters":[{good}]"#)),
            0,
            "",
        ),
    ] {
        fs::write(&path, &text).expect("a file");
        let run = listing("pc cluster", &path);
        let start: String = text.chars().take(120).collect();
        assert_eq!(run.code, code, "{start}: {run:?}");
        assert!(run.stderr.contains(told), "{start}: {}", run.stderr);
        if text.contains("good") {
            assert!(
                run.stdout.contains("good") && run.stdout.lines().count() == 2,
                "{start}: {}",
                run.stdout
            );
        }
    }
    let missing = listing("pc cluster", &folder.path().join("missing.json"));
    assert_eq!(missing.code, 3);
    assert!(
        missing.stderr.contains("missing.json"),
        "{}",
        missing.stderr
    );
}

#[test]
fn a_dump_cut_anywhere_is_listed_as_far_as_it_goes() {
    let dump = root()
        .join("fixtures/meshes/small/bundle/proxies/tools/curl-5b64d475cf-qzthp/config_dump.json");
    let whole = fs::read(&dump).expect("the fixture");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cut.json");
    for part in 1..12 {
        let cut = whole.len() * part / 12;
        fs::write(&path, &whole[..cut]).expect("a file");
        for command in [
            "pc cluster",
            "pc listener",
            "pc route",
            "pc all",
            "pc all -o json",
            "pc all -o yaml",
            "pc eds -o json",
        ] {
            let run = listing(command, &path);
            assert_eq!(run.code, 3, "{command} at {cut}: {run:?}");
            assert!(
                run.stderr.contains("cut.json:") && run.stderr.contains("cut short"),
                "{command} at {cut}: {}",
                run.stderr
            );
        }
    }
    let run = listing("pc cluster", &path);
    assert!(
        run.stdout.contains("catalog.shop.svc.cluster.local"),
        "{run:?}"
    );
}

#[test]
fn damaged_bytes_in_a_dump_never_panic() {
    let dump = root()
        .join("fixtures/meshes/small/bundle/proxies/tools/curl-5b64d475cf-qzthp/config_dump.json");
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
        listing(
            [
                "pc all",
                "pc listener -o json",
                "pc route -o yaml",
                "pc secret",
            ][round % 4],
            &path,
        );
    }
}

#[test]
fn more_than_max_size_is_refused_before_it_is_read() {
    let dump = root()
        .join("fixtures/meshes/small/bundle/proxies/tools/curl-5b64d475cf-qzthp/config_dump.json");
    let run = meshladder(&[
        "pc",
        "cluster",
        "--max-size",
        "10KiB",
        "--file",
        &dump.display().to_string(),
    ]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("max-size"), "{}", run.stderr);
}
