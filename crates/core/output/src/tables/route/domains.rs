//! The DOMAINS column: the two domains a person would name, and how many more there are.

use std::borrow::Cow;
use std::collections::BTreeSet;

use meshladder_text::json::Raw;

const SHOWN: usize = 2;

pub(super) fn describe(domains: Raw<'_>) -> String {
    let all: Vec<Cow<'_, str>> = domains.elements().filter_map(Raw::string).collect();
    if let [only] = &all[..] {
        return only.to_string();
    }
    let without_port: Vec<_> = all.iter().map(|d| &**d).filter(|d| !has_port(d)).collect();
    let known: BTreeSet<_> = without_port.iter().copied().collect();
    let visible: Vec<_> = without_port
        .into_iter()
        .filter(|d| !is_longer_form(d, &known))
        .collect();
    let shown = visible
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match visible.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

/// `[2001:db8::1]` is an address without a port.
fn has_port(domain: &str) -> bool {
    domain.contains(':') && !(domain.starts_with('[') && domain.ends_with(']'))
}

/// Whether the same Service is listed by a shorter name.
fn is_longer_form(domain: &str, known: &BTreeSet<&str>) -> bool {
    [".svc.cluster.local", ".svc"].iter().any(|suffix| {
        domain
            .strip_suffix(suffix)
            .is_some_and(|short| known.contains(short))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_forms_and_ports_are_left_out() {
        for (domains, expected) in [
            (r#"["*"]"#, "*"),
            (
                r#"["a.shop.svc.cluster.local:80"]"#,
                "a.shop.svc.cluster.local:80",
            ),
            (r#"["a.test","a.test:80"]"#, "a.test"),
            (
                r#"["a.shop.svc.cluster.local","a.shop.svc.cluster.local.","a","a.shop.svc","a.shop","10.0.0.1"]"#,
                "a.shop.svc.cluster.local., a + 2 more...",
            ),
            (
                r#"["[2001:db8::1]","[2001:db8::1]:80","x"]"#,
                "[2001:db8::1], x",
            ),
            ("[]", ""),
        ] {
            assert_eq!(
                describe(Raw::of(domains).expect("JSON")),
                expected,
                "{domains}"
            );
        }
    }
}
