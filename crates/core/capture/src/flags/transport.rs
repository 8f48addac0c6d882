//! Why a connection failed or was closed, in the words of proxies: TLS errors, close reasons,
//! ztunnel's errors.

use super::Meaning;

/// A piece of a text, and what it means.
type Needle = (&'static str, &'static str);

/// `%UPSTREAM_TRANSPORT_FAILURE_REASON%` and `%DOWNSTREAM_TRANSPORT_FAILURE_REASON%`; the first
/// that fits counts.
const REASONS: &[Needle] = &[
    ("Connection_refused", "nothing listens on that port"),
    (
        "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "the other side wants a client certificate and got none",
    ),
    (
        "TLSV1_ALERT_UNKNOWN_CA",
        "the other side does not trust our certificate authority",
    ),
    (
        "SAN_matcher",
        "the server's certificate carries another name than subjectAltNames or the service account asks for",
    ),
    (
        "unable_to_get_local_issuer",
        "the server's certificate is signed by a root that this proxy does not trust",
    ),
    (
        "certificate_has_expired",
        "the server's certificate has expired",
    ),
    (
        "certificate_is_not_yet_valid",
        "the server's certificate is not valid yet: look at the clocks",
    ),
    (
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "our certificate has expired, as the other side sees it",
    ),
    (
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "the other side did not accept our certificate, for instance its name",
    ),
    (
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "the other side could not use our certificate",
    ),
    (
        "CERTIFICATE_REQUIRED",
        "the other side wants a client certificate and got none",
    ),
    (
        "PEER_DID_NOT_RETURN_A_CERTIFICATE",
        "the client has no certificate: it is not in the mesh, or sends simple TLS",
    ),
    (
        "WRONG_VERSION_NUMBER",
        "TLS was sent to a server that speaks plaintext",
    ),
    (
        "HTTP_REQUEST",
        "plaintext HTTP was sent to a port that wants TLS",
    ),
    (
        "NO_APPLICATION_PROTOCOL",
        "the two sides share no ALPN protocol",
    ),
    ("PROTOCOL_VERSION", "the two sides share no version of TLS"),
    ("NO_SHARED_CIPHER", "the two sides share no cipher"),
    (
        "UNRECOGNIZED_NAME",
        "the server has nothing for that server name (SNI)",
    ),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "the other side's certificate was not accepted",
    ),
    (
        "Secret_is_not_supplied_by_SDS",
        "this proxy has no certificate yet",
    ),
    (
        "reset_by_peer",
        "the other side closed during the handshake: no filter chain for that ALPN or SNI",
    ),
    (
        "No_route_to_host",
        "the address cannot be reached: the node or the pod is gone",
    ),
    ("Network_is_unreachable", "there is no route to the address"),
    (
        "Connection_timed_out",
        "no answer to the connection: packets are dropped",
    ),
    (
        "transport_socket_timeout_was_reached",
        "the client did not finish its TLS handshake in time",
    ),
    (
        "delayed_connect_error",
        "the connection was refused or reset while it was made",
    ),
    (
        "immediate_connect_error",
        "the operating system refused to connect at all",
    ),
];

/// `%DOWNSTREAM_LOCAL_CLOSE_REASON%`: why this proxy closed the client's connection.
const CLOSES: &[Needle] = &[
    (
        "tcp_initializion_failure:0",
        "the connection to the upstream failed",
    ),
    ("tcp_initializion_failure:1", "no healthy upstream"),
    (
        "tcp_initializion_failure:2",
        "a limit of the circuit breaker",
    ),
    (
        "tcp_initializion_failure:3",
        "the route names a cluster that this proxy does not have",
    ),
    (
        "tcp_session_idle_timeout",
        "nothing moved on the TCP connection for longer than its idle timeout; no flag is set",
    ),
    (
        "max_connection_duration_reached",
        "the connection lived longer than allowed (DT)",
    ),
    (
        "rbac_deny_close",
        "an AuthorizationPolicy refused the connection",
    ),
    (
        "ext_authz_close",
        "the external authorizer refused the connection",
    ),
    (
        "over_connection_limit",
        "the limit of connections; no flag is set",
    ),
    (
        "local_ratelimit_close_over_limit",
        "a local rate limit of connections",
    ),
    (
        "transport_socket_timeout",
        "the client did not finish its TLS handshake in time",
    ),
    (
        "triggered_delayed_close_timeout",
        "the client did not close its side after the answer",
    ),
    (
        "deferred_close_on_drained_connection",
        "the proxy was draining",
    ),
    ("tcp_proxy_drain_close", "the proxy was draining"),
    ("on_idle_timeout", "nothing moved on the connection"),
    (
        "http2_ping_timeout",
        "the client did not answer to a keep-alive of HTTP/2",
    ),
    (
        "http2_connection_protocol_violation",
        "the client broke the rules of HTTP/2",
    ),
    (
        "buffer_high_watermark_timeout_reached",
        "the client read too slowly",
    ),
    (
        "closing_upstream_tcp_connection_due_to_downstream",
        "the client's connection ended, so the upstream's was closed",
    ),
];

/// What ztunnel writes into `error=`.
const ZTUNNEL: &[Needle] = &[
    (
        "maybe a NetworkPolicy is blocking HBONE port 15008",
        "the other node's ztunnel does not answer on port 15008: a NetworkPolicy or a firewall drops HBONE",
    ),
    (
        "allow policies exist, but none allowed",
        "no ALLOW policy lets the caller in; ztunnel judges by L4 alone",
    ),
    (
        "explicitly denied by",
        "a DENY policy refused the connection; its name follows",
    ),
    (
        "closed due to policy rejection",
        "an AuthorizationPolicy refused the connection; ztunnel turns a policy of HTTP that it cannot judge into a denial",
    ),
    (
        "closed due to policy change",
        "a policy that came later refused a connection that was open",
    ),
    (
        "http status: 401",
        "the other side did not accept the caller's identity",
    ),
    (
        "http status: 503",
        "the other ztunnel or waypoint could not reach the workload",
    ),
    (
        "http status: ",
        "the other ztunnel or waypoint refused the tunnel with that status",
    ),
    (
        "unknown source",
        "ztunnel does not know the calling address: the workload is not enrolled, or not told by istiod yet",
    ),
    (
        "invalid source",
        "the caller's address is not that of the workload it claims to be",
    ),
    (
        "unknown waypoint",
        "the Service's or workload's waypoint does not exist, or istiod has not told of it",
    ),
    (
        "unknown destination",
        "ztunnel does not know the called address",
    ),
    (
        "no valid routing destination",
        "the workload has no address that can be called",
    ),
    ("no healthy upstream", "the Service has no healthy endpoint"),
    ("no service endpoints", "the Service has no endpoint"),
    (
        "no ip addresses were resolved",
        "the workload's hostname does not resolve",
    ),
    ("no gateway address", "the network's gateway has no address"),
    (
        "attempted recursive call to ourselves",
        "the call would come back to ztunnel itself",
    ),
    (
        "ip mismatch",
        "the tunnel asks for another address than it was opened to",
    ),
    (
        "http2 handshake failed",
        "the other side speaks no HBONE: it is not in ambient, or something is between",
    ),
    (
        "expected method CONNECT",
        "something else than a ztunnel or waypoint called port 15008",
    ),
    (
        "failed to drain within the timeout",
        "a connection was still open when ztunnel stopped",
    ),
    (
        "destination disconnected before all data",
        "the application closed the connection early",
    ),
    (
        "client disconnected before all data",
        "the client closed the connection early",
    ),
    (
        "timed out waiting for workload",
        "ztunnel was not told of a pod of its node in time: its link to istiod, or the CNI agent's",
    ),
    (
        "connection streams maxed out",
        "the tunnel has as many streams as it may",
    ),
    (
        "dns response had no valid IP addresses",
        "the name does not resolve",
    ),
    (
        "identity error",
        "ztunnel has no certificate for the workload: istiod's CA refused or was not reached",
    ),
    ("tls error", "the TLS handshake between the ztunnels failed"),
    (
        "connection failed",
        "the other side could not be connected to",
    ),
    (
        "failed to bind to address",
        "ztunnel could not listen, for instance on IPv6 where there is none",
    ),
];

/// Reads a transport failure reason.
pub(super) fn transport(text: &str) -> Option<Meaning> {
    // Access logs have underscores where Envoy's own words have blanks.
    let underscored = text.replace(' ', "_");
    let mut means = Vec::new();
    if let Some(reason) = find(REASONS, &underscored) {
        means.push(reason.to_owned());
    }
    for error in underscored.split("OPENSSL_internal:").skip(1) {
        means.push(openssl(error));
    }
    means.extend(names(text));
    if means.is_empty() {
        return None;
    }
    Some(Meaning {
        what: "transport failure reason".to_owned(),
        means,
    })
}

/// Reads why this proxy closed a client's connection.
pub(super) fn close(text: &str) -> Option<Meaning> {
    let means = find(CLOSES, &text.replace(' ', "_"))?;
    Some(Meaning {
        what: "close reason of a client's connection".to_owned(),
        means: vec![means.to_owned()],
    })
}

/// Reads an error of ztunnel's.
pub(super) fn ztunnel(text: &str) -> Option<Meaning> {
    let means = find(ZTUNNEL, text)?;
    let mut means = vec![means.to_owned()];
    if let Some((_, policy)) = text.split_once("explicitly denied by: ") {
        let name = policy.trim_matches(['"', ' ']);
        means.push(format!("AuthorizationPolicy {name}"));
    }
    Some(Meaning {
        what: "error of ztunnel's".to_owned(),
        means,
    })
}

/// Letters count: Envoy's `Connection timed out` and ztunnel's `connection timed out` are not the
/// same.
fn find(table: &[Needle], text: &str) -> Option<&'static str> {
    for (needle, means) in table {
        if text.contains(needle) {
            return Some(means);
        }
    }
    None
}

/// One error of `TLS_error:|268435581:SSL_routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:more:TLS_error_end`,
/// from behind `OPENSSL_internal:` on. The next one stands behind a `|`.
fn openssl(error: &str) -> String {
    let error = error.split(":TLS_error_end").next().unwrap_or_default();
    let (reason, more) = error.split_once(':').unwrap_or((error, ""));
    let reason = reason.split('|').next().unwrap_or_default();
    let more = more.split('|').next().unwrap_or_default();
    let mut says = format!("OpenSSL says: {}", reason.replace('_', " ").to_lowercase());
    if !more.is_empty() {
        says = format!("{says} ({})", more.replace('_', " "));
    }
    says
}

/// The names that the server's certificate has: `certificate SANs are [spiffe://…]`.
fn names(text: &str) -> Option<String> {
    let (_, rest) = text
        .split_once("certificate_SANs_are_[")
        .or_else(|| text.split_once("certificate SANs are ["))?;
    let names = rest.split(']').next()?.replace(',', ", ");
    Some(format!("the certificate is for {names}"))
}
