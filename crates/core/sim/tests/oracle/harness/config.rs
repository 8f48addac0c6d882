//! The parts of a bootstrap that every test needs, as JSON.

use serde_json::{Value, json};

/// A bootstrap with these listeners and clusters, and an admin interface on a port that Envoy
/// picks.
pub(crate) fn bootstrap(listeners: Vec<Value>, clusters: Vec<Value>) -> Value {
    let mut bootstrap = json!({
        "node": {"id": "oracle", "cluster": "oracle"},
        "admin": {"address": loopback()},
    });
    bootstrap["static_resources"]["listeners"] = Value::Array(listeners);
    bootstrap["static_resources"]["clusters"] = Value::Array(clusters);
    bootstrap
}

/// A listener on a port that Envoy picks, with one filter chain of these network filters.
pub(crate) fn listener(name: &str, filters: Vec<Value>) -> Value {
    let mut listener = json!({"name": name, "address": loopback(), "filter_chains": [{}]});
    listener["filter_chains"][0]["filters"] = Value::Array(filters);
    listener
}

/// A cluster without endpoints: whatever is routed to it becomes a local reply, 503 `UH`.
pub(crate) fn cluster(name: &str) -> Value {
    json!({"name": name, "type": "STATIC", "load_assignment": {"cluster_name": name}})
}

/// A connection manager as a network filter. Every answer is a local reply and says in headers what
/// was decided: `x-o-vhost`, `x-o-route`, `x-o-cluster`, `x-o-flags`, `x-o-details`, `x-o-path`,
/// `x-o-authority`, and `x-o-added`, the request header `x-added`. `http_filters` come before the
/// router, `more` is laid over the configuration.
pub(crate) fn connection_manager(
    route_config: Value,
    http_filters: Vec<Value>,
    more: &Value,
) -> Value {
    let router = json!({
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
    });
    let http_filters: Vec<_> = http_filters.into_iter().chain([router]).collect();
    let mut config = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "oracle",
        "http_filters": http_filters,
        "local_reply_config": local_reply_config(),
        // Otherwise a connection that Envoy closes lingers for a second.
        "delayed_close_timeout": "0s",
    });
    config["route_config"] = route_config;
    for (key, value) in more.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    json!({"name": "envoy.filters.network.http_connection_manager", "typed_config": config})
}

fn local_reply_config() -> Value {
    let header = |name: &str, value: &str| json!({"header": {"key": name, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"});
    json!({"mappers": [{
        "filter": {"status_code_filter": {"comparison": {
            "op": "GE",
            "value": {"default_value": 0, "runtime_key": "oracle.never"},
        }}},
        "headers_to_add": [
            header("x-o-vhost", "%CEL(xds.virtual_host_name)%"),
            header("x-o-route", "%ROUTE_NAME%"),
            header("x-o-cluster", "%UPSTREAM_CLUSTER_RAW%"),
            header("x-o-flags", "%RESPONSE_FLAGS%"),
            header("x-o-details", "%RESPONSE_CODE_DETAILS%"),
            header("x-o-path", "%REQ(:PATH)%"),
            header("x-o-authority", "%REQ(:AUTHORITY)%"),
            header("x-o-added", "%REQ(X-ADDED)%"),
            header("x-o-rbac", "%DYNAMIC_METADATA(envoy.filters.http.rbac)%"),
        ],
    }]})
}

fn loopback() -> Value {
    json!({"socket_address": {"address": "127.0.0.1", "port_value": 0}})
}
