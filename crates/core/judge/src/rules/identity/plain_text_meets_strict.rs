//! See the page beside this file.

use super::port_level::{self, Misplaced};
use super::servers::{self, Server};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::selector_misses::{for_nobody, slip};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_mesh::policies::Workload;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0802",
    name: "plain-text-meets-strict",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "no client without a proxy calls a port that takes mutual TLS only",
    needs: Inputs::of(&[Kind::Pod, Kind::PeerAuthentication]),
    uses: Inputs::of(&[
        Kind::Namespace,
        Kind::Service,
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::ReplicaSet,
        Kind::Job,
        Kind::WorkloadEntry,
        Kind::WorkloadGroup,
        Kind::ConfigMap,
    ])
    .and(&[Part::Logs]),
    explains: &["ML10"],
    docs: include_str!("plain_text_meets_strict.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(client) = case.client.filter(|client| !client.has_proxy) else {
        return;
    };
    out.examined();
    let strict: Vec<_> = servers::of_request(facts, case)
        .into_iter()
        .filter(|s| s.mode.mode == MutualTls::Strict)
        .collect();
    let Some(first) = strict.first().filter(|_| servers::may_fail(case)) else {
        return;
    };
    let Some((policy, mode)) = first.mode.by else {
        return;
    };
    if let Some((exempt, label, own)) = missed_exemption(facts, first.pod) {
        let message = format!(
            "{} would let plain text in to {}, but selects {}, which nothing has, so {} refuses {}",
            exempt.id,
            called_service::workload_ref(facts.mesh, first.pod),
            label.str().unwrap_or_default(),
            policy.id,
            client.workload()
        );
        let finding = out.find(
            exempt.id.clone(),
            message,
            Evidence::of(exempt, label, "what it selects"),
        );
        finding.see(Evidence::of(policy, mode, "only mutual TLS is taken"));
        finding.hits(client.reference()).hits(first.pod.id.clone());
        finding.fix(Fix::patch(
            &exempt.id,
            [Op::replace(exempt.path_of(label), &own)],
        ));
        return;
    }
    if let Some(misplaced) = misplaced_exemption(facts, first) {
        let message = format!(
            "{} would let plain text in to {} on port {}, but the workload listens on {}, so {} refuses {}",
            misplaced.policy.id,
            called_service::workload_ref(facts.mesh, first.pod),
            misplaced.entry.key,
            first.port,
            policy.id,
            client.workload()
        );
        let proof = Evidence::of(
            misplaced.policy,
            &misplaced.entry.value,
            "the port it names",
        );
        let finding = out.find(misplaced.policy.id.clone(), message, proof);
        finding.see(Evidence::of(policy, mode, "only mutual TLS is taken"));
        finding.hits(client.reference()).hits(first.pod.id.clone());
        finding.fixes.extend(misplaced.fix());
        return;
    }
    let message = format!(
        "{} demands mutual TLS of {} on port {}, and {} has no proxy to speak it: its plain text is refused",
        policy.id,
        called_service::workload_ref(facts.mesh, first.pod),
        first.port,
        client.workload()
    );
    // Where the others of its namespace have a proxy, the client is the odd one.
    let is_odd = wants_proxy(facts, client);
    let subject = if is_odd {
        client.workload()
    } else {
        policy.id.clone()
    };
    let finding = out.find(
        subject,
        message,
        Evidence::of(policy, mode, "only mutual TLS is taken"),
    );
    finding.hits(client.reference());
    if let Some(stored) = facts
        .mesh
        .objects
        .get(Kind::Pod, &client.namespace, &client.name)
    {
        let containers = stored.spec_at(["containers"]).unwrap_or(&stored.node);
        finding.see(Evidence::of(
            stored,
            containers,
            "the client has no istio-proxy",
        ));
    }
    for server in &strict {
        finding.hits(server.pod.id.clone());
        if let Some((doc, line)) = refusal(facts, server.pod, client) {
            finding.see(Evidence::line(
                &doc,
                line,
                "the server's proxy found no filter chain for plain text",
            ));
        }
    }
    let open = Fix::patch(
        &policy.id,
        [Op::replace(policy.path_of(mode), "PERMISSIVE")],
    );
    let inject = Fix::advice(format!(
        "give {} a proxy: label its namespace {} for injection and restart it",
        client.workload(),
        client.namespace
    ));
    let fixes = if is_odd {
        [inject, open]
    } else {
        [open, inject]
    };
    finding.fixes.extend(fixes);
}

/// The policy that was to exempt a pod and misses it by a slip of the finger.
fn missed_exemption<'f>(facts: &Facts<'f>, pod: &Object) -> Option<(&'f Object, &'f Node, String)> {
    let opens = |policy: &&Object| {
        let modes = policy
            .spec_at(["portLevelMtls"])
            .map_or(&[][..], Node::members)
            .iter()
            .map(|member| &member.value);
        let mut modes = modes
            .chain(policy.spec_at(["mtls"]))
            .filter_map(|part| part.str_at("mode"));
        modes.any(|mode| matches!(mode, "PERMISSIVE" | "DISABLE"))
    };
    for_nobody(facts, &[Kind::PeerAuthentication])
        .into_iter()
        .filter(opens)
        .find_map(|policy| {
            let (label, own) = slip(policy, pod)?;
            Some((policy, label, own))
        })
}

/// The policy that was to exempt the port that is called, and names it by the Service's number.
fn misplaced_exemption<'f>(facts: &Facts<'f>, server: &Server<'f>) -> Option<Misplaced<'f>> {
    let policies = facts
        .mesh
        .policies(Kind::PeerAuthentication, &Workload::of(server.pod));
    let mut entries = policies
        .into_iter()
        .flat_map(|policy| port_level::of(facts, policy, server.pod));
    entries.find(|entry| {
        let opens = entry.mode().is_some_and(|mode| mode != MutualTls::Strict);
        opens && entry.meant.is_some_and(|(_, port)| port == server.port)
    })
}

/// Whether the client's namespace is one of the mesh.
fn wants_proxy(facts: &Facts<'_>, client: &meshladder_mesh::PodFacts) -> bool {
    let has_others = facts
        .mesh
        .pods
        .iter()
        .any(|pod| pod.namespace == client.namespace && pod.has_proxy);
    let namespace = facts
        .mesh
        .objects
        .get(Kind::Namespace, "", &client.namespace);
    let is_labelled = |namespace: &Object| {
        namespace.label("istio-injection") == Some("enabled")
            || namespace.label("istio.io/rev").is_some()
    };
    has_others || namespace.is_some_and(is_labelled)
}

/// The last line of the server's log where it turned the client away.
fn refusal(
    facts: &Facts<'_>,
    server: &Object,
    client: &meshladder_mesh::PodFacts,
) -> Option<(DocId, usize)> {
    let log = called_service::proxy_log(facts, server)?;
    let from = |remote: &str| {
        remote
            .rsplit_once(':')
            .and_then(|(host, _)| host.parse().ok())
            .is_some_and(|ip| client.ips.contains(&ip))
    };
    let lines = meshladder_capture::access_log::lines(&log)
        .filter(|line| line.details == "filter_chain_not_found" && from(&line.remote));
    lines.last().map(|line| (log.id.clone(), line.number))
}
