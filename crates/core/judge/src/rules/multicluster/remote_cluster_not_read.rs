//! See the page beside this file.

use std::net::IpAddr;

use super::joint::{self, Pair};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::istiod::clusterz::WatchedCluster;
use meshladder_capture::snapshot::{DocId, Inputs, Part, Shape};
use meshladder_mesh::network_policy::{End, Passage};
use meshladder_mesh::{Cluster, Object, ObjectRef};
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML1202",
    name: "remote-cluster-not-read",
    aka: &[],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "every istiod has read the clusters that it watches",
    needs: Inputs::of(&[]).and(&[Part::Istiod]),
    uses: Inputs::of(&[
        Kind::Secret,
        Kind::Pod,
        Kind::Service,
        Kind::NetworkPolicy,
        Kind::Namespace,
        Kind::EndpointSlice,
        Kind::ConfigMap,
    ])
    .and(&[Part::Logs]),
    explains: &["ML06", "ML07", "ML10", "ML12"],
    docs: include_str!("remote_cluster_not_read.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for pair in joint::pairs(crossing) {
        let Some((doc, clusters)) = joint::watched(pair.from) else {
            continue;
        };
        let Some(known) = clusters.iter().find(|known| known.id == pair.to.id) else {
            continue;
        };
        out.examined();
        let complaint = complaint(pair.from, &known.id);
        let is_refused = complaint.as_ref().is_some_and(Complaint::is_refusal);
        let is_starved = crossing.request.is_none_or(|request| request.is_starved());
        // A cluster that was read once is still known when its credentials no longer count, as far
        // as it was read then.
        if (known.is_synced() && !is_refused) || !is_starved {
            continue;
        }
        report(crossing, &pair, (&doc, known), complaint.as_ref(), out);
    }
}

fn report(
    crossing: &Crossing<'_>,
    pair: &Pair<'_>,
    (doc, known): (&DocId, &WatchedCluster),
    complaint: Option<&Complaint>,
    out: &mut Sink,
) {
    let Pair { from, to, .. } = *pair;
    let servers = joint::api_servers(to);
    let state = format!(
        "istiod in {} has not read cluster {} ({})",
        from.name, to.name, known.status
    );
    let status = joint::of(
        from,
        Evidence::offset(
            doc,
            known.at,
            format!("how far istiod in {} is with it", from.name),
        ),
    );
    let is_elsewhere = complaint
        .and_then(|told| told.server.as_ref())
        .is_some_and(|told| !servers.is_empty() && !servers.iter().any(|(own, _)| own == told));
    let is_told = complaint.is_some_and(Complaint::is_refusal) || is_elsewhere;
    if let (false, Some((policy, proof, address))) = (is_told, blocked(from, &servers)) {
        let message = format!(
            "{state}: {} keeps it from {address}, the API server of {}",
            policy.id, to.name
        );
        crossing
            .find(
                out,
                from,
                policy.id.clone(),
                message,
                joint::of(from, proof),
            )
            .see(status)
            .fix(Fix::advice(format!(
                "let istiod's egress reach {address}, in {}",
                policy.id
            )));
        return;
    }
    let secret = secret(from, known, &to.id);
    let because = match complaint {
        Some(told) if told.is_refusal() => {
            format!("its API server does not accept the credentials in {secret}")
        }
        Some(told) if told.text.contains("x509") => {
            format!("the certificate of its API server is not one that {secret} trusts")
        }
        Some(Complaint {
            server: Some(server),
            ..
        }) if is_elsewhere => {
            format!(
                "{secret} names the server {server}, and its API server is at {}",
                first(&servers)
            )
        }
        Some(told) => format!("by {secret} it fails: {}", told.reason()),
        None => format!("by {secret} its API server does not answer"),
    };
    let message = format!("{state}: {because}");
    let proof = match complaint {
        Some(told) => joint::of(
            from,
            Evidence::line(&told.doc, told.line, "what istiod says of it"),
        ),
        None => status.clone(),
    };
    let finding = crossing.find(out, from, secret, message, proof);
    if complaint.is_some() {
        finding.see(status);
    } else {
        finding.confidence(Confidence::Likely);
    }
    finding.fix(Fix::command(
        crate::finding::Risk::Reversible,
        shell::command("istioctl create-remote-secret --context {} --name {} | kubectl apply --context {} -f -", &[&to.name, &to.id, &from.name]),
    ));
}

fn first(servers: &[(&str, u16)]) -> String {
    servers
        .first()
        .map(|(address, port)| format!("{address}:{port}"))
        .unwrap_or_default()
}

/// The Secret by which istiod reads the cluster.
fn secret(from: &Cluster, known: &WatchedCluster, id: &str) -> ObjectRef {
    if let Some((namespace, name)) = &known.secret {
        ObjectRef::of(Kind::Secret, namespace, name)
    } else {
        let name = format!("istio-remote-secret-{id}");
        ObjectRef::of(Kind::Secret, &from.mesh.config.root_namespace, &name)
    }
}

/// The policy that keeps istiod from an API server, with its proof and the server's address.
fn blocked<'a>(
    from: &'a Cluster,
    servers: &[(&str, u16)],
) -> Option<(&'a Object, Evidence, String)> {
    for istiod in from.mesh.istiods(None) {
        for (address, port) in servers {
            let Ok(ip) = address.parse::<IpAddr>() else {
                continue;
            };
            let passage = from
                .mesh
                .connection(End::Pod(istiod), End::Address(ip), *port, "TCP");
            if let Passage::Blocked(ends) = passage
                && let Some(end) = ends.first()
                && let Some(part) = end.policies.first()
            {
                let policy = end.nearest.as_ref().map_or(part.policy, |near| near.policy);
                let node = if std::ptr::eq(policy, part.policy) {
                    part.node
                } else {
                    &policy.node
                };
                let shows = format!("what {} may reach", istiod.id);
                let proof = Evidence::of(policy, node, shows);
                return Some((policy, proof, format!("{address}:{port}")));
            }
        }
    }
    None
}

/// What istiod last said of a cluster that it cannot read.
struct Complaint {
    doc: DocId,
    line: usize,
    text: String,
    /// The host of the server that it called.
    server: Option<String>,
}

impl Complaint {
    /// Whether the server answers and refuses who calls.
    fn is_refusal(&self) -> bool {
        ["Unauthorized", "forbidden", "must be logged in"]
            .iter()
            .any(|word| self.text.contains(word))
    }

    /// The last part of the line: `connect: network is unreachable`.
    fn reason(&self) -> &str {
        self.text
            .rsplit_once("\": ")
            .map_or(self.text.as_str(), |(_, reason)| reason)
    }
}

fn complaint(from: &Cluster, id: &str) -> Option<Complaint> {
    let about = [format!("in cluster {id}: "), format!("cluster {id}: ")];
    let mut last = None;
    for doc in from.snapshot.ids().filter(|doc| is_istiods(doc)) {
        let Ok(document) = from.snapshot.open(doc) else {
            continue;
        };
        for (at, line) in document.text.lines().enumerate() {
            let is_bad = line.contains("\terror\t") || line.contains("\twarn\t");
            if !is_bad || !about.iter().any(|about| line.contains(about)) {
                continue;
            }
            last = Some(Complaint {
                doc: doc.clone(),
                line: at + 1,
                text: line.to_owned(),
                server: server_in(line),
            });
        }
    }
    last
}

/// `https://10.0.0.1:6443/api/…` in a line of a log.
fn server_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("https://")?;
    let end = rest.find(['/', '"']).unwrap_or(rest.len());
    let host = rest[..end]
        .rsplit_once(':')
        .map_or(&rest[..end], |(host, _)| host);
    Some(host.trim_matches(['[', ']']).to_owned())
}

fn is_istiods(doc: &DocId) -> bool {
    doc.shape() == Shape::Log && doc.as_str().ends_with("/discovery.log")
}
