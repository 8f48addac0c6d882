//! Where an API server serves the objects of a kind.

use meshladder_capture::Kind;

/// The path of a kind's objects.
pub(crate) fn path(kind: Kind, version: &str, namespace: Option<&str>) -> String {
    let inside = namespace
        .filter(|_| kind.is_namespaced())
        .map(|namespace| format!("/namespaces/{namespace}"))
        .unwrap_or_default();
    format!("{}{inside}/{}", api(kind, version), kind.plural())
}

/// The path of a kind's group and version.
pub(crate) fn api(kind: Kind, version: &str) -> String {
    match kind.group() {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    }
}

/// What its objects say of their version.
pub(crate) fn api_version(kind: Kind, version: &str) -> String {
    match kind.group() {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

#[cfg(test)]
mod tests {
    use meshladder_capture::kind::Depth;
    use meshladder_judge::rules;

    use super::*;

    #[test]
    fn every_kind_that_a_rule_looks_at_can_be_read() {
        for rule in rules::all() {
            for kind in rule.needs.kinds().iter().chain(rule.uses.kinds()) {
                assert_ne!(kind.depth(), Depth::Nothing, "{kind} of {}", rule.code);
            }
        }
    }

    #[test]
    fn only_what_is_in_namespaces_has_a_path_in_one() {
        assert_eq!(
            path(Kind::Gateway, "v1", Some("shop")),
            "/apis/networking.istio.io/v1/namespaces/shop/gateways"
        );
        assert_eq!(
            path(Kind::Namespace, "v1", Some("shop")),
            "/api/v1/namespaces"
        );
    }
}
