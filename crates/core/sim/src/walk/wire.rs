//! Between two proxies, and what each of them logs.

use std::net::IpAddr;

use crate::trace::{Branch, End, EndKind, Hop, Log, TunnelFault};

/// Flags that an earlier stage set, as `DI` for a delay.
pub(super) fn with_flags(mut end: End, flags: &[&'static str]) -> End {
    let missing: Vec<_> = flags
        .iter()
        .filter(|flag| !end.flags.contains(flag))
        .copied()
        .collect();
    end.flags.splice(0..0, missing);
    end
}

/// Behind an address that no proxy answers for; `expects_proxy` when mTLS is sent to a pod that is
/// known to have none.
pub(super) fn without_proxy((address, port): (IpAddr, u16), expects_proxy: bool) -> End {
    if expects_proxy {
        let because = format!("mTLS is sent to {address}:{port}, where no proxy terminates it");
        let details = "upstream_reset_before_response_started{connection_termination}";
        return End::new(EndKind::TlsMismatch, 503, details, because).flag("UC");
    }
    End::new(
        EndKind::Forwarded,
        200,
        "via_upstream",
        format!("it reaches {address}:{port}"),
    )
}

/// What an Envoy makes of a tunnel that ends early: a ztunnel that refuses closes the connection,
/// and where none listens there is no connection.
pub(super) fn seen_by_envoy(mut end: End, is_tcp: bool) -> End {
    let Some(tunnel) = end.tunnel.as_ref().filter(|_| end.flags.is_empty()) else {
        return end;
    };
    let (flags, details): (&[&'static str], _) = match tunnel.why {
        TunnelFault::NoZtunnel
        | TunnelFault::NotServed
        | TunnelFault::NotCaptured
        | TunnelFault::Stale(_) => (
            &["URX", "UF"],
            "upstream_reset_before_response_started{remote_connection_failure}",
        ),
        _ => (
            &["UC"],
            "upstream_reset_before_response_started{connection_termination}",
        ),
    };
    end.flags.extend(flags);
    if !is_tcp {
        end.code = 503;
        details.clone_into(&mut end.details);
    }
    end
}

/// What the first hop logs: its own answer, or what came back from the next one.
pub(super) fn client_log(branch: &Branch, is_own: bool, route: Option<&str>) -> Log {
    let end = &branch.end;
    let mut log = Log {
        code: end.code,
        cluster: branch.cluster.clone(),
        ..Log::default()
    };
    log.route = route.map(str::to_owned);
    // A connection that was closed in another cluster is a failure of this hop's upstream.
    if !is_own && end.in_cluster.is_some() && end.code == 0 && end.kind != EndKind::Undecided {
        log.code = 503;
        log.flags = vec!["UF"];
        return log;
    }
    // A connection that the next hop refuses is this one's to report.
    if is_own || end.kind == EndKind::TlsMismatch || end.tunnel.is_some() {
        log.details.clone_from(&end.details);
        log.flags.clone_from(&end.flags);
    } else if end.kind != EndKind::Undecided {
        "via_upstream".clone_into(&mut log.details);
    }
    log
}

/// What the last hop logs.
pub(super) fn server_log(hop: &Hop, branches: &[Branch]) -> Log {
    let Some(Branch { end, cluster, .. }) = branches.first() else {
        return Log::default();
    };
    let (details, route) = (end.details.clone(), hop.route.clone());
    Log {
        code: end.code,
        flags: end.flags.clone(),
        details,
        cluster: cluster.clone(),
        route,
    }
}
