//! What is known of each type of filter.

/// What a filter may do to a request, told by the type of its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
const KINDS: &[(&str, Kind)] = &[
    ("filters.http.rbac.v3.RBAC", Kind::Rbac),
    (
        "filters.http.jwt_authn.v3.JwtAuthentication",
        Kind::JwtAuthn,
    ),
    ("filters.http.fault.v3.HTTPFault", Kind::Fault),
    ("filters.http.cors.v3.Cors", Kind::Cors),
    (
        "filters.http.local_ratelimit.v3.LocalRateLimit",
        Kind::LocalRateLimit,
    ),
    ("filters.http.ext_authz.v3.ExtAuthz", Kind::ExtAuthz),
    (
        "filters.http.header_mutation.v3.HeaderMutation",
        Kind::HeaderMutation,
    ),
    (
        "filters.http.set_filter_state.v3.Config",
        Kind::SetFilterState,
    ),
    ("filters.http.router.v3.Router", Kind::Router),
    // Envoy's that look at answers, count, or change bodies.
    (
        "filters.http.alternate_protocols_cache.v3.FilterConfig",
        Kind::Harmless,
    ),
    (
        "filters.http.bandwidth_limit.v3.BandwidthLimit",
        Kind::Harmless,
    ),
    ("filters.http.buffer.v3.Buffer", Kind::Harmless),
    ("filters.http.compressor.v3.Compressor", Kind::Harmless),
    (
        "filters.http.connect_grpc_bridge.v3.FilterConfig",
        Kind::Harmless,
    ),
    ("filters.http.decompressor.v3.Decompressor", Kind::Harmless),
    ("filters.http.grpc_http1_bridge.v3.Config", Kind::Harmless),
    ("filters.http.grpc_stats.v3.FilterConfig", Kind::Harmless),
    ("filters.http.grpc_web.v3.GrpcWeb", Kind::Harmless),
    ("filters.http.on_demand.v3.OnDemand", Kind::Harmless),
    ("filters.http.original_src.v3.OriginalSrc", Kind::Harmless),
    (
        "filters.http.stateful_session.v3.StatefulSession",
        Kind::Harmless,
    ),
    ("filters.http.tap.v3.Tap", Kind::Harmless),
    // Istio's: protocol for the next hop, metrics, who the peer is.
    ("filter.http.alpn.v2alpha1.FilterConfig", Kind::Harmless),
    ("istio.http.peer_metadata.Config", Kind::Harmless),
    ("istio.http.peer_metadata.v1.Config", Kind::Harmless),
    ("stats.PluginConfig", Kind::Harmless),
    ("istio_stats.v1.PluginConfig", Kind::Harmless),
    ("http.istio_stats.v3.PluginConfig", Kind::Harmless),
    ("http.peer_metadata.v3.Config", Kind::Harmless),
    ("http.alpn.v3.FilterConfig", Kind::Harmless),
    // They write into the metadata, from the request or as configured.
    (
        "filters.http.header_to_metadata.v3.Config",
        Kind::WritesMetadata,
    ),
    (
        "filters.http.json_to_metadata.v3.JsonToMetadata",
        Kind::WritesMetadata,
    ),
    ("filters.http.set_metadata.v3.Config", Kind::WritesMetadata),
    (
        "filter.http.authn.v2alpha1.FilterConfig",
        Kind::WritesMetadata,
    ),
];

impl Kind {
    /// The kind of a message by its name.
    pub fn of(type_url: &str) -> Self {
        let named = |(name, _): &&(&str, Self)| {
            type_url
                .strip_suffix(name)
                .is_some_and(|package| package.is_empty() || package.ends_with('.'))
        };
        KINDS
            .iter()
            .find(named)
            .map_or(Self::Unmodelled, |(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_whole_names() {
        for (name, kind) in [
            ("envoy.extensions.filters.http.rbac.v3.RBAC", Kind::Rbac),
            ("stats.PluginConfig", Kind::Harmless),
            (
                "istio.envoy.config.filter.http.alpn.v2alpha1.FilterConfig",
                Kind::Harmless,
            ),
            ("io.istio.http.peer_metadata.Config", Kind::Harmless),
            ("my.otherstats.PluginConfig", Kind::Unmodelled),
            (
                "envoy.extensions.filters.http.wasm.v3.Wasm",
                Kind::Unmodelled,
            ),
            ("envoy.extensions.filters.http.lua.v3.Lua", Kind::Unmodelled),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }
}
