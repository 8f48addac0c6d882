//! Flags of filters and of the proxy itself.

use super::{BARE, Flag, cause};

pub(super) static FLAGS: &[Flag] = &[
    Flag {
        code: "LH",
        long: "FailedLocalHealthCheck",
        status: "503",
        details: &["health_check_failed"],
        set_by: "the health_check filter, after healthcheck/fail or a failing check",
        means: "this proxy was told to fail its health check",
        at_server: "not used by Istio; an EnvoyFilter put the filter there",
        causes: &[cause(
            "an EnvoyFilter: Istio by itself does not use it",
            "kubectl get envoyfilter -A -o yaml",
        )],
        ..BARE
    },
    Flag {
        code: "DI",
        long: "DelayInjected",
        status: "the real one",
        details: &["via_upstream"],
        set_by: "the fault filter",
        means: "a delay was injected on purpose",
        at_client: "fault.delay of a VirtualService",
        at_gateway: "as at a client",
        causes: &[cause(
            "a fault in a VirtualService that was left on",
            "meshladder why --from CLIENT --to URL",
        )],
        ..BARE
    },
    Flag {
        code: "FI",
        long: "FaultInjected",
        status: "as configured",
        details: &["fault_filter_abort"],
        set_by: "the fault filter",
        means: "the request was aborted on purpose",
        at_client: "fault.abort of a VirtualService; the server never sees the request",
        at_gateway: "as at a client",
        causes: &[cause(
            "a fault in a VirtualService that was left on",
            "meshladder why --from CLIENT --to URL --seen 503/FI",
        )],
        ..BARE
    },
    Flag {
        code: "RL",
        long: "RateLimited",
        status: "429",
        details: &["request_rate_limited", "local_rate_limited"],
        set_by: "the rate limit filters, global and local",
        means: "a rate limit refused the request",
        at_client: "an EnvoyFilter limits outbound calls",
        at_server: "an EnvoyFilter limits this workload",
        at_gateway: "an EnvoyFilter limits the gateway",
        causes: &[cause(
            "a rate limit in an EnvoyFilter",
            "kubectl get envoyfilter -A -o yaml",
        )],
        not: "it is never the circuit breaker (UO, 503)",
        ..BARE
    },
    Flag {
        code: "UAEX",
        long: "UnauthorizedExternalService",
        status: "403, 401 or what the service says",
        details: &["ext_authz_denied", "ext_authz_error"],
        set_by: "the ext_authz filter",
        means: "the external authorizer refused the request, or could not be asked",
        at_server: "an AuthorizationPolicy with action CUSTOM: ext_authz_denied is its answer, ext_authz_error means it could not be asked",
        at_gateway: "as at a server",
        causes: &[
            cause("the authorizer says no", "kubectl logs AUTHORIZER"),
            cause(
                "the authorizer cannot be reached, and the filter fails closed",
                "meshladder why --from CLIENT --to URL --seen 403",
            ),
        ],
        not: "an ALLOW or DENY AuthorizationPolicy is 403 with flag - and details rbac_access_denied_matched_policy[…]",
        ..BARE
    },
    Flag {
        code: "RLSE",
        long: "RateLimitServiceError",
        status: "500",
        details: &["rate_limiter_error"],
        set_by: "the rate limit filter with failure_mode_deny",
        means: "the rate limit service could not be asked, and the filter fails closed",
        at_server: "the rate limit service is down or unreachable",
        at_gateway: "as at a server",
        causes: &[cause(
            "the rate limit service has no endpoints",
            "meshladder pc endpoint POD --cluster CLUSTER",
        )],
        ..BARE
    },
    Flag {
        code: "RFCF",
        long: "ResponseFromCacheFilter",
        since: "1.16",
        status: "200",
        details: &["cache.response_from_cache_filter"],
        set_by: "the cache filters; also a rate limit quota's refusal",
        means: "the answer came from this proxy's cache",
        at_gateway: "not used by Istio",
        causes: &[cause(
            "an EnvoyFilter: Istio by itself does not use it",
            "kubectl get envoyfilter -A -o yaml",
        )],
        ..BARE
    },
    Flag {
        code: "NFCF",
        long: "NoFilterConfigFound",
        since: "1.16",
        status: "500",
        set_by: "the placeholder of a filter whose configuration has not come",
        means: "a filter's configuration was never delivered",
        at_server: "a WasmPlugin's module or configuration did not arrive",
        at_gateway: "as at a server",
        causes: &[cause(
            "a WasmPlugin whose image cannot be fetched",
            "meshladder pc ecds POD",
        )],
        ..BARE
    },
    Flag {
        code: "OM",
        long: "OverloadManagerTerminated",
        since: "1.20",
        status: "503 or 0",
        details: &["overload", "overload_error"],
        set_by: "the overload manager",
        means: "this proxy shed load to save itself",
        at_client: "the proxy is short of memory or connections",
        at_server: "the proxy is short of memory or connections",
        at_gateway: "the gateway is short of memory or connections",
        causes: &[cause(
            "the proxy is near its memory limit",
            "kubectl top pod POD --containers",
        )],
        ..BARE
    },
    Flag {
        code: "DF",
        long: "DnsResolutionFailed",
        since: "1.22",
        status: "503",
        details: &["dns_resolution_failure"],
        set_by: "the dynamic_forward_proxy filter",
        means: "the host's name did not resolve",
        at_client: "a ServiceEntry with resolution DYNAMIC_DNS whose host does not exist",
        at_gateway: "as at a client",
        causes: &[cause(
            "the name does not exist, or DNS cannot be reached",
            "kubectl exec POD -- nslookup HOST",
        )],
        not: "Envoy 1.40 shows the same failure as UH",
        ..BARE
    },
];
