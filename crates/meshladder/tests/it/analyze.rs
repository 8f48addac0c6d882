//! `analyze`: istioctl's lines, codes and exit codes.

use crate::support::{meshladder, with_stdin};

const YAML: &str = "apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: db, namespace: shop}
spec:
  host: db.example.com
  trafficPolicy:
    tls: {mode: SIMPLE}
";

#[test]
fn a_finding_is_a_line_with_istioctls_code_the_object_and_its_place() {
    let run = with_stdin(&["analyze", "-"], YAML.as_bytes());
    assert_eq!(run.code, 0, "a warning is below the threshold: {}", run.stderr);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("Warning [IST0128] (DestinationRule shop/db "), "{}", lines[0]);
    assert!(lines[0].contains(":7) "), "{}", lines[0]);
}

#[test]
fn the_failure_threshold_decides_the_exit_code_in_every_format() {
    for format in ["log", "json", "istio-json", "yaml"] {
        let run = with_stdin(&["analyze", "-", "-o", format, "--failure-threshold", "Warning"], YAML.as_bytes());
        assert_eq!(run.code, 79, "{format}: {}", run.stderr);
        assert!(run.stdout.contains("IST0128"), "{format}: {}", run.stdout);
    }
}

#[test]
fn what_is_suppressed_or_below_the_output_threshold_or_elsewhere_is_not_told() {
    let annotated = YAML.replace("shop}", "shop, annotations: {galley.istio.io/analyze-suppress: 'IST0128'}}");
    for (words, yaml) in [
        (&["--suppress", "IST0128=DestinationRule shop/*"][..], YAML),
        (&["-S", "ML2101=*"], YAML),
        (&["--output-threshold", "error"], YAML),
        (&["-n", "tools"], YAML),
        (&[], &annotated),
    ] {
        let mut all = vec!["analyze", "-", "--failure-threshold", "info"];
        all.extend(words);
        let run = with_stdin(&all, yaml.as_bytes());
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{words:?}");
    }
    let all = ["analyze", "-", "-n", "tools", "-A", "--suppress", "IST0128=DestinationRule tools/*"];
    assert!(with_stdin(&all, YAML.as_bytes()).stdout.contains("IST0128"));
}

#[test]
fn wrong_usage_has_istioctls_code() {
    for words in [&["analyze"][..], &["analyze", "-", "--suppress", "IST0128"], &["analyze", "-", "-o", "xml"]] {
        assert_eq!(meshladder(words).code, 64, "{words:?}");
    }
}

#[test]
fn the_rules_are_listed() {
    let run = meshladder(&["analyze", "--list-analyzers"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("* ML2101 tls-without-ca IST0128:\n"), "{}", run.stdout);
}
