//! See the page beside this file.

use std::collections::BTreeSet;

use super::effect::{self, serving, sidecar};
use super::http_route::{RouteCall, Taken};
use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::access_log;
use meshladder_capture::snapshot::{DocId, Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML0622",
    name: "path-rewritten",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "the application knows the path that the route rewrites the request to",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: effect::USES.and(&[Part::Logs]),
    explains: &["ML10"],
    docs: include_str!("path_rewritten.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let client = sidecar(facts.mesh, case);
    let Some(code) = case.seen.and_then(|seen| refused(facts, case, seen)) else {
        return;
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
        let message = format!(
            "{} rewrites {} towards {to} before it is sent on, and the application answers {code}",
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
            .filter(|line| line.code == code)
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

/// The status by which the application itself refused the request: one that says there is no such
/// thing, or an error, when it answers others without one. A proxy's own 404 has a flag.
fn refused(facts: &Facts<'_>, case: &Case<'_>, seen: &Symptom) -> Option<u16> {
    let is_relayed = seen.flags.is_empty()
        && seen
            .details
            .as_deref()
            .is_none_or(|details| details == "via_upstream");
    let is_refused = match seen.code {
        404 | 405 | 410 => true,
        400..=599 => serves_others(facts, case, seen.code),
        _ => false,
    };
    (is_relayed && is_refused).then_some(seen.code)
}

/// Whether the pods that answered so answer requests for other paths well.
fn serves_others(facts: &Facts<'_>, case: &Case<'_>, code: u16) -> bool {
    let relayed = case.server_log.iter().filter(|line| line.code == code);
    let pods: BTreeSet<&str> = relayed.map(|line| line.doc.as_str()).collect();
    let path = case.call.to.path.split('?').next().unwrap_or_default();
    let mut serves = false;
    for id in pods {
        let Ok(log) = facts.snapshot.open(&DocId::new(id)) else {
            continue;
        };
        let others = access_log::lines(&log).filter(|line| {
            line.cluster.starts_with("inbound|")
                && line.details == "via_upstream"
                && line.path_only() != path
        });
        for line in others {
            if line.code == code {
                return false;
            }
            serves |= line.code < 400;
        }
    }
    serves
}
