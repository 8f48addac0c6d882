//! Chains of filters whose every answer is certain, and requests that meet them.

use meshladder_sim::Request;
use serde_json::{Value, json};

use crate::harness::{Random, connection_manager};

const ROUTES: usize = 12;

/// A connection manager with some of the filters in some order.
pub(crate) fn manager(random: &mut Random) -> Value {
    let mut filters = vec![
        filter("envoy.filters.http.fault", &fault(random)),
        filter("envoy.filters.http.cors", &typed("cors.v3.Cors", json!({}))),
        filter("envoy.filters.http.local_ratelimit", &rate_limit(random)),
        filter("custom", &custom(random)),
        filter("envoy.filters.http.ext_authz", &authz(random)),
        filter("mutation", &mutation(random)),
        filter("policies", &policies(random)),
    ];
    filters.retain(|_| random.chance(70));
    for filter in &mut filters {
        if random.chance(15) {
            filter["disabled"] = true.into();
        }
    }
    if random.chance(15) {
        let at = random.below(filters.len() + 1);
        let mut discovery = json!({
            "config_source": {"path_config_source": {"path": "/dev/null"}},
            "type_urls": ["type.googleapis.com/envoy.extensions.filters.http.grpc_stats.v3.FilterConfig"]});
        if random.chance(50) {
            discovery["default_config"] = typed("grpc_stats.v3.FilterConfig", json!({}));
            discovery["apply_default_config_without_warming"] = true.into();
        }
        filters.insert(at, json!({"name": "absent", "config_discovery": discovery}));
    }
    let routes: Vec<_> = (0..ROUTES).map(|number| route(random, number)).collect();
    let table = json!({
        "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes, "typed_per_filter_config": per_filter(random, 10)}],
        "typed_per_filter_config": per_filter(random, 10),
    });
    connection_manager(table, filters, &json!({"use_remote_address": false}))
}

fn route(random: &mut Random, number: usize) -> Value {
    let mut route = json!({"match": {"path": format!("/{number}")}, "typed_per_filter_config": per_filter(random, 25)});
    if random.chance(15) {
        route["direct_response"] = json!({"status": 201});
    } else {
        route["route"] = json!({"cluster": random.pick(&["empty", "other"])});
        if random.chance(10) {
            route["route"]["cors"] = cors(random);
        }
    }
    route
}

fn filter(name: &str, config: &Value) -> Value {
    json!({"name": name, "typed_config": config})
}

fn typed(name: &str, mut config: Value) -> Value {
    config["@type"] = format!("type.googleapis.com/envoy.extensions.filters.http.{name}").into();
    config
}

fn per_filter(random: &mut Random, percent: usize) -> Value {
    let mut config = json!({});
    let mut put = |random: &mut Random, name: &str, value: Value| {
        if random.chance(percent) {
            config[name] = match random.below(6) {
                0 => {
                    json!({"@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "disabled": true})
                }
                1 => {
                    json!({"@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "config": value})
                }
                _ => value,
            };
        }
    };
    let value = fault(random);
    put(random, "envoy.filters.http.fault", value);
    let value = typed("cors.v3.CorsPolicy", cors(random));
    put(random, "envoy.filters.http.cors", value);
    let value = rate_limit(random);
    put(random, "envoy.filters.http.local_ratelimit", value);
    let value = typed(
        "ext_authz.v3.ExtAuthzPerRoute",
        random
            .pick(&[json!({"disabled": true}), json!({"check_settings": {}})])
            .clone(),
    );
    put(random, "envoy.filters.http.ext_authz", value);
    config
}

fn percentage(random: &mut Random) -> Value {
    random
        .pick(&[
            json!({"numerator": 0}),
            json!({"numerator": 100}),
            json!({"numerator": 100, "denominator": "HUNDRED"}),
            json!({"numerator": 1_000_000, "denominator": "MILLION"}),
            json!({"numerator": 10_000, "denominator": "TEN_THOUSAND"}),
            json!({"numerator": 0, "denominator": "MILLION"}),
        ])
        .clone()
}

fn fault(random: &mut Random) -> Value {
    let mut fault = json!({});
    if random.chance(50) {
        let mut abort = random
            .pick(&[
                json!({"http_status": 418}),
                json!({"http_status": 503}),
                json!({"grpc_status": 5}),
                json!({"header_abort": {}}),
            ])
            .clone();
        abort["percentage"] = percentage(random);
        fault["abort"] = abort;
    }
    if random.chance(40) {
        let mut delay = random
            .pick(&[
                json!({"fixed_delay": "0.001s"}),
                json!({"header_delay": {}}),
            ])
            .clone();
        delay["percentage"] = percentage(random);
        fault["delay"] = delay;
    }
    if random.chance(20) {
        fault["upstream_cluster"] = (*random.pick(&["empty", "other"])).into();
    }
    if random.chance(20) {
        fault["headers"] = json!([{"name": "x-fault", "string_match": {"exact": "yes"}}]);
    }
    if random.chance(10) {
        fault["downstream_nodes"] = json!(["me"]);
    }
    if random.chance(10) {
        fault["max_active_faults"] = random.pick(&[0, 1000]).to_owned().into();
    }
    typed("fault.v3.HTTPFault", fault)
}

fn cors(random: &mut Random) -> Value {
    let mut cors = json!({});
    if random.chance(80) {
        let origins = [
            json!({"exact": "http://a.test"}),
            json!({"safe_regex": {"regex": "http://.*"}}),
            json!({"exact": "*"}),
            json!({"suffix": "b.test"}),
        ];
        cors["allow_origin_string_match"] = json!([random.pick(&origins)]);
    }
    if random.chance(30) {
        cors["filter_enabled"] =
            json!({"default_value": percentage(random), "runtime_key": "none"});
    }
    if random.chance(30) {
        cors["forward_not_matching_preflights"] = random.chance(50).into();
    }
    if random.chance(20) {
        cors["shadow_enabled"] =
            json!({"default_value": percentage(random), "runtime_key": "none"});
    }
    cors
}

/// Buckets that never run empty, or are never looked at.
fn rate_limit(random: &mut Random) -> Value {
    let mut limit = json!({"stat_prefix": "x", "token_bucket": {"max_tokens": 1, "tokens_per_fill": 1, "fill_interval": "3600s"}});
    let enabled = random.chance(40);
    limit["filter_enabled"] = json!({"default_value": {"numerator": if enabled { 100 } else { 0 }}, "runtime_key": "none"});
    if random.chance(90) {
        limit["filter_enforced"] =
            json!({"default_value": percentage(random), "runtime_key": "none"});
    }
    if random.chance(20) {
        limit["status"] = json!({"code": random.pick(&["ServiceUnavailable", "OK", "Forbidden"])});
    }
    if random.chance(30) {
        limit["rate_limited_as_resource_exhausted"] = true.into();
    }
    typed("local_ratelimit.v3.LocalRateLimit", limit)
}

/// A shadow policy that says whether authorization is asked for.
fn custom(random: &mut Random) -> Value {
    let principal = random
        .pick(&[
            json!({"any": true}),
            json!({"header": {"name": "x-fault", "present_match": true}}),
        ])
        .clone();
    let policies = json!({"istio-ext-authz-opa-ns[a]-policy[b]-rule[0]": {"permissions": [{"any": true}], "principals": [principal]}});
    typed(
        "rbac.v3.RBAC",
        json!({
        "shadow_rules": {"action": "DENY", "policies": policies},
        "shadow_rules_stat_prefix": "istio_ext_authz_"}),
    )
}

fn authz(random: &mut Random) -> Value {
    let cluster = *random.pick(&["empty", "missing"]);
    let mut authz = random
        .pick(&[
            json!({"http_service": {"server_uri": {"uri": "http://x", "cluster": cluster, "timeout": "1s"}}}),
            json!({"grpc_service": {"envoy_grpc": {"cluster_name": cluster}}}),
        ])
        .clone();
    if random.chance(30) {
        authz["failure_mode_allow"] = true.into();
    }
    if random.chance(30) {
        authz["status_on_error"] =
            json!({"code": random.pick(&["ServiceUnavailable", "Unauthorized"])});
    }
    if random.chance(30) {
        authz["filter_enabled"] =
            json!({"default_value": percentage(random), "runtime_key": "none"});
    }
    if random.chance(50) {
        authz["filter_enabled_metadata"] = json!({"filter": "envoy.filters.http.rbac",
            "path": [{"key": "istio_ext_authz_shadow_effective_policy_id"}],
            "value": {"string_match": {"prefix": random.pick(&["istio-ext-authz", "istio-ext-authz-other"])}}});
    }
    if random.chance(20) {
        authz["deny_at_disable"] = json!({"default_value": true, "runtime_key": "none"});
    }
    authz["transport_api_version"] = "V3".into();
    typed("ext_authz.v3.ExtAuthz", authz)
}

fn mutation(random: &mut Random) -> Value {
    let actions = [
        "APPEND_IF_EXISTS_OR_ADD",
        "ADD_IF_ABSENT",
        "OVERWRITE_IF_EXISTS_OR_ADD",
        "OVERWRITE_IF_EXISTS",
    ];
    let mutations = [
        json!({"remove": "x-fault"}),
        json!({"append": {"header": {"key": "x-fault", "value": "changed"}, "append_action": random.pick(&actions)}}),
    ];
    typed(
        "header_mutation.v3.HeaderMutation",
        json!({"mutations": {"request_mutations": [random.pick(&mutations)]}}),
    )
}

fn policies(random: &mut Random) -> Value {
    let value = *random.pick(&["yes", "changed", "no"]);
    let principal = json!({"header": {"name": "x-fault", "string_match": {"exact": value}}});
    typed(
        "rbac.v3.RBAC",
        json!({"rules": {"action": random.pick(&["ALLOW", "DENY"]), "policies": {"headers": {
        "permissions": [{"any": true}], "principals": [principal]}}}}),
    )
}

/// Headers that faults look at, and how often each of them is there.
const HEADERS: [(usize, &str, &[&str]); 7] = [
    (40, "x-fault", &["yes", "no"]),
    (25, "x-envoy-downstream-service-node", &["me", "you"]),
    (
        25,
        "x-envoy-fault-abort-request",
        &["429", "199", "600", "x", "503"],
    ),
    (
        20,
        "x-envoy-fault-abort-grpc-request",
        &["5", "0", "16", "x"],
    ),
    (
        20,
        "x-envoy-fault-abort-request-percentage",
        &["0", "100", "1000000"],
    ),
    (25, "x-envoy-fault-delay-request", &["1", "0", "x"]),
    (
        20,
        "content-type",
        &[
            "application/grpc",
            "application/grpc+proto",
            "application/grpc-web",
            "text/plain",
        ],
    ),
];

const PREFLIGHT: [(usize, &str, &[&str]); 2] = [
    (100, "origin", &["http://a.test", "https://b.test", ""]),
    (80, "access-control-request-method", &["GET", ""]),
];

pub(crate) fn shape(request: &mut Request, random: &mut Random) {
    let preflight = if random.chance(30) {
        &PREFLIGHT[..]
    } else {
        &[]
    };
    if !preflight.is_empty() && random.chance(80) {
        "OPTIONS".clone_into(&mut request.method);
    }
    for (percent, name, values) in HEADERS.iter().chain(preflight) {
        if random.chance(*percent) {
            request
                .headers
                .push(((*name).to_owned(), (*random.pick(values)).to_owned()));
        }
    }
}
