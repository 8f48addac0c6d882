//! Names of hosts, ports, labels and protocols.

use std::net::IpAddr;

use crate::services::Protocol;

/// What is wrong with the name of a host. With `wildcard` its first label may be `*`, or start with
/// it.
///
/// "We only allow wildcards in the first label", "Allow the last part to be empty, for unambiguous
/// names like `istio.io.`"
pub(super) fn host_problem(name: &str, wildcard: bool) -> Option<String> {
    match name.len() {
        0 => return Some("and a host has a name".to_owned()),
        1..=255 => {}
        _ => return Some("longer than 255 bytes".to_owned()),
    }
    let (first, rest) = match name.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (name, None),
    };
    if wildcard && is_wildcard_label(first) {
        return rest.and_then(labels_problem);
    }
    labels_problem(name)
}

/// `*`, `*-api` or `*api`.
fn is_wildcard_label(label: &str) -> bool {
    let Some(behind) = label.strip_prefix('*') else {
        return false;
    };
    behind.is_empty() || is_label(behind.strip_prefix('-').unwrap_or(behind))
}

fn labels_problem(name: &str) -> Option<String> {
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.parse::<i64>().is_ok() {
        return Some("not a host's name: the last label is a number".to_owned());
    }
    let labels = name.strip_suffix('.').unwrap_or(name);
    let bad = labels.split('.').find(|label| !is_label(label))?;
    Some(match bad {
        "" => "not a host's name: a label is empty".to_owned(),
        label if label.contains('*') => "not a host's name: `*` may only stand first".to_owned(),
        label => format!("not a host's name: the label `{label}`"),
    })
}

/// A hostname of the Gateway API: lower case, no address, a wildcard only as the first label.
pub(super) fn hostname_problem(name: &str, wildcard: bool) -> Option<String> {
    let bare = if wildcard {
        name.strip_prefix("*.").unwrap_or(name)
    } else {
        name
    };
    if bare.parse::<IpAddr>().is_ok() {
        return Some("an address, not a hostname".to_owned());
    }
    if bare.is_empty() || name.len() > 253 {
        return Some("not a hostname: it has 1 to 253 bytes".to_owned());
    }
    for label in bare.split('.') {
        if !is_label(label) || label.bytes().any(|b| b.is_ascii_uppercase()) {
            return Some(format!("not a hostname: the label `{label}`"));
        }
    }
    None
}

/// Letters, digits and inner hyphens, 1 to 63.
pub(super) fn is_label(label: &str) -> bool {
    is_enclosed(label)
        && label.len() <= 63
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Whether the first and the last are letters or digits.
fn is_enclosed(name: &str) -> bool {
    let (Some(first), Some(last)) = (name.as_bytes().first(), name.as_bytes().last()) else {
        return false;
    };
    first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric()
}

/// "expected format 'serviceAccount' or 'namespace/serviceAccount'", "wildcard not allowed", at
/// most 320 characters.
pub(super) fn is_account(value: &str) -> bool {
    let mut parts = value.split('/');
    let is_formed = parts.clone().count() <= 2 && parts.all(|part| !part.is_empty());
    is_formed && !value.contains('*') && value.len() <= 320
}

/// `NAMESPACE/NAME`, or a name that may be a full one as it was once written.
pub(super) fn is_gateway(name: &str) -> bool {
    match name.split_once('/') {
        Some((namespace, name)) => is_label(namespace) && is_label(name),
        None => host_problem(name, false).is_none(),
    }
}

/// `10.0.0.0/8`, `10.1.2.3`
pub(super) fn is_range(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return text.parse::<IpAddr>().is_ok();
    };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    let is_plain = length == "0" || !length.starts_with(['0', '+']);
    is_plain && length.parse::<u8>().is_ok_and(|length| length <= most)
}

/// `app`, `app.kubernetes.io/name`
pub(super) fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => {
            prefix.len() <= 253 && prefix.split('.').all(is_label) && is_qualified(name)
        }
        None => is_qualified(key),
    }
}

pub(super) fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_qualified(value)
}

fn is_qualified(name: &str) -> bool {
    let is_of_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    is_enclosed(name) && name.len() <= 63 && name.bytes().all(is_of_name)
}

/// The protocol of a name, in any case; none for a name that is none. What ambient tunnels by is
/// TCP.
pub(super) fn protocol(name: &str) -> Option<Protocol> {
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    match Protocol::of_name(name) {
        Protocol::Sniffed if is("HBONE") || is("DOUBLE-HBONE") => Some(Protocol::Tcp),
        Protocol::Sniffed => None,
        protocol => Some(protocol),
    }
}

/// Whether the SNI is seen, and nothing else.
pub(super) fn is_tls(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Https | Protocol::Tls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_labels_of_which_the_first_may_be_a_wildcard() {
        let long = format!("{}.test", "a".repeat(64));
        for (name, plain, wildcard) in [
            ("catalog", true, true),
            ("catalog.shop.svc.cluster.local", true, true),
            ("istio.io.", true, true),
            ("Catalog.test", true, true),
            ("*", false, true),
            ("*.test", false, true),
            ("*-x.test", false, true),
            ("*x.test", false, true),
            ("a.*.test", false, false),
            ("**.test", false, false),
            ("a_b.test", false, false),
            ("-a.test", false, false),
            ("a..test", false, false),
            (".test", false, false),
            ("10.0.0.1", false, false),
            ("a.1", false, false),
            ("", false, false),
            ("a b", false, false),
            ("https://a.test", false, false),
            (&long, false, false),
        ] {
            assert_eq!(host_problem(name, false).is_none(), plain, "{name}");
            assert_eq!(
                host_problem(name, true).is_none(),
                wildcard,
                "{name} with wildcards"
            );
        }
    }

    #[test]
    fn hostnames_of_the_gateway_api_are_lower_case() {
        for (name, holds) in [
            ("a.test", true),
            ("*.a.test", true),
            ("*", false),
            ("A.test", false),
            ("10.0.0.1", false),
            ("a.*.test", false),
            ("", false),
        ] {
            assert_eq!(hostname_problem(name, true).is_none(), holds, "{name}");
        }
        assert!(hostname_problem("*.a.test", false).is_some());
    }

    #[test]
    fn ranges_labels_and_gateways_are_told_from_others() {
        for (text, holds) in [
            ("10.0.0.0/8", true),
            ("10.0.0.1", true),
            ("2001:db8::/32", true),
            ("10.0.0.0/33", false),
            ("10.0.0/8", false),
            ("10.0.0.0/08", false),
            ("*", false),
            ("10.0.0.0/8/8", false),
        ] {
            assert_eq!(is_range(text), holds, "{text}");
        }
        for (key, holds) in [
            ("app", true),
            ("a.b/c_d.e", true),
            ("a/b/c", false),
            ("", false),
            ("a*", false),
            ("/a", false),
        ] {
            assert_eq!(is_label_key(key), holds, "{key}");
        }
        for (name, holds) in [
            ("edge/shop", true),
            ("mesh", true),
            ("shop.edge.svc", true),
            ("a/b/c", false),
            ("/a", false),
        ] {
            assert_eq!(is_gateway(name), holds, "{name}");
        }
        assert!(is_label_value("") && is_label_value("1.2_3-x") && !is_label_value("-x"));
    }
}
