//! Connections that a server's proxy turned away because they were not TLS: their callers have no
//! log to tell.

use std::collections::BTreeMap;

use super::{Failure, MOST_ASKED, Scope, call, caller, concerned, late, told_by};
use crate::rules::{Facts, Symptom};
use meshladder_capture::access_log::AccessLine;
use meshladder_mesh::services::{ports, target_port};
use meshladder_mesh::{ObjectRef, PodFacts};
use meshladder_sim::walk::{Caller, Url};

/// Envoy's words when no chain takes a connection that is not TLS.
pub(super) const REFUSED: &str = "filter_chain_not_found";

/// Who was turned away by which Service, and the lines that say so.
type Refusals<'m> = BTreeMap<(ObjectRef, String), (&'m PodFacts, ObjectRef, Vec<AccessLine>)>;

/// The pods without a proxy that were turned away, one failure for each and the Service it called.
pub(super) fn refused(facts: &Facts<'_>, scope: &Scope) -> Vec<Failure> {
    const MANY: usize = 3;
    let Some((own, _)) = concerned(facts, scope) else {
        return Vec::new();
    };
    let concerns = |pod: &ObjectRef| own.as_ref().is_none_or(|own| own.contains(pod));
    // Of a client that is asked about, the servers tell.
    let asks_client = own.iter().flatten().any(|pod| {
        !facts
            .mesh
            .pod(&pod.namespace, &pod.name)
            .is_some_and(|p| p.has_proxy)
    });
    let tellers = told_by(facts, own.as_deref().filter(|_| !asks_client));
    let mut refusals = Refusals::new();
    for server in tellers {
        for line in late(facts.snapshot, &server)
            .into_iter()
            .filter(|line| line.details == REFUSED)
        {
            let Some(client) = caller(facts.mesh, &line).filter(|client| !client.has_proxy) else {
                continue;
            };
            let Some(url) = called(facts, &server, &line) else {
                continue;
            };
            if concerns(&server) || concerns(&client.reference()) {
                let one = refusals.entry((client.workload(), url));
                one.or_insert_with(|| (client, server.clone(), Vec::new()))
                    .2
                    .push(line);
            }
        }
    }
    let failures = refusals
        .into_iter()
        .filter_map(|((_, url), (client, server, mut lines))| {
            let goes_on = lines.len() >= MANY;
            let is_own_call = own
                .as_ref()
                .is_some_and(|own| own.contains(&client.reference()));
            let from = Caller::Pod {
                namespace: client.namespace.clone(),
                name: client.name.clone(),
            };
            let call = call(from, Url::parse(&url).ok()?, "GET", "1.1");
            Some(Failure {
                call,
                seen: Symptom::default(),
                line: lines.pop()?,
                pod: server,
                is_own_call,
                goes_on,
            })
        });
    failures.take(MOST_ASKED).collect()
}

/// The Service of the server that leads to the port that was called.
fn called(facts: &Facts<'_>, server: &ObjectRef, line: &AccessLine) -> Option<String> {
    let pod = facts.mesh.objects.find(server)?;
    let port: u16 = line.local.rsplit_once(':')?.1.parse().ok()?;
    facts.mesh.services_of(pod).into_iter().find_map(|service| {
        let own = ports(service).find(|own| target_port(own, pod) == Some(port))?;
        Some(format!(
            "http://{}:{}/",
            facts
                .mesh
                .domain
                .service(&service.id.name, &service.id.namespace),
            own.number
        ))
    })
}
