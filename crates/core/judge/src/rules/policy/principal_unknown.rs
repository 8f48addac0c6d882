//! See the page beside this file.

use super::accounts::{is_of_several_clusters, principals, trust_domain};
use super::listed::of_sources;
use super::names::Names;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::{holds_in, is_complete};
use crate::rules::workloads;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

/// What workloads are read from, and the rest.
const USES: Inputs = Inputs::of(&[
    Kind::Pod,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::WorkloadEntry,
    Kind::WorkloadGroup,
    Kind::Namespace,
    Kind::Gateway,
    Kind::Secret,
]);

pub(super) static RULE: Rule = Rule {
    code: "ML2656",
    name: "principal-unknown",
    aka: &["KIA0106", "KIA0107"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every principal that a policy names is a service account",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::ServiceAccount]),
    uses: USES,
    explains: &[],
    docs: include_str!("principal_unknown.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let known = accounts(facts.mesh);
    let several = is_of_several_clusters(facts.mesh) || facts.unread(Kind::Secret).is_some();
    for policy in facts.mesh.objects.of_kind(Kind::AuthorizationPolicy) {
        for (node, name) in named(policy) {
            out.examined();
            // What no account of this mesh can have is another rule's.
            let is_foreign =
                trust_domain(&name).is_some_and(|domain| !facts.mesh.config.trusts(domain));
            if is_foreign || known.has(&name) || !can_tell(facts, &name) {
                continue;
            }
            let written = node.str().unwrap_or_default();
            let place = if several {
                "here; it may be one of another cluster"
            } else {
                "of that name"
            };
            let message = format!(
                "{} names {written}, and there is no service account {place}",
                policy.id
            );
            let finding = out.find(
                policy.id.clone(),
                message,
                Evidence::of(policy, node, "who it names"),
            );
            finding.fix(Fix::advice("name the account that the callers run as"));
            if several {
                finding.severity(Severity::Info);
            }
        }
    }
}

/// Whether accounts of the namespace that a principal names were read; of a pattern, whether all
/// were.
fn can_tell(facts: &Facts<'_>, principal: &str) -> bool {
    let namespace = principal
        .split_once("/ns/")
        .and_then(|(_, rest)| rest.split_once("/sa/"));
    let namespace = namespace
        .map(|(namespace, _)| namespace)
        .filter(|_| !principal.contains('*'));
    namespace.map_or_else(
        || is_complete(facts, Kind::ServiceAccount),
        |namespace| holds_in(facts, Kind::ServiceAccount, namespace),
    )
}

/// Every principal that a policy names, as a pattern of principals of the default trust domain.
fn named(policy: &Object) -> impl Iterator<Item = (&Node, String)> {
    let principals =
        principals(policy).map(|node| (node, node.str().unwrap_or_default().to_owned()));
    let accounts = of_sources(policy, &["serviceAccounts", "notServiceAccounts"]);
    principals.chain(accounts.map(|node| {
        let written = node.str().unwrap_or_default();
        let (namespace, name) = written
            .split_once('/')
            .unwrap_or((&policy.id.namespace, written));
        (node, format!("cluster.local/ns/{namespace}/sa/{name}"))
    }))
}

/// The principals there are: of accounts, of what runs under one, and of the one that each
/// namespace has.
fn accounts(mesh: &Mesh) -> Names {
    let objects = mesh.objects.of_kind(Kind::ServiceAccount).iter();
    let objects = objects.map(|account| (account.id.namespace.as_str(), account.id.name.as_str()));
    let running = workloads::templates(mesh).filter_map(|template| {
        Some((
            template.namespace(),
            template.spec()?.str_at("serviceAccountName")?,
        ))
    });
    let defaults = workloads::namespaces(mesh)
        .into_iter()
        .map(|namespace| (namespace, "default"));
    let empty = mesh
        .objects
        .of_kind(Kind::Namespace)
        .iter()
        .map(|namespace| (namespace.id.name.as_str(), "default"));
    let all = objects.chain(running).chain(defaults).chain(empty);
    // "cluster.local" in a policy stands for the mesh's own trust domain, whatever that is called.
    let domains = || {
        mesh.config
            .trust_domains
            .iter()
            .map(|domain| &**domain)
            .chain(["cluster.local"])
    };
    Names::of(all.flat_map(|(namespace, name)| {
        domains().map(move |domain| format!("{domain}/ns/{namespace}/sa/{name}"))
    }))
}
