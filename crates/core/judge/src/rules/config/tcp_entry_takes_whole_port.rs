//! See the page beside this file.

use super::entries::{Entry, entries, has_dns_capture};
use super::met;
use crate::finding::{Evidence, Finding, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::host::covers;
use meshladder_mesh::services::Protocol;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0519",
    name: "tcp-entry-takes-whole-port",
    aka: &["IST0134"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every ServiceEntry for TCP has an address, so that it takes no other host's connections",
    needs: Inputs::of(&[Kind::ServiceEntry]),
    uses: Inputs::NONE,
    explains: &["ML06", "ML07", "ML10"],
    docs: include_str!("tcp_entry_takes_whole_port.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if let Some(case) = case {
        return by_request(facts, case, out);
    }
    let all: Vec<Entry<'_>> = entries(facts.mesh).filter(takes_port).collect();
    let captures = has_dns_capture(facts.mesh);
    for (i, entry) in all.iter().enumerate() {
        out.examined();
        let rival = all[..i].iter().find(|other| {
            other.port == entry.port
                && other.object.id != entry.object.id
                && hosts(other) != hosts(entry)
        });
        let severity = if rival.is_some() && !captures {
            Severity::Warning
        } else {
            Severity::Info
        };
        tell(entry, rival, out)
            .severity(severity)
            .when_asked(Severity::Warning);
    }
}

/// An address that istiod allocates counts only where proxies answer DNS: the proxy's own listener
/// tells whether it does.
fn by_request(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let wanted = met::authority(case);
    let is_at_any_address = case.trace.sender().is_some_and(|hop| {
        let listener = hop.listener.as_deref();
        listener.is_some_and(|name| name.starts_with("0.0.0.0_") || name.starts_with("::_"))
    });
    let is_open = |entry: &Entry<'_>| {
        let is_bare = entry.object.spec_list("addresses").is_empty();
        takes_port(entry)
            || (is_bare
                && is_at_any_address
                && entry.protocol == Protocol::Tcp
                && entry.resolution() != "NONE")
    };
    let all: Vec<Entry<'_>> = entries(facts.mesh).filter(is_open).collect();
    for entry in &all {
        out.examined();
        if takes_from(case, entry) {
            let is_rival = |other: &&Entry<'_>| {
                other.port == entry.port && other.hosts().any(|host| covers(host, &wanted))
            };
            tell(entry, all.iter().find(is_rival), out);
        }
    }
}

/// With `NONE` a connection goes on to where the client wanted it.
fn takes_port(entry: &Entry<'_>) -> bool {
    entry.protocol == Protocol::Tcp && !entry.has_address() && entry.resolution() != "NONE"
}

fn hosts<'m>(entry: &Entry<'m>) -> Vec<&'m str> {
    entry.hosts().collect()
}

/// Whether a request for another host was sent to this one.
fn takes_from(case: &Case<'_>, entry: &Entry<'_>) -> bool {
    let wanted = met::authority(case);
    let is_own = entry.hosts().any(|host| covers(host, &wanted));
    !is_own
        && case.call.to.port == entry.port
        && met::clusters(case).any(|cluster| entry.hosts().any(|host| host == cluster.host))
}

fn tell<'o>(entry: &Entry<'_>, rival: Option<&Entry<'_>>, out: &'o mut Sink) -> &'o mut Finding {
    let beside = rival
        .map(|rival| format!(", and so does {}: the first wins", rival.object.id))
        .unwrap_or_default();
    let message = format!(
        "{} has no address, so it takes every connection to port {} that nothing else takes{beside}",
        entry.object.id, entry.port
    );
    let finding = out.find(
        entry.object.id.clone(),
        message,
        Evidence::of(entry.object, entry.node, "TCP, and no address"),
    );
    if let Some(rival) = rival {
        finding.see(Evidence::of(
            rival.object,
            rival.node,
            "another one on the same port",
        ));
        finding.hits(rival.object.id.clone());
    }
    finding.fix(Fix::advice(
        "give the ServiceEntry `addresses`, or turn DNS capture on so that istiod allocates them",
    ));
    finding
}
