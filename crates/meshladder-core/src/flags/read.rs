//! What a user types after `explain`: flags, a details string, a reason why a connection failed, a gRPC status.

use super::{Flag, detail, named};

/// What a text means, line by line.
#[derive(Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it is.
    pub what: String,
    /// What it means.
    pub means: Vec<String>,
}

/// Reads one flag, a set of flags, a details string, a transport failure reason or a gRPC status; none when it is none.
pub fn read(text: &str) -> Option<Reading> {
    flags(text).or_else(|| details(text)).or_else(|| transport(text)).or_else(|| grpc(text))
}

fn flags(text: &str) -> Option<Reading> {
    let found: Vec<&Flag> = text.split(',').map(|code| named(code.trim())).collect::<Option<_>>()?;
    let codes: Vec<&str> = found.iter().map(|flag| flag.code).collect();
    let has = |code: &str| codes.contains(&code);
    let mut means: Vec<String> =
        found.iter().map(|flag| format!("{} ({}): {}", flag.code, flag.long, flag.means)).collect();
    let together = match () {
        () if has("URX") && has("UF") => Some("together: every try failed to connect; a call is 1 + retries tries"),
        () if has("URX") && has("UT") => Some("together: every try ran into perTryTimeout"),
        () if has("URX") && has("UC") => Some("together: the upstream closed the connection on every try"),
        () if has("DI") && has("FI") => Some("together: a delay and an abort, both injected on purpose"),
        () if has("DI") && has("UT") => Some("together: the injected delay is longer than the timeout"),
        () => None,
    };
    means.extend(together.map(str::to_owned));
    Some(Reading { what: format!("response flags {}", codes.join(",")), means })
}

/// `name`, `name{argument}`, `name[argument]` or `name(argument)`: "from the first opener to the last closer".
fn details(text: &str) -> Option<Reading> {
    let open = text.find(['{', '[', '(']);
    // `codec_error:…` and `overload_error:…` have their argument behind a colon.
    let (name, argument) = match (open, text.split_once(':')) {
        (Some(open), _) => {
            (&text[..open], text[open + 1..].rfind(['}', ']', ')']).map(|close| &text[open + 1..open + 1 + close]))
        }
        (None, Some((name, argument))) => (name, Some(argument)),
        (None, None) => (text, None),
    };
    let known = detail(name)?;
    let mut means = vec![format!("{}; flags: {}", known.means, known.flags)];
    match (name, argument) {
        ("rbac_access_denied_matched_policy", Some("none")) => {
            means.push("no ALLOW policy matched, and at least one applies to the workload".to_owned());
        }
        ("rbac_access_denied_matched_policy", Some(policy)) => means.push(policy_name(policy)),
        ("upstream_reset_before_response_started" | "upstream_reset_after_response_started", Some(reason)) => {
            // The separator was a comma up to Envoy 1.30.
            let (reason, transport_reason) = reason.split_once(['|', ',']).unwrap_or((reason, ""));
            means.push(format!("{}: {}", reason.replace('_', " "), reset(reason)));
            means.extend(transport(transport_reason).into_iter().flat_map(|reading| reading.means));
        }
        (_, Some(argument)) if !argument.is_empty() => means.push(argument.replace('_', " ")),
        _ => {}
    }
    Some(Reading { what: format!("response code details {name}"), means })
}

/// `ns[shop]-policy[deny-admin]-rule[0]`
fn policy_name(text: &str) -> String {
    let part = |name: &str| text.split_once(&format!("{name}[")).and_then(|(_, rest)| rest.split(']').next());
    match (part("ns"), part("policy"), part("rule")) {
        (Some(namespace), Some(policy), Some(rule)) => {
            let custom = if text.contains("deny-due-to-bad-CUSTOM-action") {
                "; its CUSTOM provider is not known to istiod"
            } else {
                ""
            };
            format!("AuthorizationPolicy {namespace}/{policy}, rule {rule}{custom}")
        }
        _ => format!("the policy `{text}`"),
    }
}

fn reset(reason: &str) -> &'static str {
    match reason {
        "remote_connection_failure" | "local_connection_failure" | "connection_failure" => {
            "the connection could not be made (UF)"
        }
        "connection_timeout" => {
            "no answer to the connection: packets dropped, or TLS to a silent plaintext server (UF)"
        }
        "connection_termination" => "an established connection was closed (UC)",
        "overflow" => "a limit of the circuit breaker (UO)",
        "remote_reset" | "remote_refused_stream_reset" => "the upstream reset the stream (UR)",
        "local_reset" | "local_refused_stream_reset" => "this proxy reset the stream (LR)",
        "protocol_error" => "the upstream does not speak the declared protocol (UPE)",
        "overload_manager_reset" => "this proxy shed load (OM)",
        _ => "not known to this version",
    }
}

/// `%UPSTREAM_TRANSPORT_FAILURE_REASON%`, told by what it contains.
fn transport(text: &str) -> Option<Reading> {
    const REASONS: [(&str, &str); 12] = [
        ("Connection_refused", "nothing listens on that port"),
        ("delayed_connect_error", "the connection was refused or reset while it was made"),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", "the other side wants a client certificate and got none"),
        ("TLSV1_ALERT_UNKNOWN_CA", "the other side does not trust our certificate authority"),
        (
            "SAN_matcher",
            "the server's certificate carries another name than subjectAltNames or the service account asks for",
        ),
        ("unable_to_get_local_issuer", "the server's certificate is signed by a root that this proxy does not trust"),
        ("certificate_has_expired", "the server's certificate has expired"),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "our certificate has expired, as the other side sees it"),
        ("WRONG_VERSION_NUMBER", "TLS was sent to a server that speaks plaintext"),
        ("CERTIFICATE_VERIFY_FAILED", "the server's certificate was not accepted"),
        ("Secret_is_not_supplied_by_SDS", "this proxy has no certificate yet"),
        ("reset_by_peer", "the other side closed during the handshake: no filter chain for that ALPN or SNI"),
    ];
    let text = text.replace(' ', "_");
    let (_, means) = REASONS.iter().find(|(needle, _)| text.contains(needle))?;
    Some(Reading { what: "transport failure reason".to_owned(), means: vec![(*means).to_owned()] })
}

fn grpc(text: &str) -> Option<Reading> {
    const STATUSES: [&str; 17] = [
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    ];
    let text = text.trim_start_matches("grpc-status").trim_start_matches([':', ' ', '=']);
    let number = text.parse().ok().or_else(|| STATUSES.iter().position(|name| name.eq_ignore_ascii_case(text)))?;
    let name: &str = STATUSES.get(number)?;
    let from_proxy = match number {
        14 => "a proxy sends it for UH, NC, UF, UO and other 502, 503, 504 and 429",
        12 => "a proxy sends it for NR (404)",
        7 => "a proxy sends it for 403, an AuthorizationPolicy's denial",
        16 => "a proxy sends it for 401, a bad token",
        13 => "a proxy sends it for 400",
        _ => "it comes from the application",
    };
    Some(Reading { what: format!("grpc-status {number} {name}"), means: vec![from_proxy.to_owned()] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(text: &str) -> String {
        read(text).map(|reading| reading.means.join("; ")).unwrap_or_default()
    }

    #[test]
    fn sets_of_flags_are_read_in_any_order() {
        for text in ["URX,UF", "UF,URX"] {
            assert!(means(text).contains("every try failed to connect"), "{text}: {}", means(text));
        }
        assert_eq!(read("UH,XX"), None);
    }

    #[test]
    fn details_are_taken_apart_with_their_argument() {
        assert!(
            means("rbac_access_denied_matched_policy[ns[shop]-policy[deny]-rule[2]]")
                .contains("AuthorizationPolicy shop/deny, rule 2")
        );
        assert!(means("rbac_access_denied_matched_policy[none]").contains("no ALLOW policy matched"));
        let reset = means(
            "upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}",
        );
        assert!(reset.contains("(UF)") && reset.contains("nothing listens"), "{reset}");
        assert!(means("jwt_authn_access_denied{Jwt_is_expired}").contains("Jwt is expired"));
        assert!(means("TLS_error:|268435703:SSL_routines:OPENSSL_internal:WRONG_VERSION_NUMBER").contains("plaintext"));
        assert!(means("14").contains("UH") && means("UNAVAILABLE").contains("UH"));
        assert_eq!(read("nothing_like_it"), None);
    }
}
