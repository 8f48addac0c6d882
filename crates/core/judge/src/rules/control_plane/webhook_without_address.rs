//! See the page beside this file.

use super::external::{host, istios};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3203",
    name: "webhook-without-address",
    aka: &["IST0163"],
    rung: Rung::ControlPlane,
    severity: Severity::Warning,
    claim: "every webhook of Istio says where it is served",
    needs: Inputs::of(&[Kind::MutatingWebhook, Kind::ValidatingWebhook]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("webhook_without_address.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for hook in istios(facts.mesh) {
        out.examined();
        let url = hook.client("url");
        let why = match url.and_then(Node::str) {
            None if hook.client("service").is_some() => continue,
            None => "names neither a url nor a Service".to_owned(),
            Some(url) if host(url).is_some() => continue,
            Some(url) => format!("has the url {url}, which cannot be read"),
        };
        let message = format!("webhook {} of {} {why}", hook.name, hook.config.id);
        let node = url.unwrap_or(hook.node);
        out.find(
            hook.config.id.clone(),
            message,
            Evidence::of(hook.config, node, "where it is served"),
        )
        .fix(Fix::advice(
            "give clientConfig.url the address of the external istiod, or name its Service",
        ));
    }
}
