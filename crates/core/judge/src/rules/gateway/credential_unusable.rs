//! See the page beside this file.

use super::credential;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2206",
    name: "credential-unusable",
    aka: &["IST0161"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "the Secret that a Gateway names has a certificate and its key",
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Secret]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("credential_unusable.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for named in credential::all(facts) {
        out.examined();
        let Some(secret) = named.secret.filter(|secret| !is_usable(secret)) else {
            continue;
        };
        let message = format!(
            "{} names the credential {}, and {} has no certificate with its key",
            named.gateway.id, named.name, secret.id
        );
        out.find(
            named.gateway.id.clone(),
            message,
            Evidence::of(named.gateway, named.node, "the Secret it names"),
        )
        .see(Evidence::object(secret, "the Secret"))
        .fix(Fix::advice(format!(
            "give {} tls.crt and tls.key",
            secret.id
        )));
    }
}

/// "cert and key" or "tls.crt and tls.key". Values are not in a Snapshot; where all are empty, who
/// collected the Secret left them out.
fn is_usable(secret: &Object) -> bool {
    let parts = || {
        ["data", "stringData"]
            .into_iter()
            .filter_map(|part| secret.node.get(part))
    };
    let mut values = parts().flat_map(Node::members).map(|member| &member.value);
    let has_values = values.any(|value| value.str() != Some(""));
    let has = |key: &str| {
        parts()
            .filter_map(|part| part.str_at(key))
            .any(|value| !has_values || !value.is_empty())
    };
    has("cert") && has("key") || has("tls.crt") && has("tls.key") || parts().next().is_none()
}
