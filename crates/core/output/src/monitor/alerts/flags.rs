//! Alerts on response flags, and on what they cost against an objective.

use super::{Alert, When};

/// One a class.
pub(super) static ALERTS: &[Alert] = &[
    Alert {
        name: "MeshNoRoute",
        when: When::Holds(
            "meshladder:unrouted_requests:rate5m / meshladder:caller_requests:rate5m > 0.1 and meshladder:unrouted_requests:rate5m > 0.05",
        ),
        hold: "10m",
        severity: "warning",
        summary: "SHARE of the requests of CALLER find no route (NR, NC)",
        description: "Its proxy has no route for them, or a route to a cluster that it does not have",
        means: "NR: no virtual host or route of the proxy matches host and path. NC: a route leads to a cluster that the proxy does not have, such as a subset that no DestinationRule defines. Such a request has no destination, so it is counted for who could not send it on. A gateway that is scanned from outside always has some",
        look: &[
            "meshladder flags --prometheus URL --by destination",
            "meshladder why --from CLIENT --to URL --seen 404/NR",
            "meshladder check -n NAMESPACE",
        ],
    },
    Alert {
        name: "MeshNoHealthyUpstream",
        when: When::Class {
            id: "no_healthy_upstream",
            share: "0.01",
        },
        hold: "2m",
        severity: "critical",
        summary: "SHARE of requests to SERVICE find no healthy endpoint (UH)",
        description: "The proxy on the REPORTER's side could pick no host: there is none, or all are ejected or not ready",
        means: "UH: the cluster has no host that may be picked. No pod is selected or ready, a subset matches no pod, outlier detection ejected every host, or the proxy has old endpoints. It is neither a refused connection (UF) nor an open circuit breaker (UO)",
        look: &[
            "meshladder why --from CLIENT --to URL --seen 503/UH",
            "meshladder pc endpoint CLIENT -o wide",
        ],
    },
    Alert {
        name: "MeshConnectionFailures",
        when: When::Class {
            id: "connection_failure",
            share: "0.01",
        },
        hold: "5m",
        severity: "warning",
        summary: "SHARE of requests to SERVICE lose their connection (UF, UC, UR, LR, UPE)",
        description: "The proxy on the REPORTER's side could not connect, or the connection ended before the answer",
        means: "On the source's side: the peer cannot be reached, or the TLS handshake fails. On the destination's side: the application does not listen where it should (UF), or closes connections that the proxy still uses (UC)",
        look: &[
            "meshladder why --from CLIENT --to URL --seen 503/UF",
            "meshladder flags UF UC",
        ],
    },
    Alert {
        name: "MeshTimeouts",
        when: When::Class {
            id: "timeout",
            share: "0.01",
        },
        hold: "5m",
        severity: "warning",
        summary: "SHARE of requests to SERVICE time out in the proxy (UT, SI, UMSDR)",
        description: "The answer takes longer than the route on the REPORTER's side allows",
        means: "UT: the timeout of the VirtualService, or of one try, ended before the server answered; the server's log has DC for the same request. Either the timeout is too short, or what is behind the server became slow",
        look: &[
            "meshladder why --from CLIENT --to URL --seen 504/UT",
            "meshladder flags UT",
        ],
    },
    Alert {
        name: "MeshOverflow",
        when: When::Class {
            id: "overflow",
            share: "0.01",
        },
        hold: "5m",
        severity: "warning",
        summary: "SHARE of requests to SERVICE are refused by a circuit breaker (UO, OM, DO, UDO)",
        description: "A limit of the connection pool on the REPORTER's side is reached",
        means: "UO: a limit of the DestinationRule's connectionPool is reached, or the budget of retries. OM: the proxy itself is short of memory. It is not a rate limit (RL)",
        look: &[
            "meshladder why --from CLIENT --to URL --seen 503/UO",
            "meshladder pc cluster CLIENT -o json",
        ],
    },
    Alert {
        name: "MeshRetriesExhausted",
        when: When::Class {
            id: "retry_exhausted",
            share: "0.01",
        },
        hold: "5m",
        severity: "warning",
        summary: "SHARE of requests to SERVICE fail on every try (URX)",
        description: "All tries of the proxy on the REPORTER's side failed; each such request cost several",
        means: "URX: the last try failed as those before it. It goes with what failed (UF, UT), or stands alone when the application answers an error each time. The server gets several times the load",
        look: &[
            "meshladder why --from CLIENT --to URL --seen 503/URX",
            "meshladder flags URX",
        ],
    },
    Alert {
        name: "MeshDenied",
        // Both sides count a request that the server denied: one of them is enough.
        when: When::Holds(
            "(meshladder:flagged_requests:rate5m{class=\"denied\",reporter=\"destination\"} or ignoring (reporter) meshladder:flagged_requests:rate5m{class=\"denied\"}) / ignoring (class) meshladder:requests:rate5m > 0.05 and ignoring (class) meshladder:flagged_requests:rate5m{class=\"denied\"} > 0.01",
        ),
        hold: "10m",
        severity: "warning",
        summary: "SHARE of requests to SERVICE are denied (UAEX, 403)",
        description: "An AuthorizationPolicy, an external authorizer or the application itself says no; metrics do not tell which",
        means: "UAEX: the external authorizer of a CUSTOM policy said no, or could not be asked. 403 without a flag: an AuthorizationPolicy or the application itself; only the access log's details tell (`rbac_access_denied_matched_policy[…]`)",
        look: &[
            "meshladder authz check --from CLIENT --to URL",
            "meshladder why --from CLIENT --to URL --seen 403",
        ],
    },
    Alert {
        name: "MeshRateLimited",
        when: When::Class {
            id: "rate_limited",
            share: "0.05",
        },
        hold: "10m",
        severity: "warning",
        summary: "SHARE of requests to SERVICE are rate limited (RL, RLSE)",
        description: "A rate limit on the REPORTER's side is reached, or its server cannot be asked (RLSE)",
        means: "RL: a local or global rate limit, set by an EnvoyFilter. RLSE: the rate limit server did not answer, and the filter is told to refuse then. Circuit breakers are UO",
        look: &[
            "meshladder flags RL RLSE",
            "meshladder why --from CLIENT --to URL --seen 429/RL",
        ],
    },
    Alert {
        name: "MeshFaultInjected",
        when: When::Class {
            id: "injected",
            share: "0",
        },
        hold: "1h",
        severity: "info",
        summary: "faults are injected into requests to SERVICE (FI, DI)",
        description: "A VirtualService has delayed or aborted requests for an hour: a test may have been left on",
        means: "DI and FI: the fault of a VirtualService's route. As a test it is meant; an hour later it may be forgotten",
        look: &[
            "meshladder why --from CLIENT --to URL",
            "kubectl get virtualservices -A -o yaml",
        ],
    },
    Alert {
        name: "MeshTcpConnectionsFail",
        when: When::Holds(
            "meshladder:tcp_failed:rate5m / meshladder:tcp_closed:rate5m > 0.05 and meshladder:tcp_failed:rate5m > 0.01",
        ),
        hold: "5m",
        severity: "warning",
        summary: "SHARE of TCP connections to SERVICE end with a failure's flag",
        description: "The proxy on the REPORTER's side could not connect, found no host, or was out of connections",
        means: "TCP has no status; the flag of a closed connection is all there is: UH no host, UF cannot connect, UO too many connections, URX tried too often. A long-lived connection keeps the flag it had when it was first counted",
        look: &[
            "meshladder flags --prometheus URL --tcp",
            "meshladder why --from CLIENT --to tcp://HOST:PORT --seen 0/UF",
        ],
    },
];

/// What flags and statuses cost against the objective. Requests whose client went away (DC, DR)
/// count neither way.
pub(super) static OBJECTIVE: &[Alert] = &[
    Alert {
        name: "MeshErrorBudgetBurnsFast",
        when: When::Burn {
            factor: "14.4",
            long: "1h",
            short: "5m",
        },
        hold: "2m",
        severity: "critical",
        summary: "SHARE of requests to SERVICE failed in the last hour",
        description: "At this rate the error budget of 30 days is spent in two days. Clients that went away (DC, DR) are left out",
        means: "Requests fail by status (5xx, 0, a gRPC status of failure) or by flag, and a gRPC call that failed in a proxy has status 200. The short window ends the alert soon after the trouble",
        look: &[
            "meshladder flags --prometheus URL --by destination",
            "meshladder check -n NAMESPACE",
        ],
    },
    Alert {
        name: "MeshErrorBudgetBurns",
        when: When::Burn {
            factor: "6",
            long: "6h",
            short: "30m",
        },
        hold: "15m",
        severity: "critical",
        summary: "SHARE of requests to SERVICE failed in the last six hours",
        description: "At this rate the error budget of 30 days is spent in five days. Clients that went away (DC, DR) are left out",
        means: "As MeshErrorBudgetBurnsFast, slower",
        look: &[
            "meshladder flags --prometheus URL --by destination",
            "meshladder check -n NAMESPACE",
        ],
    },
    Alert {
        name: "MeshErrorBudgetBurnsSlowly",
        when: When::Burn {
            factor: "1",
            long: "3d",
            short: "6h",
        },
        hold: "1h",
        severity: "warning",
        summary: "SHARE of requests to SERVICE failed in the last three days",
        description: "The error budget will not last its 30 days. Clients that went away (DC, DR) are left out",
        means: "As MeshErrorBudgetBurnsFast, much slower: not for the night, but for the week",
        look: &[
            "meshladder flags --prometheus URL --by destination",
            "meshladder check -n NAMESPACE",
        ],
    },
];
