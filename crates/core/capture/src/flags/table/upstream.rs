//! Flags about the way to the upstream.

use super::{BARE, Flag, cause, cause_at};

pub(super) static FLAGS: &[Flag] = &[
    Flag {
        code: "UH",
        long: "NoHealthyUpstream",
        status: "503",
        details: &["no_healthy_upstream"],
        set_by: "the router or tcp_proxy, when it can pick no host of the cluster",
        means: "no host of the cluster could be picked: there is none, or none is usable",
        at_client: "the Service or subset has no usable endpoint as this proxy sees it",
        at_server: "the inbound cluster is empty, which is rare",
        at_gateway: "as at a client",
        causes: &[
            cause(
                "no pod is selected or ready: Service selector, subset labels, replicas 0, failing readiness",
                "meshladder why --from CLIENT --to URL --seen 503/UH",
            ),
            cause(
                "outlier detection has ejected every host, and Istio's panic threshold is 0",
                "meshladder pc endpoint CLIENT --cluster CLUSTER",
            ),
            cause(
                "TCP to an address that nothing declares, under REGISTRY_ONLY (cluster BlackHoleCluster)",
                "meshladder trace --from CLIENT --to tcp://HOST:PORT",
            ),
        ],
        not: "it is neither a refused connection (UF) nor an open circuit breaker (UO); for gRPC the status is 200 with grpc-status 14",
        ..BARE
    },
    Flag {
        code: "UT",
        long: "UpstreamRequestTimeout",
        status: "504",
        details: &[
            "response_timeout",
            "upstream_per_try_timeout",
            "upstream_per_try_idle_timeout",
        ],
        set_by: "the router, when the route's timeout or a try's timeout ends",
        means: "the answer took longer than the route allows",
        at_client: "the VirtualService's timeout, or perTryTimeout, ended before the server answered; the server's log has DC for the same request",
        at_gateway: "as at a client",
        causes: &[
            cause(
                "a VirtualService timeout that is shorter than the work",
                "meshladder why --from CLIENT --to URL --seen 504/UT",
            ),
            cause(
                "the application became slow",
                "kubectl logs SERVER -c istio-proxy | meshladder logs - --flag DC",
            ),
        ],
        not: "a stream without any traffic is SI; a client that gives up is DC",
        ..BARE
    },
    Flag {
        code: "LR",
        long: "LocalReset",
        status: "503",
        details: &["upstream_reset_before_response_started{local_reset}"],
        set_by: "the router, when this proxy itself reset the stream to the upstream",
        means: "this proxy reset the stream to the upstream",
        at_client: "rare; look at the proxy's own log around that time",
        at_server: "rare; look at the proxy's own log around that time",
        causes: &[cause(
            "the proxy was draining or ran into a limit of its own",
            "kubectl logs POD -c istio-proxy",
        )],
        ..BARE
    },
    Flag {
        code: "UR",
        long: "UpstreamRemoteReset",
        status: "503",
        details: &[
            "upstream_reset_before_response_started{remote_reset}",
            "upstream_reset_before_response_started{remote_refused_stream_reset}",
        ],
        set_by: "the router, when the upstream reset the stream; tcp_proxy, when it sent RST",
        means: "the upstream reset the stream",
        at_client: "the server's proxy, or an HTTP/2 server, reset the stream",
        at_server: "the application reset the stream: it cancelled, or was at its limit of streams",
        causes: &[
            cause(
                "an HTTP/2 or gRPC server that resets streams: shutting down, or at its limit of concurrent streams",
                "kubectl logs SERVER",
            ),
            cause("a TCP server that crashed", "kubectl describe pod SERVER"),
        ],
        ..BARE
    },
    Flag {
        code: "UF",
        long: "UpstreamConnectionFailure",
        status: "503",
        details: &[
            "upstream_reset_before_response_started{remote_connection_failure|REASON}",
            "upstream_reset_before_response_started{connection_timeout}",
        ],
        set_by: "the router or tcp_proxy, when a connection to the picked host could not be made",
        means: "the connection to the upstream could not be made",
        at_client: "the other pod cannot be reached, or the TLS handshake failed: the transport failure reason tells which",
        at_server: "the application does not listen on that port, or only on another address",
        at_gateway: "as at a client",
        causes: &[
            cause_at(
                &["server"],
                "at the server: nothing listens on the port, or the application binds 127.0.0.1",
                "kubectl exec POD -- ss -ltn",
            ),
            cause_at(
                &["client", "gateway"],
                "the two ends disagree on mTLS: a DestinationRule against the server's PeerAuthentication",
                "meshladder why --from CLIENT --to URL --seen 503/UF",
            ),
            cause_at(
                &["client", "gateway"],
                "a NetworkPolicy drops the packets (connection_timeout)",
                "kubectl get networkpolicy -A",
            ),
            cause_at(
                &["client", "gateway"],
                "an endpoint whose pod is gone",
                "meshladder check -n NAMESPACE",
            ),
        ],
        not: "no host at all is UH; a connection that was made and then closed is UC",
        ..BARE
    },
    Flag {
        code: "UC",
        long: "UpstreamConnectionTermination",
        status: "503 (200 late)",
        details: &["upstream_reset_before_response_started{connection_termination}"],
        set_by: "the router, when an established connection was closed with a request open",
        means: "the upstream closed an established connection before it answered",
        at_client: "the server's proxy closed it: most often plaintext sent to a STRICT server",
        at_server: "the application closed it: a crash, or a keep-alive shorter than the proxy's idle timeout",
        at_gateway: "as at a client",
        causes: &[
            cause_at(
                &["client", "gateway"],
                "plaintext to a server under STRICT mTLS: its log has 0 NR filter_chain_not_found",
                "meshladder why --from CLIENT --to URL --seen 503/UC",
            ),
            cause(
                "the application's keep-alive is shorter than the proxy's idle timeout (rare errors at low traffic)",
                "kubectl logs SERVER -c istio-proxy | meshladder logs - --flag UC",
            ),
            cause(
                "the application closes the connection or crashes",
                "kubectl logs SERVER --previous",
            ),
        ],
        not: "a connection that was never made is UF",
        ..BARE
    },
    Flag {
        code: "UO",
        long: "UpstreamOverflow",
        status: "503",
        details: &[
            "upstream_reset_before_response_started{overflow}",
            "maintenance_mode",
        ],
        set_by: "the router or tcp_proxy, when a limit of the cluster's circuit breaker is reached",
        means: "a limit of the circuit breaker towards the upstream is reached; the upstream never sees the request",
        at_client: "connectionPool of a DestinationRule: maxConnections, http1MaxPendingRequests, http2MaxRequests, maxRetries",
        at_gateway: "as at a client",
        causes: &[cause(
            "limits in a DestinationRule's connectionPool that are below the traffic",
            "meshladder pc cluster CLIENT --fqdn HOST -o json",
        )],
        not: "it is no rate limit (RL, 429); with details via_upstream only a retry was refused",
        ..BARE
    },
    Flag {
        code: "URX",
        long: "UpstreamRetryLimitExceeded",
        since: "1.14",
        status: "the last try's",
        details: &["via_upstream"],
        set_by: "the router's retry limit; tcp_proxy's max_connect_attempts; the network local rate limit",
        means: "every try failed, and no more are allowed",
        at_client: "with via_upstream: the application answered with an error each time; with UF, UC or UT: each try failed that way",
        at_gateway: "as at a client",
        causes: &[
            cause(
                "the application answers 5xx to every try",
                "kubectl logs SERVER -c istio-proxy | meshladder logs - --code 503",
            ),
            cause(
                "with another flag: that flag's causes; a call costs 1 + retries requests",
                "meshladder flags UF UC UT",
            ),
        ],
        not: "it is a companion, never a cause of its own",
        ..BARE
    },
    Flag {
        code: "UMSDR",
        long: "UpstreamMaxStreamDurationReached",
        since: "1.16",
        status: "504 (408 while the request is unfinished)",
        details: &["upstream_max_stream_duration_reached"],
        set_by: "the router, for the cluster's max_stream_duration only",
        means: "the stream to the upstream lived longer than the cluster allows",
        at_client: "an EnvoyFilter sets it; Istio itself does not",
        causes: &[cause(
            "an EnvoyFilter: Istio by itself does not use it",
            "kubectl get envoyfilter -A -o yaml",
        )],
        not: "the route's and listener's limits set no flag: details max_duration_timeout",
        ..BARE
    },
    Flag {
        code: "UPE",
        long: "UpstreamProtocolError",
        since: "1.18",
        status: "502 (200 late)",
        details: &["upstream_reset_before_response_started{protocol_error}"],
        set_by: "the router, when the upstream breaks the protocol",
        means: "the upstream does not speak the protocol that the port is declared to have",
        at_client: "rare: the server's proxy broke the protocol",
        at_server: "the port is named http2 or grpc and the application speaks HTTP/1.1, or the other way round",
        causes: &[cause(
            "the Service's port name or appProtocol does not fit the application",
            "meshladder why --from CLIENT --to URL --seen 502",
        )],
        ..BARE
    },
    Flag {
        code: "NC",
        long: "NoClusterFound",
        since: "1.18",
        status: "503",
        details: &["cluster_not_found"],
        set_by: "the router or tcp_proxy, when the route names a cluster that does not exist",
        means: "the route leads to a cluster that this proxy does not have",
        at_client: "a VirtualService names a host, subset or port that no Service or DestinationRule provides",
        at_gateway: "as at a client",
        causes: &[
            cause(
                "a subset that no DestinationRule defines",
                "meshladder why --from CLIENT --to URL --seen 503/NC",
            ),
            cause(
                "a destination host that does not exist, or is not exported to the client",
                "meshladder check virtualservice/NAME -n NAMESPACE",
            ),
        ],
        not: "a subset that is defined and selects nobody is UH",
        ..BARE
    },
    Flag {
        code: "DO",
        long: "DropOverload",
        since: "1.30",
        status: "503",
        details: &["drop_overload"],
        set_by: "the router, for drop_overloads of EDS between 0 and 100 %",
        means: "the control plane asked to drop a share of the requests",
        at_client: "not made by Istio",
        causes: &[cause(
            "a control plane that asks for drop_overloads: Istio's does not",
            "meshladder pc eds CLIENT -o json",
        )],
        ..BARE
    },
    Flag {
        code: "UDO",
        long: "UnconditionalDropOverload",
        since: "1.34",
        status: "503",
        details: &["unconditional_drop_overload"],
        set_by: "the router, for drop_overloads of EDS of 100 %",
        means: "the control plane asked to drop all requests",
        at_client: "not made by Istio",
        causes: &[cause(
            "a control plane that asks for drop_overloads: Istio's does not",
            "meshladder pc eds CLIENT -o json",
        )],
        ..BARE
    },
];
