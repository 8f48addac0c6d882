//! Whether a client checks the certificate of the server it opens TLS to.

use meshladder_mesh::Object;
use meshladder_mesh::policies::selector;
use meshladder_text::tree::Node;

/// The mode of a policy's `tls` that opens TLS and checks nothing; none when it checks, or opens
/// none.
pub(super) fn unchecked<'r>(rule: &Object, policy: &'r Node) -> Option<(&'r Node, &'r str)> {
    let tls = policy.get("tls")?;
    let mode = tls
        .str_at("mode")
        .filter(|mode| ["SIMPLE", "MUTUAL"].contains(mode))?;
    let has = |key: &str| tls.str_at(key).is_some_and(|text| !text.is_empty());
    // "This field is applicable at sidecars only if DestinationRule has a workloadSelector
    // specified."
    let has_credential = has("credentialName") && selector(rule.spec()).is_some();
    (!has("caCertificates") && !has_credential).then_some((tls, mode))
}
