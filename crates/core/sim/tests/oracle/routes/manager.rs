//! Settings of the connection manager.

use serde_json::{Value, json};

use crate::harness::Random;

/// What is laid over a connection manager.
pub(super) fn generate(random: &mut Random) -> Value {
    let mut settings = json!({
        "normalize_path": random.chance(60),
        "merge_slashes": random.chance(40),
        "strip_trailing_host_dot": random.chance(40),
        "use_remote_address": random.chance(30),
    });
    let actions = [
        "KEEP_UNCHANGED",
        "REJECT_REQUEST",
        "UNESCAPE_AND_REDIRECT",
        "UNESCAPE_AND_FORWARD",
    ];
    if random.chance(70) {
        settings["path_with_escaped_slashes_action"] = json!(random.pick(&actions));
    }
    match random.below(4) {
        0 => settings["strip_matching_host_port"] = json!(true),
        1 => settings["strip_any_host_port"] = json!(true),
        _ => {}
    }
    if random.chance(40) {
        settings["http_protocol_options"] =
            json!({"accept_http_10": true, "default_host_for_http_10": "ten.test"});
    }
    if random.chance(50) {
        settings["upgrade_configs"] =
            json!([{"upgrade_type": "websocket", "enabled": random.chance(60)}]);
    }
    settings
}

/// Runtime values that route tables refer to.
pub(super) fn runtime(random: &mut Random) -> Value {
    let mut layer = json!({
        "envoy.reloadable_features.http_reject_path_with_fragment": random.chance(50),
        "fraction.all": 100,
        "weights": {"c0": 0, "c1": 3},
    });
    if random.chance(50) {
        layer["fraction.none"] = json!({"numerator": 0, "denominator": "MILLION"});
    }
    layer
}
