//! Rules are what Prometheus takes, and each alert fires when it should and only then.

use meshladder_output::monitor::{alerts as table, records, runbook};
use meshladder_text::tree::Node;
use meshladder_text::yaml;

use super::alerts::{CASES, Case};
use super::{file, program, run};
use crate::expect::expect_file;
use crate::support::meshladder;

fn rules(words: &[&str]) -> String {
    let run = meshladder(&[&["monitor", "rules"], words].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{words:?}");
    run.stdout
}

#[test]
fn promtool_takes_the_rules() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, "rules.yaml", &rules(&["--objective", "99.5"]));
    let mut promtool = program("promtool");
    promtool.args(["check", "rules"]).arg(path);
    let told = run(promtool);
    let count = records::all().len() + table::all().count();
    assert!(told.contains(&format!("{count} rules found")), "{told}");
}

#[test]
fn each_alert_fires_when_it_should_and_only_then() {
    let folder = tempfile::tempdir().expect("a folder");
    file(&folder, "rules.yaml", &rules(&[]));
    // Hours are evaluated by tens of minutes: that is quicker, and no alert of hours is held for
    // less.
    let (short, long): (Vec<_>, Vec<_>) = CASES.iter().partition(|case| case.at <= 100);
    let order: Vec<_> = ["meshladder-records"]
        .into_iter()
        .chain(table::GROUPS.iter().map(|group| group.name))
        .collect();
    let mut promtool = program("promtool");
    promtool.args(["test", "rules"]);
    for (name, interval, cases) in [("short.yaml", "1m", short), ("long.yaml", "10m", long)] {
        // promtool takes groups in any order unless told; alerts come after what they read.
        let head = format!(
            "rule_files: [rules.yaml]\nevaluation_interval: {interval}\ngroup_eval_order: [{}]\ntests:\n",
            order.join(", ")
        );
        let tests: String = cases.into_iter().map(Case::to_yaml).collect();
        promtool.arg(file(&folder, name, &(head + &tests)));
    }
    run(promtool);
}

#[test]
fn each_alert_has_a_case_that_fires_and_one_that_stays_quiet() {
    for alert in table::all() {
        let fires = |fires: bool| {
            CASES
                .iter()
                .any(|case| case.alert == alert.name && (case.firing > 0) == fires)
        };
        assert!(fires(true) && fires(false), "{} lacks a case", alert.name);
    }
    for case in CASES {
        assert!(
            table::all().any(|alert| alert.name == case.alert),
            "no alert {}",
            case.alert
        );
    }
}

#[test]
fn every_expression_is_promql() {
    let alerts = table::all().map(|alert| (alert.name.to_owned(), alert.expr(99.9)));
    let records = records::all()
        .into_iter()
        .map(|record| (record.name, record.expr));
    for (name, expr) in alerts.chain(records) {
        promql_parser::parser::parse(&expr).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn the_operator_gets_the_same_groups_in_an_object() {
    let plain = yaml_of(&rules(&[]));
    let object = yaml_of(&rules(&["-o", "operator", "-n", "monitoring"]));
    assert_eq!(
        (object.str_at("kind"), object.str_at("apiVersion")),
        (Some("PrometheusRule"), Some("monitoring.coreos.com/v1"))
    );
    assert_eq!(
        object.at(["metadata", "namespace"]).and_then(Node::str),
        Some("monitoring")
    );
    let groups = |node: &Node| node.get("groups").map(Node::to_json);
    assert_eq!(object.get("spec").and_then(groups), groups(&plain));
}

#[test]
fn every_alert_leads_to_a_section_of_the_runbook() {
    let page = runbook::page();
    expect_file("docs/runbook/alerts.md", &page);
    let rules = rules(&["--runbook", "https://wiki.example.com/alerts"]);
    let headings: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    let urls: Vec<_> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("runbook_url: "))
        .collect();
    assert_eq!(urls.len(), table::all().count());
    for (heading, url) in headings.iter().zip(urls) {
        assert_eq!(
            url,
            format!("https://wiki.example.com/alerts#{}", heading.to_lowercase())
        );
    }
}

#[test]
fn an_objective_that_leaves_no_budget_is_refused() {
    for objective in ["100", "0", "50", "many"] {
        let run = meshladder(&["monitor", "rules", "--objective", objective]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{objective}");
    }
}

pub(super) fn yaml_of(text: &str) -> Node {
    let loaded = yaml::load(text);
    assert!(
        loaded.problems.is_empty() && loaded.documents.len() == 1,
        "{:?}",
        loaded.problems
    );
    loaded.documents.into_iter().next().expect("there is one")
}
