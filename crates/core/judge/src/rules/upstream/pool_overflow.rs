//! See the page beside this file.

use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_sim::walk::Scheme;

pub(super) static RULE: Rule = Rule {
    code: "ML1011",
    name: "pool-overflow",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "the connection pool of the caller's proxy has room for the requests",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Pod]),
    uses: Inputs::of(&[Kind::Service, Kind::ServiceEntry, Kind::Sidecar])
        .and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("pool_overflow.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let told = accounts::of(facts, case)
        .into_iter()
        .find(|told| told.has("UO"));
    if told.is_none() && !case.seen.is_some_and(|seen| seen.has("UO")) {
        return;
    }
    // `UO` at the server's own proxy comes from the same rule: istiod applies it to inbound
    // clusters too.
    let Some(caller) = accounts::caller(facts, case) else {
        return;
    };
    let Some((rule, pool)) = accounts::client_setting(facts, case, "connectionPool") else {
        return;
    };
    let limits: Vec<String> = ["http", "tcp"]
        .iter()
        .filter_map(|kind| pool.get(kind))
        .flat_map(meshladder_text::tree::Node::members)
        .filter_map(|member| match &member.value.value {
            meshladder_text::tree::Value::Number(number) => {
                Some(format!("{} {number}", member.key))
            }
            _ => None,
        })
        .collect();
    let message = format!(
        "{} limits the connections of each caller to {} ({}), and what goes beyond is {} at once",
        rule.id,
        case.host,
        limits.join(", "),
        if case.call.to.scheme == Scheme::Tcp {
            "closed"
        } else {
            "answered 503"
        }
    );
    let finding = out.find(
        rule.id.clone(),
        message,
        Evidence::of(rule, pool, "the limits"),
    );
    if let Some(told) = told {
        finding.see(told.proof);
    }
    finding.hits(caller.reference());
    let at = rule.path_of(pool);
    finding.fix(Fix::patch(&rule.id, [Op::remove(at)]));
    finding.fix(Fix::advice("or raise the limits to what the callers need"));
}
