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

#[test]
fn services_are_compared_with_those_of_other_clusters() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = |port: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: cart, namespace: shop}}\nspec: {{ports: [{{port: {port}, name: http}}]}}\n"
        )
    };
    let files = [("east", "80"), ("west", "8080"), ("north", "80")].map(|(name, port)| {
        let path = folder.path().join(format!("{name}.yaml"));
        std::fs::write(&path, service(port)).expect("it can be written");
        format!("{name}={}", path.display())
    });
    let found = |words: &[&str]| meshladder(&[&["analyze"], words].concat()).stdout;
    let [east, west, north] = files.each_ref().map(String::as_str);
    let differs = found(&["--cluster-file", east, "--cluster-file", west]);
    assert!(differs.contains("[IST0170] (Service shop/cart ") && differs.contains("in east and west"), "{differs}");
    assert_eq!(found(&["--cluster-file", east, "--cluster-file", north]), "");
    let own = west.trim_start_matches("west=");
    let with_own = found(&[own, "--cluster-file", east]);
    assert!(with_own.contains("in this cluster and east"), "{with_own}");
    assert_eq!(meshladder(&["analyze", "--cluster-file", own]).code, 64, "a cluster has a name");
}

#[test]
fn networks_of_the_mesh_may_be_given_by_hand() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("networks.yaml");
    std::fs::write(&path, "networks: {west: {endpoints: [{fromRegistry: west-1}]}}\n").expect("it can be written");
    let words = ["analyze", "-", "--meshNetworksFile", &path.display().to_string()];
    let found = with_stdin(&words, YAML.as_bytes()).stdout;
    assert!(found.contains("Error [IST0126] (MeshNetworks istio-system/meshnetworks) network west "), "{found}");
}
