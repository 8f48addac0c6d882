//! See the page beside this file.

use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2505",
    name: "egress-proxy-deprecated",
    aka: &["IST0002"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "no Sidecar names an egress proxy, which is no longer read",
    needs: Inputs::of(&[Kind::Sidecar]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("egress_proxy_deprecated.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for sidecar in facts.mesh.objects.of_kind(Kind::Sidecar) {
        out.examined();
        let Some(proxy) = sidecar.spec_at(["outboundTrafficPolicy", "egressProxy"]) else {
            continue;
        };
        let message = format!(
            "{} names outboundTrafficPolicy.egressProxy, which is ignored",
            sidecar.id
        );
        let path = sidecar.path_of(proxy);
        out.find(
            sidecar.id.clone(),
            message,
            Evidence::of(sidecar, proxy, "what is ignored"),
        )
        .fix(Fix::patch(&sidecar.id, [Op::remove(path)]));
    }
}
