//! What a user types after `explain`: flags, a details string, a reason why a connection failed, a
//! gRPC status. What a log holds is read the same way.

use super::transport::{close, transport, ztunnel};
use super::{detail, named};

/// What a text means, line by line.
#[derive(Debug, PartialEq, Eq)]
pub struct Meaning {
    /// What it is.
    pub what: String,
    /// What it means.
    pub means: Vec<String>,
}

/// Reads one flag, a set of flags, a details string, a transport failure or close reason, a gRPC
/// status or an error of ztunnel's; none when it is none.
pub fn read(text: &str) -> Option<Meaning> {
    let text = text.trim();
    let readers = [
        flags,
        details,
        grpc,
        transport,
        close,
        ztunnel,
        unknown_details,
    ];
    readers.iter().find_map(|read| read(text))
}

fn flags(text: &str) -> Option<Meaning> {
    let mut codes = Vec::new();
    let mut means = Vec::new();
    let mut has_own = false;
    for word in text.split(',').map(str::trim) {
        if let Some(flag) = named(word) {
            has_own = true;
            codes.push(flag.code);
            means.push(format!("{} ({}): {}", flag.code, flag.long, flag.means));
        } else if looks_like_flag(word) {
            codes.push(word);
            means.push(format!(
                "{word}: no flag of Envoy's own; an extension sets it"
            ));
        } else {
            return None;
        }
    }
    // Extensions have flags of their own, but one alone may be any word.
    if !has_own {
        return None;
    }
    if let Some(together) = together(&codes) {
        means.push(format!("together: {together}"));
    }
    Some(Meaning {
        what: format!("response flags {}", codes.join(",")),
        means,
    })
}

fn looks_like_flag(word: &str) -> bool {
    (2..7).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_uppercase())
}

/// What two flags mean that neither says alone.
fn together(codes: &[&str]) -> Option<&'static str> {
    const PAIRS: [(&str, &str, &str); 5] = [
        (
            "URX",
            "UF",
            "every try failed to connect; a call is 1 + retries tries",
        ),
        ("URX", "UT", "every try ran into perTryTimeout"),
        (
            "URX",
            "UC",
            "the upstream closed the connection on every try",
        ),
        ("DI", "FI", "a delay and an abort, both injected on purpose"),
        ("DI", "UT", "the injected delay is longer than the timeout"),
    ];
    for (one, other, means) in PAIRS {
        if codes.contains(&one) && codes.contains(&other) {
            return Some(means);
        }
    }
    None
}

/// `name`, `name{argument}`, `name[argument]` or `name(argument)`: "from the first opener to the
/// last closer".
fn details(text: &str) -> Option<Meaning> {
    let (name, argument) = apart(text);
    let known = detail(name)?;
    let mut means = vec![known.means.to_owned()];
    match (name, argument) {
        ("rbac_access_denied_matched_policy", Some("none")) => {
            means.push(
                "no ALLOW policy matched, and at least one applies to the workload".to_owned(),
            );
        }
        ("rbac_access_denied_matched_policy", Some(policy)) => means.push(policy_name(policy)),
        (
            "upstream_reset_before_response_started" | "upstream_reset_after_response_started",
            Some(reason),
        ) => {
            // The separator was a comma up to Envoy 1.30.
            let (reason, transport_reason) = reason.split_once(['|', ',']).unwrap_or((reason, ""));
            means.push(format!("{}: {}", reason.replace('_', " "), reset(reason)));
            if let Some(transport) = transport(transport_reason) {
                means.extend(transport.means);
            }
        }
        (_, Some(argument)) if !argument.is_empty() => means.push(argument.replace('_', " ")),
        _ => {}
    }
    means.push(match known.flags {
        "-" => "no flag goes with it".to_owned(),
        flags => format!("goes with flag {}", flags.replace(' ', " or ")),
    });
    Some(Meaning {
        what: format!("response code details {name}"),
        means,
    })
}

fn apart(text: &str) -> (&str, Option<&str>) {
    if let Some(open) = text.find(['{', '[', '(']) {
        let inside = &text[open + 1..];
        let argument = inside.rfind(['}', ']', ')']).map(|close| &inside[..close]);
        return (&text[..open], argument);
    }
    // `codec_error:…` and `overload_error:…` have their argument behind a colon.
    match text.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (text, None),
    }
}

/// "Treat the list as open": what has the form of details is taken apart, even when its name is not
/// known.
fn unknown_details(text: &str) -> Option<Meaning> {
    let (name, argument) = apart(text);
    if !text.contains(['{', '[', '(']) || !is_details_name(name) {
        return None;
    }
    let argument = argument?;
    let means = vec![
        "not known to this version: a newer Envoy, or an extension; a local reply, since it is not via_upstream"
            .to_owned(),
        argument.replace('_', " "),
    ];
    Some(Meaning {
        what: format!("response code details {name}"),
        means,
    })
}

fn is_details_name(name: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    !name.is_empty() && name.chars().all(is_of_name)
}

/// `ns[shop]-policy[deny-admin]-rule[0]`, as istiod names what it makes of an AuthorizationPolicy.
fn policy_name(text: &str) -> String {
    let (Some(namespace), Some(policy), Some(rule)) = (
        bracketed(text, "ns["),
        bracketed(text, "policy["),
        bracketed(text, "rule["),
    ) else {
        return format!("the policy `{text}`");
    };
    let mut name = format!("AuthorizationPolicy {namespace}/{policy}, rule {rule}");
    if text.contains("deny-due-to-bad-CUSTOM-action") {
        name.push_str("; its CUSTOM provider is not known to istiod");
    }
    name
}

fn bracketed<'t>(text: &'t str, opening: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(opening)?;
    rest.split(']').next()
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
        "remote_reset" | "remote_refused_stream_reset" | "remote_reset_(no_error)" => {
            "the upstream reset the stream (UR)"
        }
        "remote_error_with_CONNECT_request" => "the upstream refused a CONNECT (UR)",
        "local_reset" | "local_refused_stream_reset" | "HTTP/1_premature_upstream_half_close" => {
            "this proxy reset the stream (LR)"
        }
        "protocol_error" => "the upstream does not speak the declared protocol (UPE)",
        "overload_manager_reset" => "this proxy shed load (OM)",
        _ => "not known to this version",
    }
}

/// The names of gRPC's statuses, each at its number.
pub const GRPC_STATUSES: [&str; 17] = [
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

fn grpc(text: &str) -> Option<Meaning> {
    let text = text
        .trim_start_matches("grpc-status")
        .trim_start_matches("grpc")
        .trim_start_matches([':', ' ', '=']);
    let number = match text.parse() {
        Ok(number) => number,
        Err(_) => GRPC_STATUSES
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text))?,
    };
    let name: &str = GRPC_STATUSES.get(number)?;
    // Envoy answers a gRPC client with HTTP 200 and the status that stands for its own.
    let from_proxy = match number {
        14 => "a proxy sends it for UH, NC, UF, UO and other 502, 503, 504 and 429",
        12 => "a proxy sends it for NR (404)",
        7 => "a proxy sends it for 403, an AuthorizationPolicy's denial",
        16 => "a proxy sends it for 401, a bad token",
        13 => "a proxy sends it for 400",
        _ => "it comes from the application",
    };
    Some(Meaning {
        what: format!("grpc-status {number} {name}"),
        means: vec![from_proxy.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proxies_say_of_connections_is_read() {
        let verify = "TLS_error:|268435581:SSL_routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:verify_cert_failed:_SAN_matcher,_certificate_SANs_are_[spiffe://cluster.local/ns/foo/sa/server]:TLS_error_end";
        let said = means(verify);
        assert!(
            said.contains("subjectAltNames") && said.contains("certificate verify failed"),
            "{said}"
        );
        assert!(
            said.contains("the certificate is for spiffe://cluster.local/ns/foo/sa/server"),
            "{said}"
        );
        for (text, part) in [
            ("tcp_session_idle_timeout", "idle timeout"),
            ("tcp_initializion_failure:1", "no healthy upstream"),
            ("transport socket timeout was reached", "TLS handshake"),
            (
                "connection closed due to policy rejection: explicitly denied by: shop/deny-all",
                "AuthorizationPolicy shop/deny-all",
            ),
            (
                "connection timed out, maybe a NetworkPolicy is blocking HBONE port 15008: deadline has elapsed",
                "15008",
            ),
            ("http2 handshake failed: x", "HBONE"),
            ("brand_new{because_of_x}", "because of x"),
        ] {
            assert!(means(text).contains(part), "{text}: {}", means(text));
        }
    }

    fn means(text: &str) -> String {
        read(text)
            .map(|reading| reading.means.join("; "))
            .unwrap_or_default()
    }

    #[test]
    fn sets_of_flags_are_read_in_any_order() {
        for text in ["URX,UF", "UF,URX"] {
            assert!(
                means(text).contains("every try failed to connect"),
                "{text}: {}",
                means(text)
            );
        }
        assert!(means("UH,XX").contains("XX: no flag of Envoy's own"));
        assert_eq!((read("XX"), read("UH,xx")), (None, None));
    }

    #[test]
    fn details_are_taken_apart_with_their_argument() {
        assert!(
            means("rbac_access_denied_matched_policy[ns[shop]-policy[deny]-rule[2]]")
                .contains("AuthorizationPolicy shop/deny, rule 2")
        );
        assert!(
            means("rbac_access_denied_matched_policy[none]").contains("no ALLOW policy matched")
        );
        let reset = means(
            "upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}",
        );
        assert!(
            reset.contains("(UF)") && reset.contains("nothing listens"),
            "{reset}"
        );
        assert!(means("jwt_authn_access_denied{Jwt_is_expired}").contains("Jwt is expired"));
        assert!(
            means("TLS_error:|268435703:SSL_routines:OPENSSL_internal:WRONG_VERSION_NUMBER")
                .contains("plaintext")
        );
        assert!(means("14").contains("UH") && means("UNAVAILABLE").contains("UH"));
        assert_eq!(read("nothing_like_it"), None);
    }
}
