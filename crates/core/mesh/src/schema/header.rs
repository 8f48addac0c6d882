//! Headers: their names, and values with variables in them.

/// Letters, digits, hyphens and underscores.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// A claim of a token that routes go by: `@request.auth.claims.group`,
/// `@request.auth.claims[group]`.
pub(super) fn is_claim(name: &str) -> bool {
    const PREFIX: &str = "@request.auth.claims";
    let head = name
        .get(..PREFIX.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(PREFIX));
    head && name[PREFIX.len()..].starts_with(['.', '['])
}

/// "header cannot have \":\" prefix", except for the authority.
pub(super) fn may_be_set(name: &str) -> bool {
    !name.is_empty() && (!name.starts_with(':') || is_authority(name))
}

/// "cannot set Host header"
pub(super) fn may_be_changed(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(':') && !name.eq_ignore_ascii_case("host")
}

pub(super) fn is_authority(name: &str) -> bool {
    name.eq_ignore_ascii_case(":authority") || name.eq_ignore_ascii_case("host")
}

/// What Envoy says against a value: a lone `%` starts a variable that must end.
pub(super) fn value_problem(value: &str) -> Option<&'static str> {
    if value.bytes().any(|b| b == 0x7f || b < 0x20 && b != b'\t') {
        return Some("with a control character");
    }
    let mut rest = value;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            rest = behind;
            continue;
        }
        let end = rest.find(['%', '(']);
        rest = match end.map(|end| (rest.as_bytes()[end], &rest[end + 1..])) {
            Some((b'%', behind)) => behind,
            Some((_, arguments)) => behind_arguments(arguments)?,
            None => return Some("in which a `%` starts no variable; a plain one is written `%%`"),
        };
    }
    None
}

/// What follows `)%`. Nothing when it does not end: what stands in parentheses may be of any form,
/// and is not judged.
fn behind_arguments(arguments: &str) -> Option<&str> {
    arguments
        .find(")%")
        .map(|end| &arguments[end + 2..])
        .or_else(|| arguments.rfind('%').map(|end| &arguments[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_percent_sign_is_wrong() {
        for (value, holds) in [
            ("plain", true),
            ("100%%", true),
            ("%HOSTNAME%", true),
            ("a %REQ(x-a?x-b)% b", true),
            ("%DYNAMIC_METADATA([\"a\", \"b\"])%", true),
            ("100%", false),
            ("abc%123", false),
            ("%START_TIME%%", false),
            ("a\nb", false),
            ("a\tb", true),
        ] {
            assert_eq!(value_problem(value).is_none(), holds, "{value}");
        }
    }

    #[test]
    fn names_claims_and_pseudo_headers_are_told_apart() {
        assert!(is_name("x-a_b1") && !is_name("") && !is_name("x a") && !is_name(":path"));
        assert!(is_claim("@request.auth.claims.group") && is_claim("@Request.auth.claims[a][b]"));
        assert!(!is_claim("@request.auth.claimsgroup") && !is_claim("x"));
        assert!(
            may_be_set(":authority")
                && may_be_set("Host")
                && !may_be_set(":path")
                && !may_be_set("")
        );
        assert!(may_be_changed("x") && !may_be_changed("HOST") && !may_be_changed(":authority"));
    }
}
