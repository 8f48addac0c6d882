//! What objects may say: captured meshes are right, and of istioctl's own examples only those that
//! the admission webhook would refuse are told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::expect::root;
use crate::meshes::{Capture, captures, shared};
use crate::support::{meshladder, with_stdin};

/// istioctl's examples are made for other analyzers, and these objects of theirs would not be
/// admitted.
const REFUSED: &[&str] = &[
    "authorizationpolicies.yaml ServiceEntry httpbin/istio",
    "conflicting-gateways-invalid-port.yaml Gateway default/alpha",
    "conflicting-gateways-invalid-port.yaml Gateway default/beta",
    "conflicting-gateways-multiple-ports.yaml Gateway default/alpha",
    "conflicting-gateways-multiple-ports.yaml Gateway default/beta",
    "deprecation.yaml EnvoyFilter istio-system/istio-multicluster-egressgateway",
    "deprecation.yaml VirtualService foo/productpage",
    "envoy-filter-remove-operation.yaml EnvoyFilter bookinfo/test-remove-2",
    "envoy-filter-remove-operation.yaml EnvoyFilter bookinfo/test-remove-3",
    "envoy-filter-remove-operation.yaml EnvoyFilter bookinfo/test-remove-4",
    "gateway-no-workload.yaml Gateway default/httpbin-gateway",
    "relative-envoy-filter-operation.yaml EnvoyFilter bookinfo/test-relative-3",
    "sidecar-default-selector.yaml Sidecar ns-ambient/namespace-scoped",
    "sidecar-default-selector.yaml Sidecar ns-ambient/pod-scoped",
    "sidecar-default-selector.yaml Sidecar ns-not-ambient-rev/namespace-not-ambient",
    "sidecar-default-selector.yaml Sidecar ns-not-ambient/namespace-not-ambient",
    "virtualservice_destinationhosts.yaml ServiceEntry default-ignore/service-entry-ignore",
    "virtualservice_destinationhosts.yaml VirtualService default/reviews-bogushost",
    "virtualservice_host_not_found_gateway.yaml Gateway istio-system/testing-gateway-01-test-04",
    "virtualservice_host_not_found_gateway_beta.yaml Gateway istio-system/testing-gateway-01-test-04",
];

/// Captures whose very fault is one that the webhook warns of, and the object it is in.
const WARNED: &[&str] = &[
    "db-closed-deny-delete-on-tcp AuthorizationPolicy shop/db-no-delete",
    "payments-503-failover-without-outlier-detection DestinationRule shop/payments",
];

#[test]
fn no_object_of_a_captured_mesh_would_be_refused() {
    let meshes = captures();
    let mut found = Vec::new();
    std::thread::scope(|scope| {
        let parts = meshes.chunks(meshes.len().div_ceil(4));
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().flat_map(refused).collect()))
            .collect();
        for thread in threads {
            let lines: Vec<String> = thread.join().expect("no judgement panics");
            found.extend(lines);
        }
    });
    let mut expected = Vec::new();
    for warned in WARNED {
        let (id, _) = warned.split_once(' ').expect("an object behind the id");
        expected.extend(meshes.iter().any(|mesh| mesh.id == id).then_some(*warned));
    }
    assert_eq!(found, expected);
}

/// What would be refused or warned of, as `capture Kind namespace/name`.
fn refused(capture: &Capture) -> Vec<String> {
    let bundle = capture.bundle().display().to_string();
    let lines = told(&["-s", &bundle], &["IST0106", "IST0133"]);
    let object = |line: &String| format!("{} {}", capture.id, object(line));
    lines.iter().map(object).collect()
}

#[test]
fn only_what_would_be_refused_of_examples_is_told() {
    let own = [
        "refused.yaml AuthorizationPolicy shop/unknown-action",
        "refused.yaml DestinationRule shop/without-host",
        "refused.yaml Gateway shop/port-without-protocol",
        "refused.yaml ServiceEntry shop/address-in-a-wildcard-host",
        "refused.yaml Sidecar shop/host-without-namespace",
        "refused.yaml VirtualService shop/without-destination",
    ];
    assert_eq!(refused_in(&root().join("fixtures/admission")), own);
    if let Some(folder) = shared("conformance/analyze/data") {
        assert_eq!(refused_in(&folder), REFUSED);
    }
}

/// What would be refused in the files of a folder, as `file Kind namespace/name`.
fn refused_in(folder: &Path) -> Vec<String> {
    let mut found = BTreeSet::new();
    for file in files(folder).into_iter().filter(|file| file.is_file()) {
        let name = file.file_name().expect("a name").to_string_lossy();
        for line in told(&[file.to_str().expect("a path of letters")], &["IST0106"]) {
            found.insert(format!("{name} {}", object(&line)));
        }
    }
    found.into_iter().collect()
}

#[test]
fn a_slip_is_told_on_its_line_with_a_patch() {
    let yaml = "apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec:
  mtsl:
    mode: STRICT
";
    let run = with_stdin(&["analyze", "-"], yaml.as_bytes());
    assert_eq!(run.code, 79, "{}", run.stderr);
    assert!(
        run.stdout
            .contains("Error [IST0106] (PeerAuthentication shop/default"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains("spec.mtsl is not a field of PeerAuthentication; did you mean mtls"),
        "{}",
        run.stdout
    );
    let run = with_stdin(&["analyze", "-", "-o", "json"], yaml.as_bytes());
    assert!(
        run.stdout.contains("/spec/mtls"),
        "the patch renames it: {}",
        run.stdout
    );
}

/// The lines that have one of the codes.
fn told(arguments: &[&str], codes: &[&str]) -> Vec<String> {
    let run = meshladder(&[&["analyze"], arguments].concat());
    let has_code = |line: &&str| codes.iter().any(|code| line.contains(&format!("[{code}]")));
    run.stdout
        .lines()
        .filter(has_code)
        .map(str::to_owned)
        .collect()
}

/// `Kind namespace/name` of a line `Error [IST0106] (Kind namespace/name file:line) message`.
fn object(line: &str) -> String {
    let object = line.split_once('(').map_or("", |(_, rest)| rest);
    let words: Vec<&str> = object.split([' ', ')']).take(2).collect();
    words.join(" ")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    paths.sort();
    paths
}
