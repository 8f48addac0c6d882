//! The `:authority` of a request.

use std::borrow::Cow;

/// Whether it has only characters that Envoy lets in; the empty one has.
pub(super) fn is_valid(authority: &str) -> bool {
    authority.bytes().all(is_host_byte)
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!$%&'()*+,-.:;=@[]_~".contains(&byte)
}

/// "If the host ends in a period, remove it"; also before a port.
pub(super) fn without_trailing_dot(authority: &str) -> Cow<'_, str> {
    let Some(dot) = authority.rfind('.') else {
        return Cow::Borrowed(authority);
    };
    let (head, tail) = (&authority[..dot], &authority[dot + 1..]);
    match tail.bytes().next() {
        None => Cow::Owned(head.to_owned()),
        Some(b':') => Cow::Owned(format!("{head}{tail}")),
        Some(_) => Cow::Borrowed(authority),
    }
}

/// The host in front of a port, which must be `port` when one is given.
pub(super) fn without_port(authority: &str, port: Option<u16>) -> Option<&str> {
    let colon = port_start(authority)?;
    // What Envoy takes for a number may have a sign.
    let number: u32 = authority[colon + 1..].parse().ok()?;
    if port.is_some_and(|port| number != u32::from(port)) {
        return None;
    }
    Some(&authority[..colon])
}

/// Where `:port` starts, if there is one outside of the brackets of an IPv6 address.
pub(crate) fn port_start(authority: &str) -> Option<usize> {
    let colon = authority.rfind(':')?;
    match authority.rfind(']') {
        Some(bracket) if bracket > colon => None,
        _ => Some(colon),
    }
}
