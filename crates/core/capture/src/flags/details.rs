//! `%RESPONSE_CODE_DETAILS%`: who ended the request, in Envoy's words.

/// One value, without its argument.
#[derive(Debug)]
pub struct ResponseDetail {
    /// As logs have it, up to `{`, `[` or `(`.
    pub name: &'static str,
    /// Flags that go with it.
    pub flags: &'static str,
    /// What it means.
    pub means: &'static str,
}

/// The value of that name; or else of the family that the name starts with, such as `http1.`.
pub fn detail(name: &str) -> Option<&'static ResponseDetail> {
    for detail in DETAILS {
        if detail.name == name {
            return Some(detail);
        }
    }
    for detail in DETAILS {
        let is_family = detail.name.ends_with(['.', '_']) && name.len() > detail.name.len();
        if is_family && name.starts_with(detail.name) {
            return Some(detail);
        }
    }
    None
}

const fn row(name: &'static str, flags: &'static str, means: &'static str) -> ResponseDetail {
    ResponseDetail { name, flags, means }
}

/// The values a mesh shows; others are kept as they are.
pub(super) static DETAILS: &[ResponseDetail] = &[
    row(
        "via_upstream",
        "-",
        "the status came from the next hop; this proxy only relays it",
    ),
    row(
        "direct_response",
        "-",
        "this proxy answered from its configuration: a redirect, a direct response, or 502 by block_all under REGISTRY_ONLY",
    ),
    row(
        "route_not_found",
        "NR",
        "no virtual host or route matches host and path",
    ),
    row(
        "filter_chain_not_found",
        "NR",
        "no filter chain of the listener matches the connection: plaintext to STRICT, or an SNI or ALPN that nobody serves",
    ),
    row(
        "cluster_not_found",
        "NC",
        "the route names a cluster that this proxy does not have",
    ),
    row(
        "no_healthy_upstream",
        "UH",
        "no host of the cluster could be picked",
    ),
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
    row(
        "upstream_per_try_timeout",
        "UT",
        "perTryTimeout ended on the last try",
    ),
    row(
        "upstream_per_try_idle_timeout",
        "UT",
        "a try was idle for too long",
    ),
    row(
        "upstream_max_stream_duration_reached",
        "UMSDR",
        "the cluster's limit for a stream's life",
    ),
    row(
        "max_duration_timeout",
        "-",
        "the route's or listener's limit for a stream's life",
    ),
    row("stream_idle_timeout", "SI", "nothing moved on the stream"),
    row(
        "request_overall_timeout",
        "-",
        "the request took too long to arrive (408)",
    ),
    row(
        "request_header_timeout",
        "-",
        "the request's headers took too long to arrive (408)",
    ),
    row(
        "duration_timeout",
        "DT",
        "the connection lived longer than allowed",
    ),
    row(
        "maintenance_mode",
        "UO",
        "the cluster is in maintenance mode",
    ),
    row(
        "drop_overload",
        "DO",
        "the control plane asked to drop a share",
    ),
    row(
        "unconditional_drop_overload",
        "UDO",
        "the control plane asked to drop all",
    ),
    row(
        "downstream_remote_disconnect",
        "DC",
        "the client closed its connection",
    ),
    row(
        "downstream_local_disconnect",
        "DC",
        "this proxy closed the client's connection; the argument says why",
    ),
    row("overload", "OM", "the overload manager shed the request"),
    row(
        "overload_error",
        "OM",
        "the overload manager closed the connection",
    ),
    row(
        "codec_error",
        "DPE",
        "the connection was closed because of broken bytes",
    ),
    row(
        "low_version",
        "DPE",
        "HTTP/1.0, which Envoy does not take unless told to (426)",
    ),
    row("missing_host_header", "-", "a request without Host (400)"),
    row(
        "path_normalization_failed",
        "-",
        "the path cannot be normalized, or holds escaped slashes that are refused",
    ),
    row(
        "upgrade_failed",
        "-",
        "an upgrade, such as WebSocket, that the route does not allow (403)",
    ),
    row(
        "request_payload_too_large",
        "-",
        "the body is over the limit (413)",
    ),
    row(
        "response_payload_too_large",
        "-",
        "the answer is over the limit (500)",
    ),
    row(
        "request_payload_exceeded_retry_buffer_limit",
        "-",
        "the body is too large to be kept for retries (507)",
    ),
    row(
        "request_headers_failed_strict_check",
        "IH",
        "an x-envoy header has a bad value",
    ),
    row(
        "internal_redirect",
        "-",
        "this proxy followed a redirect itself",
    ),
    row(
        "http1.codec_error",
        "DPE",
        "bytes that are no HTTP/1: TLS to a plaintext port, or another protocol",
    ),
    row(
        "http1.content_length_and_chunked_not_allowed",
        "DPE",
        "both Content-Length and chunks, which is a way to smuggle requests (400)",
    ),
    row(
        "http1.headers_too_large",
        "DPE",
        "headers over the limit (431)",
    ),
    row(
        "http2.invalid.header.field",
        "DPE",
        "a header that HTTP/2 does not allow",
    ),
    row(
        "http2.remote_reset",
        "DR DPE",
        "the client reset its stream; DPE when it did so because of a protocol error",
    ),
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
    row(
        "ext_authz_denied",
        "UAEX",
        "the external authorizer said no",
    ),
    row(
        "ext_authz_error",
        "UAEX",
        "the external authorizer could not be asked",
    ),
    row(
        "ext_authz_invalid",
        "UAEX",
        "the external authorizer's answer cannot be used",
    ),
    row("fault_filter_abort", "FI", "a VirtualService's fault.abort"),
    row(
        "request_rate_limited",
        "RL",
        "the rate limit service said no",
    ),
    row(
        "rate_limiter_error",
        "RLSE",
        "the rate limit service could not be asked",
    ),
    row(
        "local_rate_limited",
        "RL",
        "the local rate limit is used up",
    ),
    row(
        "cors_response",
        "-",
        "a CORS preflight that this proxy answered",
    ),
    row(
        "csrf_origin_mismatch",
        "-",
        "the CSRF filter refused the origin",
    ),
    row("lua_response", "-", "a Lua filter answered"),
    row("wasm_fail_stream", "-", "a Wasm filter failed"),
    row(
        "health_check_ok",
        "-",
        "the health_check filter answered that all is well",
    ),
    row("health_check_failed", "LH", "the health_check filter"),
    row(
        "cache.response_from_cache_filter",
        "RFCF",
        "from this proxy's cache",
    ),
    row(
        "dns_resolution_failure",
        "DF UH",
        "the host's name did not resolve",
    ),
    row(
        "early_connect_data",
        "-",
        "data came before the answer to a CONNECT",
    ),
    row(
        "rejecting_because_detection_failed",
        "-",
        "the client's real address could not be told, and such requests are refused",
    ),
    row(
        "too_many_premature_resets",
        "DPE",
        "the client opened and reset streams too often",
    ),
    row(
        "websocket_handshake_unsuccessful",
        "-",
        "the upstream did not accept the WebSocket",
    ),
    row(
        "missing_path_rejected",
        "-",
        "a request without a path (404)",
    ),
    row("invalid_path", "-", "a path that is not valid"),
    row(
        "absolute_path_rejected",
        "-",
        "a full URL in the place of a path (404)",
    ),
    row("admin_filter_response", "-", "the admin interface answered"),
    row(
        "filter_removed_required_request_headers",
        "-",
        "a filter took away a header that every request must have",
    ),
    row(
        "filter_removed_required_response_headers",
        "-",
        "a filter took away a header that every answer must have",
    ),
    row(
        "filter_added_invalid_request_data",
        "-",
        "a filter put something invalid into the request",
    ),
    row(
        "filter_added_invalid_response_data",
        "-",
        "a filter put something invalid into the answer",
    ),
    row(
        "rate_limited_by_quota",
        "RFCF",
        "the rate limit quota is used up (429)",
    ),
    row(
        "ext_proc_error",
        "-",
        "the external processor could not be asked",
    ),
    row(
        "ext_proc_local_response",
        "-",
        "the external processor answered",
    ),
    row(
        "health_check_cached",
        "-",
        "the health_check filter answered from its cache",
    ),
    row(
        "health_check_failed_no_cluster_found",
        "LH",
        "the health_check filter: a cluster that it looks at does not exist",
    ),
    row(
        "health_check_failed_cluster_empty",
        "LH",
        "the health_check filter: a cluster that it looks at has no host",
    ),
    row(
        "health_check_ok_cluster_healthy",
        "-",
        "the health_check filter: enough hosts are healthy",
    ),
    row(
        "health_check_failed_cluster_unhealthy",
        "LH",
        "the health_check filter: too few hosts are healthy",
    ),
    row("cache_no_route", "-", "the cache filter found no route"),
    row("cache_no_cluster", "-", "the cache filter found no cluster"),
    row(
        "cache_upstream_reset",
        "-",
        "the upstream broke off while the cache filter asked it",
    ),
    row(
        "dns_cache_overflow",
        "-",
        "the dynamic forward proxy's DNS cache is full",
    ),
    row(
        "dynamic_forward_proxy_pending_request_overflow",
        "-",
        "too many requests wait for a name to resolve",
    ),
    row(
        "sub_cluster_overflow",
        "-",
        "the dynamic forward proxy has too many clusters",
    ),
    row(
        "sub_cluster_warming_timeout",
        "-",
        "the dynamic forward proxy's cluster was not ready in time",
    ),
    row(
        "dynamic_forward_proxy_cluster_is_gone",
        "-",
        "the dynamic forward proxy's cluster was removed",
    ),
    row(
        "empty_host_header",
        "-",
        "the dynamic forward proxy needs a Host and got none",
    ),
    row(
        "reached_concurrency_limit",
        "-",
        "the adaptive concurrency filter shed the request",
    ),
    row(
        "denied_by_admission_control",
        "-",
        "the admission control filter shed the request",
    ),
    row(
        "no_credential_for_basic_auth",
        "-",
        "no user name and password (401)",
    ),
    row(
        "invalid_scheme_for_basic_auth",
        "-",
        "another scheme than Basic (401)",
    ),
    row(
        "invalid_format_for_basic_auth",
        "-",
        "a credential that cannot be read (401)",
    ),
    row(
        "invalid_credential_for_basic_auth",
        "-",
        "a wrong user name or password (401)",
    ),
    row("missing_api_key", "-", "no API key (401)"),
    row("unknown_api_key", "-", "an API key that is not known (401)"),
    row(
        "client_not_allowed",
        "-",
        "the API key's client may not use this route (403)",
    ),
    row(
        "grpc_base_64_decode_failed",
        "-",
        "gRPC-Web text that is no base64",
    ),
    row(
        "grpc_base_64_decode_failed_bad_size",
        "-",
        "gRPC-Web text of a wrong length",
    ),
    row(
        "grpc_json_transcode_failure",
        "-",
        "JSON that could not be turned into gRPC, or the reverse",
    ),
    row(
        "early_grpc_json_transcode_failure",
        "-",
        "JSON that could not be turned into gRPC",
    ),
    row(
        "grpc_json_reverse_transcode_failure",
        "-",
        "gRPC that could not be turned into JSON",
    ),
    row(
        "early_grpc_json_reverse_transcode_failure",
        "-",
        "gRPC that could not be turned into JSON",
    ),
    row(
        "failed_to_inject_credential",
        "-",
        "the credential injector has no credential (401)",
    ),
    row(
        "http1.",
        "DPE",
        "HTTP/1 that Envoy refuses; the rest of the name says which rule",
    ),
    row(
        "http2.",
        "DPE",
        "HTTP/2 that Envoy refuses; the rest of the name says which rule",
    ),
    row(
        "http3.",
        "DPE",
        "HTTP/3 that Envoy refuses; the rest of the name says which rule",
    ),
    row(
        "http.",
        "DPE",
        "HTTP that Envoy refuses; the rest of the name says which rule",
    ),
    row(
        "uhv.",
        "DPE",
        "a header that the universal header validator refuses; the rest of the name says which rule",
    ),
    row("grpc_bridge_", "-", "the gRPC bridge filter"),
    row("connect_bridge_", "-", "the Connect bridge filter"),
    row("file_server_", "-", "the file server filter answered"),
    row(
        "mcp_",
        "-",
        "a filter of the model context protocol answered",
    ),
    row(
        "a2a_",
        "-",
        "a filter of the agent-to-agent protocol answered",
    ),
];
