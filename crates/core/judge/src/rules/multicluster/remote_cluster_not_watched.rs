//! See the page beside this file.

use super::joint::{self, Pair, RemoteSecret};
use crate::finding::{Evidence, Finding, Fix, Risk, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_capture::snapshot::Part;
use meshladder_mesh::ObjectRef;
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML1201",
    name: "remote-cluster-not-watched",
    aka: &[],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "every istiod watches the clusters whose Services its callers need",
    needs: Inputs::NONE,
    uses: Inputs::of(&[Kind::Secret, Kind::Pod, Kind::Service, Kind::ConfigMap])
        .and(&[Part::Istiod]),
    explains: &["ML06", "ML07", "ML10", "ML12"],
    docs: include_str!("remote_cluster_not_watched.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for pair in joint::pairs(crossing) {
        let is_asked = crossing.request.is_none_or(|request| request.is_starved());
        if !is_asked || !joint::has_istiod(pair.from) {
            continue;
        }
        out.examined();
        one(crossing, &pair, out);
    }
}

fn one(crossing: &Crossing<'_>, pair: &Pair<'_>, out: &mut Sink) {
    let Pair { from, to, .. } = *pair;
    let secrets = joint::remote_secrets(from);
    let root = &*from.mesh.config.root_namespace;
    let of_it = |secret: &&RemoteSecret<'_>| secret.ids.contains(&to.id.as_str());
    let watched = joint::watched(from);
    let is_known = match &watched {
        Some((_, clusters)) => clusters.iter().any(|known| known.id == to.id),
        None => secrets
            .iter()
            .filter(of_it)
            .any(|secret| secret.is_labelled && secret.object.id.namespace == root),
    };
    if is_known {
        return;
    }
    let named = format!("istio-remote-secret-{}", to.id);
    // One that is meant for the cluster and does not do its work, else one that is missing.
    let meant = secrets
        .iter()
        .find(of_it)
        .or_else(|| secrets.iter().find(|secret| secret.object.id.name == named));
    let (subject, why) = if let Some(secret) = meant {
        (secret.object.id.clone(), flaw(secret, &to.id, root))
    } else {
        let subject = ObjectRef::of(Kind::Secret, root, &named);
        (subject, "there is no remote secret for it".to_owned())
    };
    let message = format!(
        "istiod in {} does not watch cluster {}, so it knows none of its pods: {why}",
        from.name, to.name
    );
    let proof = match (&watched, meant) {
        (_, Some(secret)) => Evidence::object(secret.object, "the remote secret as it is"),
        (Some((doc, _)), None) => Evidence::offset(
            doc,
            0,
            format!("the clusters that istiod in {} watches", from.name),
        ),
        (None, None) => {
            let finding = crossing.find(
                out,
                from,
                subject,
                message,
                joint::list_of(from, Kind::Secret, "no Secret is a remote secret for it"),
            );
            return repair(finding, pair);
        }
    };
    let finding = crossing.find(out, from, subject, message, joint::of(from, proof));
    if let (Some((doc, _)), Some(_)) = (&watched, meant) {
        let shows = format!("the clusters that istiod in {} watches", from.name);
        finding.see(joint::of(from, Evidence::offset(doc, 0, shows)));
    }
    repair(finding, pair);
}

/// Why istiod does not take a Secret for the cluster's.
fn flaw(secret: &RemoteSecret<'_>, id: &str, root: &str) -> String {
    let object = &secret.object.id;
    if object.namespace != root {
        format!("{object} is not in namespace {root}, where istiod looks")
    } else if !secret.is_labelled {
        format!("{object} lacks the label istio/multiCluster=true")
    } else if !secret.ids.contains(&id) {
        format!("{object} calls the cluster {}", secret.ids.join(", "))
    } else {
        format!("istiod has not taken {object} in")
    }
}

fn repair(finding: &mut Finding, pair: &Pair<'_>) {
    let Pair { from, to, .. } = *pair;
    let command = shell::command(
        "istioctl create-remote-secret --context {} --name {} | kubectl apply --context {} -f -",
        &[&to.name, &to.id, &from.name],
    );
    finding.fix(Fix::command(Risk::Reversible, command));
}
