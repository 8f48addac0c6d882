//! What is known of each type of filter.

/// What a filter may do to a request, told by the type of its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpFilterKind {
    /// `envoy.filters.http.rbac`
    Rbac,
    /// `envoy.filters.http.jwt_authn`
    JwtAuthn,
    /// `envoy.filters.http.fault`
    Fault,
    /// `envoy.filters.http.cors`
    Cors,
    /// `envoy.filters.http.local_ratelimit`
    LocalRateLimit,
    /// `envoy.filters.http.ext_authz`
    ExtAuthz,
    /// `envoy.filters.http.header_mutation`
    HeaderMutation,
    /// `envoy.filters.http.set_filter_state`
    SetFilterState,
    /// Never answers, never stops, and writes nothing that others look at.
    Harmless,
    /// Never answers, never stops, but writes metadata.
    WritesMetadata,
    /// `envoy.filters.http.router`
    Router,
    /// Anything else.
    Unmodelled,
}

/// Types by the end of their name: Istio's own have moved between packages.
const KINDS: &[(&str, HttpFilterKind)] = &[
    ("filters.http.rbac.v3.RBAC", HttpFilterKind::Rbac),
    (
        "filters.http.jwt_authn.v3.JwtAuthentication",
        HttpFilterKind::JwtAuthn,
    ),
    ("filters.http.fault.v3.HTTPFault", HttpFilterKind::Fault),
    ("filters.http.cors.v3.Cors", HttpFilterKind::Cors),
    (
        "filters.http.local_ratelimit.v3.LocalRateLimit",
        HttpFilterKind::LocalRateLimit,
    ),
    (
        "filters.http.ext_authz.v3.ExtAuthz",
        HttpFilterKind::ExtAuthz,
    ),
    (
        "filters.http.header_mutation.v3.HeaderMutation",
        HttpFilterKind::HeaderMutation,
    ),
    (
        "filters.http.set_filter_state.v3.Config",
        HttpFilterKind::SetFilterState,
    ),
    ("filters.http.router.v3.Router", HttpFilterKind::Router),
    // Envoy's that look at answers, count, or change bodies.
    (
        "filters.http.alternate_protocols_cache.v3.FilterConfig",
        HttpFilterKind::Harmless,
    ),
    (
        "filters.http.bandwidth_limit.v3.BandwidthLimit",
        HttpFilterKind::Harmless,
    ),
    ("filters.http.buffer.v3.Buffer", HttpFilterKind::Harmless),
    (
        "filters.http.compressor.v3.Compressor",
        HttpFilterKind::Harmless,
    ),
    (
        "filters.http.connect_grpc_bridge.v3.FilterConfig",
        HttpFilterKind::Harmless,
    ),
    (
        "filters.http.decompressor.v3.Decompressor",
        HttpFilterKind::Harmless,
    ),
    (
        "filters.http.grpc_http1_bridge.v3.Config",
        HttpFilterKind::Harmless,
    ),
    (
        "filters.http.grpc_stats.v3.FilterConfig",
        HttpFilterKind::Harmless,
    ),
    ("filters.http.grpc_web.v3.GrpcWeb", HttpFilterKind::Harmless),
    (
        "filters.http.on_demand.v3.OnDemand",
        HttpFilterKind::Harmless,
    ),
    (
        "filters.http.original_src.v3.OriginalSrc",
        HttpFilterKind::Harmless,
    ),
    (
        "filters.http.stateful_session.v3.StatefulSession",
        HttpFilterKind::Harmless,
    ),
    ("filters.http.tap.v3.Tap", HttpFilterKind::Harmless),
    // Istio's: protocol for the next hop, metrics, who the peer is.
    (
        "filter.http.alpn.v2alpha1.FilterConfig",
        HttpFilterKind::Harmless,
    ),
    ("istio.http.peer_metadata.Config", HttpFilterKind::Harmless),
    (
        "istio.http.peer_metadata.v1.Config",
        HttpFilterKind::Harmless,
    ),
    ("stats.PluginConfig", HttpFilterKind::Harmless),
    ("istio_stats.v1.PluginConfig", HttpFilterKind::Harmless),
    ("http.istio_stats.v3.PluginConfig", HttpFilterKind::Harmless),
    ("http.peer_metadata.v3.Config", HttpFilterKind::Harmless),
    ("http.alpn.v3.FilterConfig", HttpFilterKind::Harmless),
    // They write into the metadata, from the request or as configured.
    (
        "filters.http.header_to_metadata.v3.Config",
        HttpFilterKind::WritesMetadata,
    ),
    (
        "filters.http.json_to_metadata.v3.JsonToMetadata",
        HttpFilterKind::WritesMetadata,
    ),
    (
        "filters.http.set_metadata.v3.Config",
        HttpFilterKind::WritesMetadata,
    ),
    (
        "filter.http.authn.v2alpha1.FilterConfig",
        HttpFilterKind::WritesMetadata,
    ),
];

impl HttpFilterKind {
    /// The kind of a message by its name.
    pub fn of(type_url: &str) -> Self {
        for (name, kind) in KINDS {
            let Some(package) = type_url.strip_suffix(name) else {
                continue;
            };
            // The end of a longer word is another message.
            if package.is_empty() || package.ends_with('.') {
                return *kind;
            }
        }
        Self::Unmodelled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_whole_names() {
        for (name, kind) in [
            (
                "envoy.extensions.filters.http.rbac.v3.RBAC",
                HttpFilterKind::Rbac,
            ),
            ("stats.PluginConfig", HttpFilterKind::Harmless),
            (
                "istio.envoy.config.filter.http.alpn.v2alpha1.FilterConfig",
                HttpFilterKind::Harmless,
            ),
            (
                "io.istio.http.peer_metadata.Config",
                HttpFilterKind::Harmless,
            ),
            ("my.otherstats.PluginConfig", HttpFilterKind::Unmodelled),
            (
                "envoy.extensions.filters.http.wasm.v3.Wasm",
                HttpFilterKind::Unmodelled,
            ),
            (
                "envoy.extensions.filters.http.lua.v3.Lua",
                HttpFilterKind::Unmodelled,
            ),
        ] {
            assert_eq!(HttpFilterKind::of(name), kind, "{name}");
        }
    }
}
