//! See the page beside this file.

use std::collections::BTreeSet;

use super::certs::{self, Cert, Held};
use crate::finding::{Evidence, Finding, Fix, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_mesh::{ObjectRef, PodFacts};
use meshladder_text::shell;
use meshladder_text::time::Time;

pub(super) static RULE: Rule = Rule {
    code: "ML0819",
    name: "certificate-not-signed",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "the certificate authority signs the certificate of every proxy",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::ServiceAccount]).and(&[Part::Proxies]),
    explains: &["ML0313", "ML0807", "ML0808", "ML0809", "ML10"],
    docs: include_str!("certificate_not_signed.md"),
    check: Check::Either(check),
};

/// Why a proxy's agent got no certificate, by the words of gRPC and of Go's TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Token,
    Forbidden,
    Distrust,
    Other,
}

/// A proxy whose last request for a certificate failed.
struct Refused<'f> {
    pod: &'f PodFacts,
    why: Why,
    proof: Evidence,
}

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    // A certificate that is still good serves until it expires, whatever else a request meets.
    if case.is_some_and(|case| !lacks_certificate(facts, case)) {
        return;
    }
    let mut refused: Vec<Refused<'_>> = Vec::new();
    for (id, summary) in &facts.fleet.proxies {
        out.examined();
        let Some(pod) = facts.mesh.pod(&id.namespace, &id.pod) else {
            continue;
        };
        let last = summary
            .trouble
            .iter()
            .rev()
            .find_map(|(doc, line, text)| Some((doc, *line, why(text)?, text)));
        let Some((doc, line, why, text)) = last.filter(|(.., text)| is_recent(facts, text)) else {
            continue;
        };
        // A proxy that is cut off gets no certificate either, and why it is cut off is told
        // elsewhere.
        let is_cut = summary
            .connected
            .as_ref()
            .is_some_and(|(connected, ..)| !connected);
        if is_cut && why != Why::Token || has_recovered(facts, doc, line) {
            continue;
        }
        let shows = text.split('\t').next_back().unwrap_or_default();
        refused.push(Refused {
            pod,
            why,
            proof: Evidence::line(doc, line, shows),
        });
    }
    for why in [Why::Token, Why::Forbidden, Why::Distrust, Why::Other] {
        let alike: Vec<&Refused<'_>> = refused.iter().filter(|one| one.why == why).collect();
        let workloads: BTreeSet<ObjectRef> = alike.iter().map(|one| one.pod.workload()).collect();
        // What hits nearly everybody is no workload's fault.
        if workloads.len() > 1 && alike.len() * 2 > facts.fleet.proxies.len() {
            tell_all(facts, why, &alike, out);
            continue;
        }
        for workload in &workloads {
            let own: Vec<&Refused<'_>> = alike
                .iter()
                .copied()
                .filter(|one| one.pod.workload() == *workload)
                .collect();
            tell_one(facts, why, workload, &own, out);
        }
    }
}

/// Whether a proxy on the way of a request that failed has no certificate, or one that has expired.
fn lacks_certificate(facts: &Facts<'_>, case: &Case<'_>) -> bool {
    let now = facts.snapshot.taken_at();
    let is_over = |cert: &Cert| {
        now.zip(cert.expires)
            .is_some_and(|(now, expires)| expires < now)
    };
    let lacks = |held: &Held| held.own.is_empty() || held.own.iter().any(is_over);
    case.seen.is_some_and(|seen| !seen.is_success())
        && certs::held(facts, Some(case)).iter().any(lacks)
}

/// What a line of the agent says of a certificate that was asked for; none for other trouble.
fn why(text: &str) -> Option<Why> {
    const ASKING: [&str; 6] = [
        "CSR",
        "citadelclient",
        "ca request failed",
        "workload certificate",
        "warm certificate",
        "create certificate",
    ];
    if !ASKING.iter().any(|word| text.contains(word)) {
        return None;
    }
    let has = |word: &str| text.contains(word);
    Some(match () {
        () if has("Unauthenticated")
            || has("authentication failure")
            || (has("token") && has("expired")) =>
        {
            Why::Token
        }
        () if has("PermissionDenied") || has("TTL") => Why::Forbidden,
        () if has("x509") => Why::Distrust,
        () => Why::Other,
    })
}

fn is_recent(facts: &Facts<'_>, text: &str) -> bool {
    const RECENT: i64 = 600;
    let time = text.split('\t').next().and_then(Time::parse);
    facts
        .snapshot
        .taken_at()
        .zip(time)
        .is_none_or(|(now, time)| now.seconds_since(time) < RECENT)
}

/// Whether the agent got one afterwards.
fn has_recovered(facts: &Facts<'_>, doc: &DocId, line: usize) -> bool {
    let Ok(log) = facts.snapshot.open(doc) else {
        return false;
    };
    log.text
        .lines()
        .skip(line)
        .any(|text| text.contains("generated new workload certificate"))
}

impl Why {
    fn in_words(self) -> &'static str {
        match self {
            Self::Token => "does not accept the token",
            Self::Forbidden => "refuses the request",
            Self::Distrust => "shows a certificate that is not trusted to the proxy",
            Self::Other => "does not answer the request",
        }
    }
}

fn tell_all(facts: &Facts<'_>, why: Why, all: &[&Refused<'_>], out: &mut Sink) {
    let istiod = facts
        .mesh
        .istiods(None)
        .first()
        .map(|pod| called_service::workload_ref(facts.mesh, pod));
    let (Some(istiod), Some(first)) = (istiod, all.first()) else {
        return;
    };
    let message = format!(
        "{istiod} signs no certificates: it {} of {} proxies",
        why.in_words(),
        all.len()
    );
    let finding = out.find(istiod.clone(), message, first.proof.clone());
    for one in all {
        finding.hits(one.pod.reference());
    }
    finding.fix(Fix::look(shell::command(
        "kubectl logs deployment/{} -n {} | grep -i serverca",
        &[&istiod.name, &istiod.namespace],
    )));
    let advice = "see its settings for tokens and certificates (JWT_POLICY, audiences, CA), and its own certificate";
    finding.fix(Fix::advice(advice));
}

fn tell_one(
    facts: &Facts<'_>,
    why: Why,
    workload: &ObjectRef,
    own: &[&Refused<'_>],
    out: &mut Sink,
) {
    let Some(first) = own.first() else { return };
    let account = ObjectRef::of(
        Kind::ServiceAccount,
        &first.pod.namespace,
        &first.pod.service_account,
    );
    let is_known = facts.mesh.objects.find(&account).is_some();
    let is_gone = why == Why::Token && !is_known && facts.unread(Kind::ServiceAccount).is_none();
    let (subject, because) = if is_gone {
        (account.clone(), format!(": there is no {account}"))
    } else {
        (workload.clone(), String::new())
    };
    let message = format!(
        "the proxy of {workload} gets no new certificate: the certificate authority {}{because}",
        why.in_words()
    );
    let finding: &mut Finding = out.find(subject, message, first.proof.clone());
    for one in own {
        finding.hits(one.pod.reference());
    }
    if is_gone {
        let yaml = format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {}\n  namespace: {}\n",
            account.name, account.namespace
        );
        finding.fix(
            Fix::create(&account, yaml)
                .unchecked("the pods must be made anew for tokens of the new account"),
        );
    }
    if let Some(pod) = facts
        .mesh
        .objects
        .get(Kind::Pod, &first.pod.namespace, &first.pod.name)
    {
        finding.fix(called_service::restart(facts.mesh, pod));
    }
    finding.fix(Fix::look(shell::command(
        "kubectl logs {} -n {} -c istio-proxy | grep -i -e csr -e sds -e citadel",
        &[&first.pod.name, &first.pod.namespace],
    )));
}
