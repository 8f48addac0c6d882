//! When a Snapshot was taken.

use crate::support::*;

fn taken_at(files: &[(&str, &str)]) -> Option<String> {
    opened(&Place::with(files).path(""))
        .taken_at()
        .map(|time| time.to_string())
}

#[test]
fn without_a_manifest_it_is_the_newest_time_in_the_documents() {
    let pods = r#"{"apiVersion": "v1", "items": [{"metadata": {"creationTimestamp": "2026-11-15T06:30:00Z"}}], "kind": "List"}"#;
    let log = "2026-11-15T06:31:00.5Z\tinfo\tx\n";
    let certs = r#"{"certificates": [{"expiration_time": "2036-11-12T06:30:40Z"}]}"#;
    let cart = cart_dump();
    let all = [
        ("k8s/pods.json", pods),
        ("proxies/shop/cart-1/config_dump.json", cart.as_str()),
        ("proxies/shop/cart-1/certs.json", certs),
        ("logs/shop/cart-1/istio-proxy.log", log),
    ];
    assert_eq!(taken_at(&all[..1]).as_deref(), Some("2026-11-15T06:30:00Z"));
    assert_eq!(taken_at(&all[..3]).as_deref(), Some("2026-11-15T06:30:51Z"));
    assert_eq!(taken_at(&all).as_deref(), Some("2026-11-15T06:31:00.5Z"));
}

#[test]
fn a_manifest_is_believed_and_documents_without_times_tell_none() {
    let cart = cart_dump();
    let told = manifest("");
    let files = [
        ("proxies/shop/cart-1/config_dump.json", cart.as_str()),
        ("manifest.json", told.as_str()),
    ];
    assert_eq!(taken_at(&files).as_deref(), Some("2026-11-15T05:00:00Z"));
    assert_eq!(taken_at(&[("pod.yaml", POD)]), None);
}

#[test]
fn a_large_dump_is_searched_to_its_end() {
    let filler = format!("{{\"x\": \"{}\"}}", "y".repeat(3 << 20));
    let late = cart_dump().replace(
        "}]}",
        &format!("}}, {filler}, {{\"last_updated\": \"2026-11-15T07:00:00Z\"}}]}}"),
    );
    assert_eq!(
        taken_at(&[("dump.json", &late)]).as_deref(),
        Some("2026-11-15T07:00:00Z")
    );
}
