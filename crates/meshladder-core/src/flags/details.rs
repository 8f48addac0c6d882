//! `%RESPONSE_CODE_DETAILS%`: who ended the request, in Envoy's words.

/// One value, without its argument.
#[derive(Debug)]
pub struct Detail {
    /// As logs have it, up to `{`, `[` or `(`.
    pub name: &'static str,
    /// Flags that go with it.
    pub flags: &'static str,
    /// What it means.
    pub means: &'static str,
}

/// The value of that name.
pub fn detail(name: &str) -> Option<&'static Detail> {
    DETAILS.iter().find(|detail| detail.name == name)
}

const fn row(name: &'static str, flags: &'static str, means: &'static str) -> Detail {
    Detail { name, flags, means }
}

/// The values a mesh shows; others are kept as they are.
pub(super) static DETAILS: &[Detail] = &[
    row("via_upstream", "-", "the status came from the next hop; this proxy only relays it"),
    row(
        "direct_response",
        "-",
        "this proxy answered from its configuration: a redirect, a direct response, or 502 by block_all under REGISTRY_ONLY",
    ),
    row("route_not_found", "NR", "no virtual host or route matches host and path"),
    row(
        "filter_chain_not_found",
        "NR",
        "no filter chain of the listener matches the connection: plaintext to STRICT, or an SNI or ALPN that nobody serves",
    ),
    row("cluster_not_found", "NC", "the route names a cluster that this proxy does not have"),
    row("no_healthy_upstream", "UH", "no host of the cluster could be picked"),
    row(
        "upstream_reset_before_response_started",
        "UF UC UO UR UPE LR OM",
        "the way to the upstream broke before an answer; the argument says how",
    ),
    row(
        "upstream_reset_after_response_started",
        "UC UR UPE",
        "the upstream broke off in the middle of its answer; the status was already sent",
    ),
    row("response_timeout", "UT", "the route's timeout ended"),
    row("upstream_per_try_timeout", "UT", "perTryTimeout ended on the last try"),
    row("upstream_per_try_idle_timeout", "UT", "a try was idle for too long"),
    row("upstream_max_stream_duration_reached", "UMSDR", "the cluster's limit for a stream's life"),
    row("max_duration_timeout", "-", "the route's or listener's limit for a stream's life"),
    row("stream_idle_timeout", "SI", "nothing moved on the stream"),
    row("request_overall_timeout", "-", "the request took too long to arrive (408)"),
    row("request_header_timeout", "-", "the request's headers took too long to arrive (408)"),
    row("duration_timeout", "DT", "the connection lived longer than allowed"),
    row("maintenance_mode", "UO", "the cluster is in maintenance mode"),
    row("drop_overload", "DO", "the control plane asked to drop a share"),
    row("unconditional_drop_overload", "UDO", "the control plane asked to drop all"),
    row("downstream_remote_disconnect", "DC", "the client closed its connection"),
    row("downstream_local_disconnect", "DC", "this proxy closed the client's connection; the argument says why"),
    row("overload", "OM", "the overload manager shed the request"),
    row("overload_error", "OM", "the overload manager closed the connection"),
    row("codec_error", "DPE", "the connection was closed because of broken bytes"),
    row("low_version", "DPE", "HTTP/1.0, which Envoy does not take unless told to (426)"),
    row("missing_host_header", "-", "a request without Host (400)"),
    row("path_normalization_failed", "-", "the path cannot be normalized, or holds escaped slashes that are refused"),
    row("upgrade_failed", "-", "an upgrade, such as WebSocket, that the route does not allow (403)"),
    row("request_payload_too_large", "-", "the body is over the limit (413)"),
    row("response_payload_too_large", "-", "the answer is over the limit (500)"),
    row("request_payload_exceeded_retry_buffer_limit", "-", "the body is too large to be kept for retries (507)"),
    row("request_headers_failed_strict_check", "IH", "an x-envoy header has a bad value"),
    row("internal_redirect", "-", "this proxy followed a redirect itself"),
    row("http1.codec_error", "DPE", "bytes that are no HTTP/1: TLS to a plaintext port, or another protocol"),
    row(
        "http1.content_length_and_chunked_not_allowed",
        "DPE",
        "both Content-Length and chunks, which is a way to smuggle requests (400)",
    ),
    row("http1.headers_too_large", "DPE", "headers over the limit (431)"),
    row("http2.invalid.header.field", "DPE", "a header that HTTP/2 does not allow"),
    row("http2.remote_reset", "DR", "the client reset its stream"),
    row("http2.remote_refuse", "DR", "the client refused the stream"),
    row("http.invalid_authority", "DPE", "a Host that is not valid"),
    row(
        "rbac_access_denied_matched_policy",
        "-",
        "an AuthorizationPolicy refused it: the argument names the DENY rule, or `none` when no ALLOW rule matched (403)",
    ),
    row(
        "jwt_authn_access_denied",
        "-",
        "the token was refused, and the argument says why (401, or 403 for the audience)",
    ),
    row("ext_authz_denied", "UAEX", "the external authorizer said no"),
    row("ext_authz_error", "UAEX", "the external authorizer could not be asked"),
    row("ext_authz_invalid", "UAEX", "the external authorizer's answer cannot be used"),
    row("fault_filter_abort", "FI", "a VirtualService's fault.abort"),
    row("request_rate_limited", "RL", "the rate limit service said no"),
    row("rate_limiter_error", "RLSE", "the rate limit service could not be asked"),
    row("local_rate_limited", "RL", "the local rate limit is used up"),
    row("cors_response", "-", "a CORS preflight that this proxy answered"),
    row("csrf_origin_mismatch", "-", "the CSRF filter refused the origin"),
    row("lua_response", "-", "a Lua filter answered"),
    row("wasm_fail_stream", "-", "a Wasm filter failed"),
    row("health_check_ok", "-", "the health_check filter answered that all is well"),
    row("health_check_failed", "LH", "the health_check filter"),
    row("cache.response_from_cache_filter", "RFCF", "from this proxy's cache"),
    row("dns_resolution_failure", "DF UH", "the host's name did not resolve"),
];
