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
    assert_eq!(
        run.code, 0,
        "a warning is below the threshold: {}",
        run.stderr
    );
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("Warning [IST0128] (DestinationRule shop/db "),
        "{}",
        lines[0]
    );
    assert!(lines[0].contains(":7) "), "{}", lines[0]);
}

#[test]
fn the_failure_threshold_decides_the_exit_code_in_every_format() {
    for format in ["log", "json", "istio-json", "yaml"] {
        let run = with_stdin(
            &[
                "analyze",
                "-",
                "-o",
                format,
                "--failure-threshold",
                "Warning",
            ],
            YAML.as_bytes(),
        );
        assert_eq!(run.code, 79, "{format}: {}", run.stderr);
        assert!(run.stdout.contains("IST0128"), "{format}: {}", run.stdout);
    }
}

#[test]
fn what_is_suppressed_or_below_the_output_threshold_or_elsewhere_is_not_told() {
    let annotated = YAML.replace(
        "shop}",
        "shop, annotations: {galley.istio.io/analyze-suppress: 'IST0128'}}",
    );
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
    let all = [
        "analyze",
        "-",
        "-n",
        "tools",
        "-A",
        "--suppress",
        "IST0128=DestinationRule tools/*",
    ];
    assert!(with_stdin(&all, YAML.as_bytes()).stdout.contains("IST0128"));
}

#[test]
fn istios_objects_of_another_revision_are_left_out() {
    let labelled = YAML.replace("shop}", "shop, labels: {istio.io/rev: canary}}");
    for (yaml, revision, is_told) in [
        (YAML, "canary", true),
        (&labelled, "canary", true),
        (&labelled, "default", false),
    ] {
        let run = with_stdin(&["analyze", "-", "--revision", revision], yaml.as_bytes());
        assert_eq!(
            run.stdout.contains("IST0128"),
            is_told,
            "{revision}: {yaml}"
        );
    }
}

#[test]
fn istioctls_switch_for_colour_is_taken() {
    for words in [
        &["--color"][..],
        &["--color=true"],
        &["--color=false"],
        &["--color", "never"],
    ] {
        let run = with_stdin(&[&["analyze", "-"], words].concat(), YAML.as_bytes());
        assert_eq!(
            (run.code, run.stdout.contains("IST0128")),
            (0, true),
            "{words:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn wrong_usage_has_istioctls_code() {
    for words in [
        &["analyze", "-", "--remote-contexts", "west"][..],
        &["analyze"],
        &["analyze", "-", "--suppress", "IST0128"],
        &["analyze", "-", "-o", "xml"],
    ] {
        assert_eq!(meshladder(words).code, 64, "{words:?}");
    }
}

#[test]
fn the_rules_are_listed() {
    let run = meshladder(&["analyze", "--list-analyzers"]);
    assert_eq!(run.code, 0);
    assert!(
        run.stdout.contains("* ML2101 tls-without-ca IST0128:\n"),
        "{}",
        run.stdout
    );
}

const ALL: &str = "apiVersion: v1
kind: Namespace
metadata:
  name: shop  # the shop
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: db, namespace: shop}
spec:
  host: db.example.com
  trafficPolicy:
    tls: {mode: SIMPLE}
---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: one, namespace: shop}
spec: {egress: [{hosts: ['./*']}]}
---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: two, namespace: shop}
spec: {egress: [{hosts: ['./*']}]}
";

/// A file named `a b,c%.yaml` in a directory of its own.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("a b,c%.yaml");
    std::fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

#[test]
fn rules_are_selected_and_ignored_by_code_name_and_start_of_code() {
    let codes = |words: &[&str]| {
        let run = with_stdin(&[&["analyze", "-"], words].concat(), ALL.as_bytes());
        let code = |line: &str| line.split(['[', ']']).nth(1).expect("a code").to_owned();
        run.stdout.lines().map(code).collect::<Vec<_>>()
    };
    let all = codes(&[]);
    assert!(
        all.contains(&"IST0128".to_owned()) && all.contains(&"IST0111".to_owned()),
        "{all:?}"
    );
    assert_eq!(codes(&["--select", "ML21"]), ["IST0128"]);
    assert_eq!(
        codes(&["--select", "tls-without-ca,IST0111", "--ignore", "ML2503"]),
        ["IST0128"]
    );
    assert!(!codes(&["--ignore", "IST0128"]).contains(&"IST0128".to_owned()));
    let unknown = with_stdin(&["analyze", "-", "--select", "ML9999"], ALL.as_bytes());
    assert_eq!((unknown.code, unknown.stdout.as_str()), (64, ""));
}

#[test]
fn rules_that_lack_a_kind_are_not_run_and_that_is_said() {
    let route = "apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec: {hosts: [cart], http: [{route: [{destination: {host: cart}}]}]}
";
    let run = with_stdin(&["analyze", "-", "--select", "ML2001"], route.as_bytes());
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, ""),
        "no Service is in the files, so none is missing"
    );
    assert!(
        run.stderr.contains("1 rule was not run without services"),
        "{}",
        run.stderr
    );
    let verbose = with_stdin(
        &["analyze", "-", "-v", "--select", "ML2001,ML2101"],
        route.as_bytes(),
    );
    assert!(
        verbose.stderr.contains("ran: ML2101\n"),
        "{}",
        verbose.stderr
    );
    let other = format!(
        "{route}---\nkind: Service\napiVersion: v1\nmetadata: {{name: other, namespace: shop}}\n"
    );
    assert!(
        with_stdin(&["analyze", "-", "--select", "ML2001"], other.as_bytes())
            .stdout
            .contains("IST0101")
    );
}

#[test]
fn files_are_judged_on_top_of_a_bundle() {
    let (_folder, path) = file(&ALL.replace("mode: SIMPLE", "mode: DISABLE"));
    let bundle = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(bundle.path().join("k8s")).expect("a folder");
    std::fs::write(
        bundle.path().join("manifest.json"),
        "{\"format\":\"meshladder-bundle\",\"version\":1}",
    )
    .expect("a file");
    std::fs::write(
        bundle
            .path()
            .join("k8s/destinationrules.networking.istio.io.yaml"),
        YAML,
    )
    .expect("a file");
    let bundle = bundle.path().to_str().expect("UTF-8");
    let alone = meshladder(&["analyze", "-s", bundle, "--select", "ML2101"]);
    assert!(
        alone.stdout.contains("IST0128"),
        "{}{}",
        alone.stdout,
        alone.stderr
    );
    let on_top = meshladder(&[
        "analyze",
        &path,
        "--use-kube",
        "-s",
        bundle,
        "--select",
        "ML2101",
    ]);
    assert_eq!(
        (on_top.code, on_top.stdout.as_str()),
        (0, ""),
        "{}",
        on_top.stderr
    );
    let without = meshladder(&["analyze", &path, "-k"]);
    assert_eq!(without.code, 64);
    assert!(
        without.stderr.contains("no kubeconfig"),
        "{}",
        without.stderr
    );
    assert_eq!(
        meshladder(&["analyze", &path, "--use-kube=false", "--select", "ML2101"]).code,
        0
    );
}

#[test]
fn a_terminal_shows_every_place_on_the_lines_of_the_file() {
    let (_folder, path) = file(ALL);
    let run = meshladder(&["analyze", &path, "-o", "text", "--select", "ML2101"]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(
        lines[0].starts_with("warning[ML2101]: DestinationRule shop/db: "),
        "{}",
        run.stdout
    );
    assert_eq!(lines[1], format!("  --> {path}:12:10"));
    assert_eq!(lines[3], "12 |     tls: {mode: SIMPLE}");
    assert!(
        lines[4].starts_with("   |          ^^^^^^^^^^^^^^ "),
        "{}",
        run.stdout
    );
    assert_eq!(lines.last(), Some(&"1 warning"));
    let both = meshladder(&["analyze", &path, "-o", "text", "--select", "ML2503"]).stdout;
    assert!(
        both.contains("Sidecar shop/one") && both.contains("Sidecar shop/two"),
        "{both}"
    );
}

#[test]
fn annotations_of_a_workflow_are_escaped() {
    let (_folder, path) = file(YAML);
    let run = meshladder(&["analyze", &path, "-o", "github"]);
    let place = path
        .replace('%', "%25")
        .replace(':', "%3A")
        .replace(',', "%2C");
    let start = format!(
        "::warning file={place},line=7,endLine=7,col=10,endColumn=24,title=ML2101 tls-without-ca IST0128::DestinationRule shop/db: "
    );
    assert!(run.stdout.starts_with(&start), "{}", run.stdout);
    assert_eq!(run.stdout.lines().count(), 1);
}

#[test]
fn markdown_has_a_row_a_finding_and_its_proof() {
    let run = with_stdin(
        &["analyze", "-", "-o", "markdown", "--select", "ML2101"],
        ALL.as_bytes(),
    );
    let rows: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.starts_with("| warning |"))
        .collect();
    assert_eq!(rows.len(), 1, "{}", run.stdout);
    assert!(
        run.stdout
            .contains("<details><summary>ML2101 DestinationRule shop/db</summary>"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains("  ```yaml\n  tls: {mode: SIMPLE}\n  ```"),
        "{}",
        run.stdout
    );
    let none = with_stdin(
        &["analyze", "-", "-o", "markdown", "--ignore", "ML"],
        ALL.as_bytes(),
    );
    assert_eq!(none.stdout, "No findings.\n");
}

#[test]
fn a_diff_shows_the_safe_fixes_and_changes_nothing() {
    let (_folder, path) = file(ALL);
    let run = meshladder(&["analyze", &path, "--diff"]);
    assert!(
        run.stdout.starts_with("--- a/"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    assert!(
        run.stdout
            .contains("+  labels:\n+    istio-injection: enabled\n"),
        "{}",
        run.stdout
    );
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), ALL);
}

#[test]
fn fix_changes_the_file_and_keeps_its_comments_and_the_finding_is_gone() {
    let (_folder, path) = file(ALL);
    let before = meshladder(&["analyze", &path, "--select", "ML2801"]);
    assert!(before.stdout.contains("IST0102"), "{}", before.stdout);
    let run = meshladder(&["analyze", &path, "--fix", "--select", "ML2801"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    assert!(run.stderr.contains("fixed in "), "{}", run.stderr);
    let fixed = ALL.replace(
        "# the shop\n",
        "# the shop\n  labels:\n    istio-injection: enabled\n",
    );
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), fixed);
    let stdin = with_stdin(
        &["analyze", "-", "--fix", "--select", "ML2801"],
        ALL.as_bytes(),
    );
    assert!(
        stdin.stdout.contains("IST0102") && stdin.stderr.contains("not fixed"),
        "{}",
        stdin.stderr
    );
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
    assert!(
        differs.contains("[IST0170] (Service shop/cart ") && differs.contains("in east and west"),
        "{differs}"
    );
    assert_eq!(
        found(&["--cluster-file", east, "--cluster-file", north]),
        ""
    );
    let own = west.trim_start_matches("west=");
    let with_own = found(&[own, "--cluster-file", east]);
    assert!(with_own.contains("in this cluster and east"), "{with_own}");
    assert_eq!(
        meshladder(&["analyze", "--cluster-file", own]).code,
        64,
        "a cluster has a name"
    );
}

#[test]
fn networks_of_the_mesh_may_be_given_by_hand() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("networks.yaml");
    std::fs::write(
        &path,
        "networks: {west: {endpoints: [{fromRegistry: west-1}]}}\n",
    )
    .expect("it can be written");
    let words = [
        "analyze",
        "-",
        "--meshNetworksFile",
        &path.display().to_string(),
    ];
    let running = format!("{YAML}---\nkind: Namespace\napiVersion: v1\nmetadata: {{name: shop}}\n");
    let found = with_stdin(&words, running.as_bytes()).stdout;
    assert!(
        found.contains("Error [IST0126] (MeshNetworks istio-system/meshnetworks) network west "),
        "{found}"
    );
}

mod formats;
mod recipes;
