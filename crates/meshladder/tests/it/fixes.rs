//! The fixes that are offered: they repair, and can be copied into a shell as they stand.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use meshladder_judge::ladder::{self, Question, Scope};
use meshladder_mesh::Mesh;
use serde_json::Value;

use crate::expect::root;
use crate::meshes::captures;
use crate::reports::{call, open};
use crate::support::meshladder;

const DEMO: &str = "crates/meshladder/demo/canary-gets-no-traffic.tar.zst";

/// Repairs that no object can vouch for: what an application binds to, and a policy that could not
/// be read.
const UNTRIED: [&str; 2] = [
    "cart-503-app-on-loopback",
    "payments-403-policies-unreadable-dump-tells",
];

/// Incidents for which nothing is offered that can be copied and agrees with the truth. Whoever
/// makes one of them repairable takes it off the list.
const UNREPAIRED: &[&str] = &[
    // The cause itself is not found, or another object is named.
    "https-ingress-reset-secret-without-key",
    "ingress-403-ipblocks-see-last-hop",
    "ledger-calls-land-on-queue",
    // The remedy is told in words, and no patch is made of it.
    "cart-503-readiness-path-wrong",
    "cart-reset-app-runs-as-1337",
    "frontend-200-without-token",
    "frontend-401-jwks-unreachable",
    "payments-403-custom-authz-has-no-pods",
    "payments-no-access-log",
    "payments-open-stray-dash",
    "rate-limit-never-fires-wrong-anchor",
    "robot-503-own-destinationrule-hides-subsets",
    "third-of-payments-503-green-app-deaf",
];

#[test]
fn after_any_of_its_fixes_the_demo_incident_is_no_more() {
    let snapshot = open(&root().join(DEMO));
    let before = Mesh::build(&snapshot);
    let climb = |mesh: &Mesh| {
        let scope = Scope::Request(Box::new(call(
            "shop/frontend",
            "http://catalog.shop:8080/",
            mesh,
        )));
        ladder::climb(
            &snapshot,
            mesh,
            &Question {
                scope,
                seen: None,
                threads: 2,
            },
        )
    };
    let report = climb(&before);
    let cause = &report.findings.first().expect("a cause").finding;
    let tried: Vec<_> = cause
        .fixes
        .iter()
        .filter(|fix| fix.why_untried().is_none())
        .collect();
    let changes: Vec<_> = tried.iter().filter_map(|fix| fix.change.as_ref()).collect();
    assert!(!changes.is_empty(), "{:?}", cause.fixes);
    for change in changes {
        assert_eq!(
            change.object.to_string(),
            "NetworkPolicy shop/restrict-egress"
        );
        let after = climb(&before.with(change));
        let still: Vec<_> = after
            .findings
            .iter()
            .filter(|told| told.finding.code == cause.code)
            .collect();
        assert!(still.is_empty(), "after {change:?}: {still:?}");
    }
}

#[test]
fn what_the_demo_offers_can_be_copied() {
    let demo = root().join(DEMO);
    let words = [
        "why",
        "--from",
        "shop/frontend",
        "--to",
        "http://catalog.shop:8080/",
        "-o",
        "json",
        "-s",
    ];
    let fixes = offered(&[&words.map(str::to_owned)[..], &[demo.display().to_string()]].concat());
    let targets: Vec<_> = fixes
        .iter()
        .filter(|fix| fix.kind == "patch")
        .map(|fix| fix.target.as_str())
        .collect();
    assert_eq!(targets, ["networkpolicy/shop/restrict-egress"; 2]);
    assert_eq!(
        (fixes[0].risk.as_str(), fixes[1].risk.as_str()),
        ("reversible", "disruptive")
    );
}

#[test]
fn every_incident_that_objects_repair_is_offered_such_a_repair() {
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for capture in captures() {
        let (folder, bundle) = (&capture.folder, capture.bundle());
        let incident = fs::read_to_string(folder.join("incident.json")).expect("an incident");
        let incident: Value = serde_json::from_str(&incident).expect("JSON");
        let wanted = wanted(&incident["truth"], folder);
        if wanted.is_empty() {
            continue;
        }
        let id = incident["id"].as_str().expect("an id");
        let fixes = offered(&words(&incident["ask"], &bundle));
        let agrees =
            |fix: &&Offered| fix.kind == "patch" && wanted.iter().any(|wanted| fix.changes(wanted));
        let is_tried = |fix: &Offered| fix.is_checked || UNTRIED.contains(&id) && fix.is_excused;
        let is_repaired = fixes.iter().filter(agrees).any(is_tried);
        if is_repaired == UNREPAIRED.contains(&id) {
            let what = if is_repaired { "is offered" } else { "lacks" };
            wrong.push(format!("{id}: {what} a fix that agrees and was tried"));
        }
        // What only takes away comes after what repairs.
        let risks: Vec<_> = fixes
            .iter()
            .filter(|fix| fix.kind == "patch")
            .map(|fix| &fix.risk)
            .collect();
        if !risks.is_sorted_by_key(|risk| *risk == "disruptive") {
            wrong.push(format!("{id}: {risks:?}"));
        }
        writeln!(table, "{id}\n  truth   {}", incident["truth"]["fix"]).expect("a String");
        for fix in &fixes {
            writeln!(table, "  offered {}", fix.text).expect("a String");
        }
    }
    assert!(wrong.is_empty(), "{table}\n{wrong:#?}");
}

/// A fix of the first finding.
struct Offered {
    kind: String,
    risk: String,
    text: String,
    is_checked: bool,
    /// Whether it says why it was not checked.
    is_excused: bool,
    /// The object it changes: `virtualservice/shop/cart`.
    target: String,
}

impl Offered {
    fn of(fix: &Value) -> Self {
        let text = |key: &str| fix[key].as_str().expect("text").to_owned();
        let (kind, command) = (text("kind"), text("text"));
        Self {
            target: if kind == "patch" {
                target(&command)
            } else {
                String::new()
            },
            kind,
            risk: text("risk"),
            text: command,
            is_checked: fix["checked"] == true,
            is_excused: fix["unchecked"].is_string(),
        }
    }

    /// What is created has the name that we choose: there only the kind counts.
    fn changes(&self, wanted: &str) -> bool {
        self.target == wanted
            || wanted
                .strip_suffix("/*")
                .is_some_and(|kind| self.target.starts_with(kind))
    }
}

/// What is offered for the first finding.
fn offered(words: &[String]) -> Vec<Offered> {
    let run = meshladder(words);
    let report: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    let fixes = report["findings"][0]["fixes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    fixes.iter().map(Offered::of).collect()
}

/// The object that a command changes, as a shell hands it to kubectl.
fn target(command: &str) -> String {
    let script =
        format!("kubectl() {{ printf '%s\\0' \"$@\"; [ \"$1\" != apply ] || cat; }}\n{command}\n");
    let output = Command::new("sh")
        .args(["-e", "-c", &script])
        .output()
        .expect("a shell");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{command}: {output:?}"
    );
    let output = String::from_utf8(output.stdout).expect("UTF-8");
    let words: Vec<&str> = output.split('\0').collect();
    let after = |flag: &str| {
        words
            .iter()
            .position(|word| *word == flag)
            .and_then(|at| words.get(at + 1).copied())
    };
    if let Some(patch) = after("-p") {
        serde_json::from_str::<Value>(patch).unwrap_or_else(|error| panic!("{command}: {error}"));
    }
    match words[0] {
        "apply" => {
            let field = |key: &str| {
                output
                    .lines()
                    .find_map(|line| line.trim().strip_prefix(key))
                    .unwrap_or_default()
            };
            format!(
                "{}/{}/{}",
                field("kind: ").to_lowercase(),
                field("namespace: "),
                field("name: ")
            )
        }
        "patch" | "delete" => {
            let kind = words[1].split('.').next().unwrap_or_default();
            format!("{kind}/{}/{}", after("-n").unwrap_or_default(), words[2])
        }
        other => panic!("{other} changes no object: {command}"),
    }
}

/// The objects that the repair may change; none when the repair is not one of objects, or when
/// nobody can know them.
fn wanted(truth: &Value, folder: &Path) -> BTreeSet<String> {
    let list = |key: &str| truth[key].as_array().cloned().unwrap_or_default();
    let (steps, objects) = (list("fix"), list("objects"));
    let mut wanted = BTreeSet::new();
    for step in &steps {
        let named = step["patch"]["target"].as_str().or(step["delete"].as_str());
        wanted.extend(named.map(plain));
        if let Some(file) = step["apply"].as_str() {
            let yaml = fs::read_to_string(folder.join(file)).expect("the YAML beside the incident");
            let kinds = yaml.lines().filter_map(|line| line.strip_prefix("kind: "));
            wanted.extend(kinds.map(|kind| format!("{}/*", kind.trim().to_lowercase())));
        }
    }
    let is_elsewhere = steps.iter().any(|step| step.get("istiod").is_some())
        || objects.contains(&"Coverage".into());
    if is_elsewhere || wanted.is_empty() {
        return BTreeSet::new();
    }
    wanted.extend(objects.iter().filter_map(Value::as_str).map(plain));
    wanted
}

/// `VirtualService.networking.istio.io/shop/cart` as `virtualservice/shop/cart`
fn plain(object: &str) -> String {
    let (kind, rest) = object.split_once('/').unwrap_or((object, ""));
    format!(
        "{}/{rest}",
        kind.split('.').next().unwrap_or_default().to_lowercase()
    )
}

/// An incident's question as command-line arguments.
pub(crate) fn words(ask: &Value, bundle: &Path) -> Vec<String> {
    let text = |key: &str| ask[key].as_str().unwrap_or_default();
    let mut words = Vec::new();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
    if let Some((namespace, name)) = text("workload").split_once('/') {
        add(&["check", &format!("deploy/{name}"), "-n", namespace]);
    } else if let [kind, namespace, name] = text("object").split('/').collect::<Vec<_>>()[..] {
        let object = format!("{}/{name}", kind.to_lowercase());
        add(&["check", &object, "-n", namespace]);
    } else if text("to").is_empty() {
        add(&["check"]);
    } else {
        let is_tcp = text("protocol") == "tcp";
        let scheme = if is_tcp {
            "tcp"
        } else {
            ask["scheme"].as_str().unwrap_or("http")
        };
        add(&[
            "why",
            "--from",
            text("from"),
            "--to",
            &format!("{scheme}://{}{}", text("to"), text("path")),
        ]);
        add(&["-X", ask["method"].as_str().unwrap_or("GET")]);
        for (name, value) in ask["headers"].as_object().into_iter().flatten() {
            add(&[
                "-H",
                &format!("{name}: {}", value.as_str().unwrap_or_default()),
            ]);
        }
        let seen = &ask["seen"];
        if let Some(code) = seen["code"].as_u64() {
            let flags = seen["flags"]
                .as_str()
                .filter(|flags| *flags != "-")
                .map(|flags| format!("/{flags}"));
            let details = seen["details"]
                .as_str()
                .map(|details| format!(":{details}"));
            let seen = format!(
                "{code}{}{}",
                flags.unwrap_or_default(),
                details.unwrap_or_default()
            );
            add(&["--seen", &seen]);
        }
    }
    add(&["-o", "json", "-s", &bundle.display().to_string()]);
    words
}
