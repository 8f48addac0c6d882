//! See the page beside this file.

use std::net::IpAddr;

use super::external::{host, istios};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3204",
    name: "webhook-address-is-ip",
    aka: &["IST0164"],
    rung: Rung::ControlPlane,
    severity: Severity::Info,
    claim: "the address of an external istiod is a name",
    needs: Inputs::of(&[Kind::MutatingWebhook, Kind::ValidatingWebhook]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("webhook_address_is_ip.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for hook in istios(facts.mesh) {
        out.examined();
        let Some(url) = hook.client("url") else {
            continue;
        };
        let Some(host) = url
            .str()
            .and_then(host)
            .filter(|host| host.parse::<IpAddr>().is_ok())
        else {
            continue;
        };
        let message = format!(
            "webhook {} of {} is served at the address {host}, not at a name",
            hook.name, hook.config.id
        );
        out.find(
            hook.config.id.clone(),
            message,
            Evidence::of(hook.config, url, "where it is served"),
        )
        .fix(Fix::advice(
            "use a name, which a certificate can be for and which may move",
        ));
    }
}
