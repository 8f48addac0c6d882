//! istioctl's own output on a capture, beside ours: every `.cmd` file of the goldens names the
//! command it came from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use meshladder_collect::bundle;
use meshladder_text::tree;
use meshladder_text::yaml;
use serde_json::Value;

use crate::expect::root;
use crate::meshes::{capture, shared};
use crate::reports::open;
use crate::support::{self, Run};

/// The capture the goldens were made from, unpacked and packed.
struct Unpacked {
    folder: tempfile::TempDir,
    archive: PathBuf,
}

impl Unpacked {
    fn new(archive: PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let to = folder.path().join("bundle");
        bundle::write(&open(&archive), &to).expect("it can be unpacked");
        Self { folder, archive }
    }

    /// Runs istioctl's command as ours: the same words, `BUNDLE` for the folder, and a source where
    /// istioctl had a cluster.
    fn run(&self, command: &str) -> Run {
        let bundle = self.folder.path().join("bundle").display().to_string();
        let mut words: Vec<String> = command
            .split(' ')
            .skip(1)
            .map(|word| word.replace("BUNDLE", &bundle))
            .collect();
        if !words.iter().any(|word| word == "--file") {
            words.extend(["-s".to_owned(), self.archive.display().to_string()]);
        }
        support::meshladder(&words)
    }
}

/// The goldens of `ps`, `pc` and `x authz check`: the recorded output, the command and its exit
/// code.
fn goldens(folder: PathBuf) -> Vec<(PathBuf, String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the goldens can be read") {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .and_then(|n| n.to_str())
                .unwrap_or_default()
                .to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(output) = name.strip_suffix(".cmd").filter(|n| {
                ["pc-", "ps.", "authz-check."]
                    .iter()
                    .any(|start| n.starts_with(start))
            }) {
                let text = fs::read_to_string(&path).expect("a command");
                let mut lines = text.lines();
                let command = lines.next().expect("the command").to_owned();
                let code = lines.next().expect("the exit code").to_owned();
                found.push((path.with_file_name(output), command, code));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_golden_of_proxy_status_proxy_config_and_authz_check_is_matched() {
    let own = goldens(root().join("fixtures/golden"));
    assert!(own.len() > 40, "only {} goldens found", own.len());
    match_all(capture("healthy").bundle(), &own);
    // More pods, and the largest documents.
    if let Some(folder) = shared("golden/healthy") {
        let all = goldens(folder);
        assert!(all.len() > 100, "only {} goldens found", all.len());
        let archive = shared("meshes/healthy/bundle.tar.gz").expect("it stands beside");
        match_all(archive, &all);
    }
}

/// Where istioctl lists what only a cluster has.
const AMBIENT: [&str; 2] = ["istioctl ztunnel-config ", "istioctl waypoint "];

#[test]
fn every_golden_of_ztunnel_config_and_waypoint_is_matched_byte_for_byte() {
    let own = root().join("fixtures/ambient");
    let mut folders = vec![(own.join("golden"), own.join("bundle"))];
    if let Some(folder) = shared("golden/ambient") {
        let archive = folder.join("bundle.tar.gz");
        folders.push((folder, archive));
    }
    for (folder, archive) in folders {
        let goldens = ambient_goldens(&folder);
        assert!(goldens.len() > 10, "only {} goldens found", goldens.len());
        let capture = Unpacked::new(archive);
        for (path, command, code) in goldens {
            let golden = fs::read_to_string(&path).expect("a golden");
            let run = capture.run(&command);
            if code == "rc 0" {
                assert_eq!(run.stdout, golden, "{command}");
            }
            assert_eq!(format!("rc {}", run.code), code, "{command}");
        }
    }
}

/// The goldens of listings: output, command and exit code.
fn ambient_goldens(folder: &Path) -> Vec<(PathBuf, String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the goldens can be read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "cmd") {
                let text = fs::read_to_string(&path).expect("a command");
                let mut lines = text.lines().map(str::to_owned);
                let command = lines.next().expect("the command");
                let code = lines.next().expect("the exit code");
                let is_listed = AMBIENT.iter().any(|start| command.starts_with(start));
                if is_listed && !command.contains(" generate ") {
                    found.push((path.with_extension(""), command, code));
                }
            }
        }
    }
    found.sort();
    found
}

fn match_all(archive: PathBuf, goldens: &[(PathBuf, String, String)]) {
    let capture = Unpacked::new(archive);
    let mut wrong = Vec::new();
    for (path, command, code) in goldens {
        let golden = fs::read_to_string(path).expect("a golden");
        if let Err(why) = compare(path, &golden, code, &capture.run(command)) {
            wrong.push(format!("{command}\n  {}: {why}", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} goldens differ:\n{}",
        wrong.len(),
        goldens.len(),
        wrong.join("\n")
    );
}

fn compare(path: &Path, golden: &str, code: &str, run: &Run) -> Result<(), String> {
    let file = path
        .file_name()
        .and_then(|n| n.to_str())
        .unwrap_or_default();
    if code != "rc 0" {
        // Where istioctl fails, so do we, with the same code and a message of our own.
        return if code == format!("rc {}", run.code) && run.stderr.contains("error:") {
            Ok(())
        } else {
            Err(format!("{run:?}"))
        };
    }
    if run.code != 0 {
        return Err(format!("exit {}: {}", run.code, run.stderr));
    }
    match file {
        "ps.txt" => status_table(golden, &run.stdout),
        "ps.json" => same(
            &sorted(json(golden)["resources"].take()),
            &sorted(json(&run.stdout)["resources"].take()),
        ),
        // istioctl sorts routes by a comparison that is no order, and prints clusters of endpoints
        // in a map's order.
        "pc-routes.json" | "pc-endpoints.json" => {
            same(&sorted(json(golden)), &sorted(json(&run.stdout)))
        }
        "pc-routes.yaml" => same(&sorted(from_yaml(golden)), &sorted(from_yaml(&run.stdout))),
        _ if path.extension().is_some_and(|e| e == "json") => {
            same(&json(golden), &json(&run.stdout))
        }
        "pc-routes.txt" | "pc-routes.live.txt" | "pc-all.txt" => {
            same(&lines(golden), &lines(&run.stdout))
        }
        _ => same(&golden.to_owned(), &run.stdout),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(golden: &T, ours: &T) -> Result<(), String> {
    if golden == ours {
        return Ok(());
    }
    let (golden, ours) = (format!("{golden:#?}"), format!("{ours:#?}"));
    let differs = golden.lines().zip(ours.lines()).find(|(g, o)| g != o);
    Err(differs.map_or("one is longer".to_owned(), |(g, o)| {
        format!("\n    istioctl: {g}\n    ours:     {o}")
    }))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| Value::String(format!("not JSON: {e}")))
}

fn sorted(value: Value) -> Vec<String> {
    let Value::Array(items) = value else {
        return vec![value.to_string()];
    };
    let mut items: Vec<_> = items.iter().map(ToString::to_string).collect();
    items.sort();
    items
}

fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn from_yaml(text: &str) -> Value {
    let loaded = yaml::load(text);
    assert_eq!(loaded.problems, [], "the YAML reads without problems");
    loaded.documents.first().map_or(Value::Null, to_value)
}

fn to_value(node: &tree::Node) -> Value {
    match &node.value {
        tree::Value::Null => Value::Null,
        tree::Value::Bool(b) => Value::Bool(*b),
        tree::Value::Number(text) => serde_json::from_str(text).expect("a number"),
        tree::Value::String(text) => Value::String(text.to_string()),
        tree::Value::Array(items) => items.iter().map(to_value).collect(),
        tree::Value::Object(members) => members
            .iter()
            .map(|m| (m.key.to_string(), to_value(&m.value)))
            .collect(),
    }
}

/// istioctl's rows and columns are all there; beside them stands what its default hides.
fn status_table(golden: &str, ours: &str) -> Result<(), String> {
    let columns = |text: &str| -> Vec<Vec<String>> {
        text.lines()
            .map(|line| {
                line.split("  ")
                    .map(str::trim)
                    .filter(|c| !c.is_empty())
                    .map(str::to_owned)
                    .collect()
            })
            .collect()
    };
    let (golden, ours) = (columns(golden), columns(ours));
    let shared: Vec<usize> = golden[0]
        .iter()
        .map(|title| {
            ours[0]
                .iter()
                .position(|t| t == title)
                .expect("istioctl's column")
        })
        .collect();
    let narrowed: Vec<Vec<String>> = ours
        .iter()
        .map(|row| shared.iter().map(|&i| row[i].clone()).collect())
        .collect();
    same(&golden, &narrowed)?;
    let words: BTreeSet<_> = ours
        .iter()
        .skip(1)
        .flat_map(|row| &row[2..6])
        .map(String::as_str)
        .collect();
    same(&BTreeSet::from(["SYNCED"]), &words)
}
