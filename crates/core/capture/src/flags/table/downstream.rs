//! Flags about the client and its request.

use super::{BARE, Flag, cause, cause_at};

pub(super) static FLAGS: &[Flag] = &[
    Flag {
        code: "NR",
        long: "NoRouteFound",
        status: "404; 0 at a listener",
        details: &["route_not_found", "filter_chain_not_found"],
        set_by: "the router, when no route matches; the listener, when no filter chain does",
        means: "nothing in the configuration takes this request or connection",
        at_client: "no virtual host or route matches host and path",
        at_server: "with code 0: no filter chain, most often plaintext to a STRICT server; with 404: no inbound route",
        at_gateway: "the host is in no VirtualService bound to the Gateway, or the path matches no rule; with code 0: no server for that SNI",
        causes: &[
            cause_at(
                &["client", "gateway"],
                "at a gateway: the Host header is in no VirtualService, or the VirtualService is not bound",
                "meshladder why --from outside --to URL --seen 404/NR",
            ),
            cause_at(
                &["server"],
                "at a server with code 0: a client without a proxy, or a DestinationRule that disables TLS, against STRICT",
                "meshladder why --from CLIENT --to URL --seen 0",
            ),
        ],
        not: "REGISTRY_ONLY answers 502 with flag - and route block_all, not NR",
        ..BARE
    },
    Flag {
        code: "DC",
        long: "DownstreamConnectionTermination",
        status: "0",
        details: &[
            "downstream_remote_disconnect",
            "downstream_local_disconnect",
        ],
        set_by: "the connection manager, when the client's connection closes with a request open",
        means: "the client closed its connection before it had an answer",
        at_client: "the application gave up",
        at_server: "the caller gave up, or the caller's proxy timed out: look for UT there with the same request id",
        at_gateway: "the user or a load balancer in front gave up",
        causes: &[
            cause(
                "the client's timeout is shorter than the work",
                "kubectl logs POD -c istio-proxy | meshladder logs - --flag DC",
            ),
            cause(
                "a load balancer's idle timeout",
                "kubectl logs GATEWAY -c istio-proxy | meshladder logs - --flag DC",
            ),
        ],
        not: "it is no error of the mesh: leave it out of error rates; status 0 means that no answer was started",
        ..BARE
    },
    Flag {
        code: "DR",
        long: "DownstreamRemoteReset",
        since: "1.30",
        status: "0",
        details: &["http2.remote_reset", "http2.remote_refuse"],
        set_by: "the connection manager, when the client sends RST_STREAM",
        means: "the client reset its HTTP/2 or HTTP/3 stream",
        at_client: "a gRPC client cancelled, or its deadline ended",
        at_server: "the caller cancelled",
        at_gateway: "the user cancelled",
        causes: &[cause(
            "a gRPC deadline that is shorter than the work",
            "kubectl logs POD -c istio-proxy | meshladder logs - --flag DR",
        )],
        not: "before Envoy 1.30 this was DC; leave it out of error rates as well",
    },
    Flag {
        code: "DPE",
        long: "DownstreamProtocolError",
        since: "1.14",
        status: "400, 426, 431 or 0",
        details: &["http1.codec_error", "http.invalid_authority", "low_version"],
        set_by: "the connection manager, when the client's bytes are not the HTTP it expects",
        means: "the client does not speak HTTP as this listener expects it",
        at_client: "the application sends something else to a port that is declared http",
        at_server: "the client's proxy sends TLS to a port where this one expects plaintext, or another protocol",
        at_gateway: "an HTTP/1.0 client (426, low_version), TLS to a plaintext port, headers too large (431)",
        causes: &[
            cause(
                "HTTP/1.0 clients such as old health checkers",
                "meshladder why --from outside --to URL --http 1.0 --seen 426/DPE",
            ),
            cause(
                "a DestinationRule that forces TLS on a server whose PeerAuthentication disables it",
                "meshladder why --from CLIENT --to URL --seen 503/UF",
            ),
            cause(
                "a port named http that carries another protocol",
                "kubectl get service NAME -o yaml",
            ),
        ],
        ..BARE
    },
    Flag {
        code: "IH",
        long: "InvalidEnvoyRequestHeaders",
        since: "1.14",
        status: "400",
        details: &["request_headers_failed_strict_check"],
        set_by: "the router's strict_check_headers",
        means: "an x-envoy header of an internal request has a bad value",
        at_client: "not used by Istio unless an EnvoyFilter asks for it",
        causes: &[cause(
            "an EnvoyFilter: Istio by itself does not use it",
            "kubectl get envoyfilter -A -o yaml",
        )],
        ..BARE
    },
    Flag {
        code: "SI",
        long: "StreamIdleTimeout",
        since: "1.14",
        status: "504 (408 while the request is unfinished)",
        details: &["stream_idle_timeout"],
        set_by: "the connection manager's or route's idle timeout of a stream",
        means: "nothing moved on the stream for longer than allowed",
        at_client: "an EnvoyFilter sets it: Istio's own listeners have no such timeout",
        at_gateway: "as at a client",
        causes: &[cause(
            "an EnvoyFilter: Istio by itself does not use it",
            "kubectl get envoyfilter -A -o yaml",
        )],
        not: "a try's idle timeout is UT",
        ..BARE
    },
    Flag {
        code: "DT",
        long: "DurationTimeout",
        since: "1.16",
        status: "0 (TCP)",
        details: &["duration_timeout"],
        set_by: "tcp_proxy's max_downstream_connection_duration",
        means: "the connection lived longer than allowed",
        at_client: "tcp.maxConnectionDuration of a DestinationRule",
        causes: &[cause(
            "maxConnectionDuration in a DestinationRule",
            "kubectl get destinationrule -A -o yaml",
        )],
        ..BARE
    },
];
