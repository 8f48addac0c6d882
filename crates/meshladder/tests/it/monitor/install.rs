//! The dashboard and the manifests are what Grafana and Kubernetes read.

use std::collections::BTreeSet;

use meshladder_output::monitor::{dashboard, picture};
use meshladder_text::tree::Node;
use meshladder_text::yaml;
use serde_json::Value;

use crate::expect::expect_file;
use crate::support::meshladder;

fn printed() -> Value {
    let run = meshladder(&["monitor", "dashboard"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    serde_json::from_str(&run.stdout).expect("JSON")
}

/// The strings of a list.
fn strings(node: Option<&Node>) -> Vec<&str> {
    node.map_or(&[][..], Node::items)
        .iter()
        .filter_map(Node::str)
        .collect()
}

#[test]
fn every_query_of_the_dashboard_is_promql() {
    let queries = dashboard::ROWS
        .iter()
        .flat_map(|row| row.panels)
        .flat_map(|panel| panel.queries);
    for (expr, _) in queries {
        promql_parser::parser::parse(expr).unwrap_or_else(|why| panic!("{expr}: {why}"));
    }
}

#[test]
fn panels_have_ids_of_their_own_and_do_not_overlap() {
    let json = printed();
    let panels = json["panels"].as_array().expect("panels");
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len());
    let mut taken = BTreeSet::new();
    for panel in panels {
        let of = |key: &str| panel["gridPos"][key].as_u64().expect("a number");
        assert!(of("x") + of("w") <= 24, "{panel}");
        for cell in (of("x")..of("x") + of("w"))
            .flat_map(|x| (of("y")..of("y") + of("h")).map(move |y| (x, y)))
        {
            assert!(taken.insert(cell), "{} overlaps", panel["title"]);
        }
        if panel["type"] != "row" {
            assert!(
                panel["targets"]
                    .as_array()
                    .is_some_and(|targets| !targets.is_empty()),
                "{panel}"
            );
        }
    }
}

/// What a panel asks for is recorded by a rule, exported by us or a metric of Istio.
#[test]
fn every_series_of_the_dashboard_comes_from_somewhere() {
    let rules = meshladder(&["monitor", "rules"]).stdout;
    let queries = dashboard::ROWS
        .iter()
        .flat_map(|row| row.panels)
        .flat_map(|panel| panel.queries);
    for (expr, _) in queries {
        let words = expr.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        for name in words.filter(|word| word.starts_with("meshladder:")) {
            assert!(
                rules.contains(&format!("record: {name}\n")),
                "nothing records {name}"
            );
        }
    }
}

#[test]
fn the_picture_in_the_manual_is_of_this_dashboard() {
    let svg = picture::svg();
    expect_file("docs/monitoring.svg", &svg);
    for panel in dashboard::ROWS.iter().flat_map(|row| row.panels) {
        assert!(svg.contains(panel.title), "{}", panel.title);
    }
}

#[test]
fn the_manifests_are_objects_with_least_rights_and_safe_defaults() {
    let run = meshladder(&[
        "monitor",
        "install",
        "--dry-run",
        "-n",
        "watch",
        "--image",
        "example.com/meshladder:1",
    ]);
    assert_eq!(run.code, 0);
    let loaded = yaml::load(&run.stdout);
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let of = |kind: &str| {
        loaded
            .documents
            .iter()
            .find(|object| object.str_at("kind") == Some(kind))
            .expect(kind)
    };
    let kinds: Vec<_> = loaded
        .documents
        .iter()
        .filter_map(|object| object.str_at("kind"))
        .collect();
    assert_eq!(
        kinds,
        [
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
            "Role",
            "RoleBinding",
            "Deployment",
            "Service",
            "ServiceMonitor",
            "PrometheusRule",
            "ConfigMap"
        ]
    );
    for object in &loaded.documents {
        let place = match object.str_at("kind") {
            Some("ClusterRole" | "ClusterRoleBinding") => None,
            Some("Role" | "RoleBinding") => Some("istio-system"),
            _ => Some("watch"),
        };
        assert_eq!(
            object.at(["metadata", "namespace"]).and_then(Node::str),
            place
        );
    }
    // What is granted is what `rbac` says it needs.
    let printed_roles = yaml::load(&meshladder(&["rbac", "--for", "monitor"]).stdout).documents;
    let needed = printed_roles
        .iter()
        .map(|role| role.get("rules").map(Node::to_json))
        .collect::<Vec<_>>();
    let granted = ["ClusterRole", "Role"].map(|kind| of(kind).get("rules").map(Node::to_json));
    assert_eq!(granted.to_vec(), needed);
    let rules = of("ClusterRole").get("rules").map_or(&[][..], Node::items);
    assert!(rules.len() > 3);
    for rule in rules {
        let (resources, verbs) = (strings(rule.get("resources")), strings(rule.get("verbs")));
        assert!(
            !resources
                .iter()
                .chain(&verbs)
                .any(|word| word.contains('*')),
            "{resources:?}"
        );
        assert!(
            !resources.contains(&"secrets") && !resources.contains(&"pods/exec"),
            "{resources:?}"
        );
        let allowed: &[&str] = if resources == ["pods/portforward"] {
            &["create", "get"]
        } else {
            &["get", "list"]
        };
        assert!(
            verbs.iter().all(|verb| allowed.contains(verb)),
            "{resources:?}: {verbs:?}"
        );
    }
    let pod = of("Deployment")
        .at(["spec", "template", "spec"])
        .expect("a pod");
    let container = &pod.get("containers").map_or(&[][..], Node::items)[0];
    assert_eq!(container.str_at("image"), Some("example.com/meshladder:1"));
    let security = container.get("securityContext").map(Node::to_json);
    assert_eq!(
        security.as_deref(),
        Some(
            r#"{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true}"#
        )
    );
    assert_eq!(
        pod.at(["securityContext", "runAsNonRoot"])
            .map(Node::to_json)
            .as_deref(),
        Some("true")
    );
    // The Service leads to the pod, and the ServiceMonitor to the Service, by names of ports and
    // labels.
    let labels = of("Deployment")
        .at(["spec", "template", "metadata", "labels"])
        .expect("labels");
    let selector = of("Service").at(["spec", "selector"]).expect("a selector");
    assert!(
        selector
            .members()
            .iter()
            .all(|member| labels.str_at(&member.key) == member.value.str())
    );
    let map = of("ConfigMap")
        .at(["data", "meshladder.json"])
        .and_then(Node::str)
        .expect("a dashboard");
    assert_eq!(serde_json::from_str::<Value>(map).expect("JSON"), printed());
    let without = meshladder(&["monitor", "install"]);
    assert!(
        without.code == 0 && without.stderr.contains("nothing is changed"),
        "{}",
        without.stderr
    );
}
