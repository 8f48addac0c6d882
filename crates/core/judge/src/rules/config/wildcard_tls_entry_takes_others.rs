//! See the page beside this file.

use super::entries::{Entry, entries};
use super::met;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::host::covers;
use meshladder_mesh::services::Protocol;

pub(super) static RULE: Rule = Rule {
    code: "ML0523",
    name: "wildcard-tls-entry-takes-others",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "no ServiceEntry with a TLS wildcard gets calls to other hosts",
    needs: Inputs::of(&[Kind::ServiceEntry]),
    uses: Inputs::NONE,
    explains: &["ML06"],
    docs: include_str!("wildcard_tls_entry_takes_others.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let is_wide = |entry: &Entry<'_>| {
        matches!(entry.protocol, Protocol::Https | Protocol::Tls)
            && entry.resolution() == "NONE"
            && entry.hosts().any(|host| host.starts_with('*'))
    };
    for entry in entries(facts.mesh).filter(is_wide) {
        out.examined();
        let Some(case) = case else {
            if entry.hosts().count() > 1 {
                tell(
                    &entry,
                    "several names share one kind of cluster",
                    Severity::Info,
                    out,
                );
            }
            continue;
        };
        let wanted = met::authority(case);
        let is_own = entry.hosts().any(|host| covers(host, &wanted));
        if !is_own
            && met::clusters(case).any(|cluster| entry.hosts().any(|host| host == cluster.host))
        {
            tell(
                &entry,
                &format!("a call to {wanted} is sent to it"),
                Severity::Warning,
                out,
            );
        }
    }
}

fn tell(entry: &Entry<'_>, why: &str, severity: Severity, out: &mut Sink) {
    let hosts: Vec<&str> = entry.hosts().collect();
    let message = format!(
        "{} is for TLS to {} without resolution: {why}",
        entry.object.id,
        hosts.join(", ")
    );
    let at = entry.object.spec_at(["hosts"]).unwrap_or(entry.node);
    let finding = out.find(
        entry.object.id.clone(),
        message,
        Evidence::of(entry.object, at, "the hosts"),
    );
    finding.severity(severity);
    finding.fix(Fix::advice("give each host a ServiceEntry of its own"));
}
