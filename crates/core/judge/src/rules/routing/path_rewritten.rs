//! See the page beside this file.

use super::effect::{self, serving, sidecar};
use super::http_route::{RouteCall, Taken};
use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs};

pub(super) static RULE: Rule = Rule {
    code: "ML0622",
    name: "path-rewritten",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "the application knows the path that the route rewrites the request to",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: effect::USES,
    explains: &["ML10"],
    docs: include_str!("path_rewritten.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let client = sidecar(facts.mesh, case);
    // A proxy's own 404 has a flag.
    let from_application = |seen: &crate::rules::Symptom| {
        seen.code == 404
            && seen.flags.is_empty()
            && seen.details.as_deref().is_none_or(|d| d == "via_upstream")
    };
    for service in serving(facts.mesh, case, client) {
        let Taken::Route(place, route) = RouteCall::of(case, client).takes(service) else {
            continue;
        };
        let Some(rewrite) = route.get("rewrite") else {
            continue;
        };
        let path = rewrite
            .str_at("uri")
            .or_else(|| rewrite.at(["uriRegexRewrite", "rewrite"])?.str());
        let host = rewrite.str_at("authority");
        let Some(to) = path.or(host) else { continue };
        out.examined();
        if !case.seen.is_some_and(from_application) {
            continue;
        }
        let message = format!(
            "{} rewrites {} towards {to} before it is sent on, and the application answers 404",
            service.id,
            if path.is_some() {
                case.call.to.path.split('?').next().unwrap_or_default()
            } else {
                "the host"
            }
        );
        let finding = out.find(
            service.id.clone(),
            message,
            Evidence::of(service, rewrite, "the rewrite"),
        );
        finding.hits.extend(client.map(|pod| pod.id.clone()));
        finding.confidence(Confidence::Likely);
        for line in case
            .server_log
            .iter()
            .filter(|line| line.code == 404)
            .take(1)
        {
            finding.see(Evidence::line(
                &DocId::new(&line.doc),
                line.number,
                "what the server's proxy logged",
            ));
        }
        let remove = vec![Op::remove(format!("/spec/http/{place}/rewrite"))];
        finding.fix(Fix::patch(&service.id, remove));
        finding.fix(Fix::advice("or rewrite to what the application serves"));
    }
}
