//! See the page beside this file.

use super::certs::{self, Cert, Held};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::ObjectRef;
use meshladder_text::shell;
use meshladder_text::time::Time;

pub(super) static RULE: Rule = Rule {
    code: "ML0807",
    name: "certificate-out-of-time",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "every certificate that a proxy holds is valid when the snapshot was taken",
    needs: Inputs::NONE.and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &["ML08", "ML10"],
    docs: include_str!("certificate_out_of_time.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let Some(now) = facts.snapshot.taken_at() else {
        return;
    };
    for held in certs::held(facts, case) {
        out.examined();
        // A bundle may well keep an old root beside the one that counts.
        let is_over = |roots: &&Vec<Cert>| roots.iter().all(|cert| wrong(cert, now).is_some());
        let roots = held.root_sets.iter().filter(is_over).flatten();
        let own = held.own.iter().map(|cert| (cert, "certificate"));
        let mut all = own.chain(roots.map(|cert| (cert, "root")));
        // One is enough to say so.
        if let Some((cert, what, when)) =
            all.find_map(|(cert, what)| Some((cert, what, wrong(cert, now)?)))
        {
            tell(facts, &held, cert, what, &when, out);
        }
    }
}

fn wrong(cert: &Cert, now: Time) -> Option<String> {
    let ahead = cert.valid_from.filter(|from| *from > now);
    let over = cert.expires.filter(|until| *until < now);
    match (ahead, over) {
        (Some(from), _) => Some(format!(
            "is valid only from {from}, {} s after the snapshot",
            from.seconds_since(now)
        )),
        (None, Some(until)) => Some(format!("expired at {until}")),
        (None, None) => None,
    }
}

fn tell(facts: &Facts<'_>, held: &Held, cert: &Cert, what: &str, when: &str, out: &mut Sink) {
    let (namespace, name) = (&held.proxy.namespace, &held.proxy.pod);
    let pod = facts.mesh.objects.get(Kind::Pod, namespace, name);
    let workload = pod.map_or_else(
        || ObjectRef::of(Kind::Pod, namespace, name),
        |pod| called_service::workload_ref(facts.mesh, pod),
    );
    let secret = certs::secret_of(facts, held, cert)
        .map(|(ns, name)| ObjectRef::of(Kind::Secret, &ns, &name));
    let who = cert
        .uris
        .first()
        .map_or_else(String::new, |uri| format!(" for {uri}"));
    let of = secret
        .as_ref()
        .map_or_else(String::new, |secret| format!(" of {secret}"));
    let message =
        format!("a {what}{who}{of} that the proxy of Pod {namespace}/{name} holds {when}");
    let is_own = secret.is_none();
    let finding = out.find(
        secret.unwrap_or(workload),
        message,
        Evidence::offset(&held.doc, cert.at, "the certificate"),
    );
    finding.hits(ObjectRef::of(Kind::Pod, namespace, name));
    finding.fix(Fix::look(shell::command(
        "meshladder proxy-config secret {}.{}",
        &[name, namespace],
    )));
    finding.fix(Fix::advice(
        "compare the clocks of the nodes (NTP), and see whether istiod signs certificates",
    ));
    if let Some(pod) = pod.filter(|_| is_own) {
        finding.fix(called_service::restart(facts.mesh, pod));
    }
}
