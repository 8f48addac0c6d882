//! What the documentation tells others to run, run.

use std::fs;
use std::path::Path;
use std::process::Command;

use meshladder_text::tree::{Node, Value};
use meshladder_text::yaml;

use super::YAML;
use crate::expect::root;

const SOUND: &str = "apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: db, namespace: shop}
spec: {host: db.example.com}
";

/// Runs a command line in a directory whose `manifests/` holds that text; gives the exit code and
/// what it wrote.
fn shell(command: &str, manifest: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a directory");
    fs::create_dir(folder.path().join("manifests")).expect("a folder");
    fs::write(folder.path().join("manifests/db.yaml"), manifest).expect("a file");
    let binary = Path::new(env!("CARGO_BIN_EXE_meshladder"));
    let path = format!(
        "{}:/usr/bin:/bin",
        binary.parent().expect("a folder").display()
    );
    let run = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir(folder.path())
        .env("PATH", path)
        .output();
    let run = run.expect("a shell");
    let mut text = String::from_utf8_lossy(&run.stdout).into_owned();
    for file in ["meshladder.sarif", "junit.xml"] {
        text += &fs::read_to_string(folder.path().join(file)).unwrap_or_default();
    }
    (run.status.code(), text)
}

/// Every string below a member of that name.
fn strings(node: &Node, key: &str, out: &mut Vec<String>) {
    for member in node.members() {
        match &member.value.value {
            _ if &*member.key != key => strings(&member.value, key, out),
            Value::Array(items) => {
                out.extend(items.iter().filter_map(Node::str).map(str::to_owned));
            }
            _ => out.extend(member.value.str().map(str::to_owned)),
        }
    }
    node.items().iter().for_each(|item| strings(item, key, out));
}

#[test]
fn the_commands_of_the_recipes_pass_what_is_sound_and_fail_what_is_not() {
    let page = fs::read_to_string(root().join("docs/analyze.md")).expect("the page");
    let recipes = page
        .split("## In CI")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("a chapter");
    let mut commands = Vec::new();
    for block in recipes
        .split("```yaml\n")
        .skip(1)
        .filter_map(|block| block.split("```").next())
    {
        let loaded = yaml::load(block);
        assert!(
            loaded.problems.is_empty() && loaded.documents.len() == 1,
            "{block}"
        );
        strings(&loaded.documents[0], "run", &mut commands);
        strings(&loaded.documents[0], "script", &mut commands);
    }
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in &commands {
        assert_eq!(shell(command, SOUND).0, Some(0), "{command}");
        let (code, text) = shell(command, YAML);
        assert_eq!(code, Some(79), "{command}");
        assert!(text.contains("ML2101"), "{command}: {text}");
    }
}

#[test]
fn the_hook_passes_what_is_sound_and_fails_what_is_not() {
    let hooks = fs::read_to_string(root().join(".pre-commit-hooks.yaml")).expect("the hooks");
    let hooks = yaml::load(&hooks);
    assert!(hooks.problems.is_empty());
    let [hook] = hooks.documents[0].items() else {
        panic!("one hook")
    };
    for key in ["id", "name", "language", "entry"] {
        assert!(hook.str_at(key).is_some(), "pre-commit needs {key}");
    }
    let entry = hook.str_at("entry").expect("an entry");
    let args: Vec<&str> = hook
        .get("args")
        .map_or(&[][..], Node::items)
        .iter()
        .filter_map(Node::str)
        .collect();
    let command = format!("{entry} {}", args.join(" "));
    assert_eq!(shell(&command, SOUND).0, Some(0), "{command}");
    let twice = |name: &str| {
        format!(
            "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {{name: {name}}}\nspec: {{egress: []}}\n"
        )
    };
    assert_eq!(
        shell(&command, &format!("{}---\n{}", twice("a"), twice("b"))).0,
        Some(79),
        "{command}"
    );
    let page = fs::read_to_string(root().join("docs/analyze.md")).expect("the page");
    assert!(
        page.contains(&format!("- id: {}", hook.str_at("id").expect("an id"))),
        "the page names the hook"
    );
}
