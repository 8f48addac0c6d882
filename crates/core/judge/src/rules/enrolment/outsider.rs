//! Pods that run without a proxy, and what decided so.

use crate::finding::{Evidence, Finding, Severity};
use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::injection::{Injection, Injectors};
use meshladder_mesh::policies::{Workload, selector};
use meshladder_mesh::views::PodTemplate;
use meshladder_mesh::{Object, ObjectRef, PodFacts};
use meshladder_sim::trace::EndKind;
use meshladder_text::tri::Tri;

/// What the rules built on this look at when it is there.
pub(super) const USES: Inputs = Inputs::of(&[
    Kind::Namespace,
    Kind::Deployment,
    Kind::ReplicaSet,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::Service,
    Kind::ConfigMap,
    Kind::AuthorizationPolicy,
    Kind::RequestAuthentication,
]);

/// A pod without a proxy.
pub(super) struct Outsider<'m> {
    pub(super) pod: &'m PodFacts,
    pub(super) object: &'m Object,
    /// What it is made from, as it is now: its workload's template, else the pod itself.
    pub(super) template: PodTemplate<'m>,
    /// What would be decided if it were made again.
    pub(super) injection: Injection<'m>,
}

/// Every pod that runs without a proxy; with a request only its ends.
pub(super) fn all<'m>(
    facts: &Facts<'m>,
    injectors: &Injectors<'m>,
    case: Option<&Case<'_>>,
) -> Vec<Outsider<'m>> {
    let pods = facts
        .mesh
        .pods
        .iter()
        .filter(|pod| pod.running && !pod.has_proxy && is_asked_about(case, pod));
    let outsiders = pods.filter_map(|pod| {
        let object = facts
            .mesh
            .objects
            .get(Kind::Pod, &pod.namespace, &pod.name)?;
        // The kubelet makes a static pod, and no webhook sees it.
        object
            .annotation("kubernetes.io/config.mirror")
            .is_none()
            .then_some(())?;
        // Whom ztunnel takes needs no proxy.
        if facts.mesh.is_of_ambient(object) {
            return None;
        }
        let maker = facts.mesh.workload_of(object).and_then(PodTemplate::of);
        let template = maker.or_else(|| PodTemplate::of(object))?;
        Some(Outsider {
            pod,
            object,
            template,
            injection: injectors.injection(template),
        })
    });
    outsiders.collect()
}

fn is_asked_about(case: Option<&Case<'_>>, pod: &PodFacts) -> bool {
    let same = |other: &&PodFacts| other.name == pod.name && other.namespace == pod.namespace;
    case.is_none_or(|case| case.client.iter().chain(&case.servers).any(same))
}

impl<'m> Outsider<'m> {
    /// Whether it would get a proxy if it were made again.
    pub(super) fn is_expected(&self) -> bool {
        self.injection.expected == Tri::Yes
    }

    /// Whether it gets none, and that is certain.
    pub(super) fn is_refused(&self) -> bool {
        self.injection.expected == Tri::No
    }

    /// What it itself asks for.
    pub(super) fn asks(&self) -> Option<&'m str> {
        self.template.inject()?.1.str()
    }

    /// How bad it is. A pod may well stay outside; it matters when a policy for it is not enforced,
    /// or when a call of it or to it was asked about and did not end well.
    pub(super) fn severity(&self, facts: &Facts<'_>, case: Option<&Case<'_>>) -> Severity {
        let policies = self.policies(facts);
        let serves = !facts.mesh.services_of(self.object).is_empty();
        let by_label = |policy: &&Object| selector(policy.spec()).is_some();
        if serves && policies.iter().any(by_label) {
            Severity::Error
        } else if (serves && !policies.is_empty()) || case.is_some_and(|case| self.fails(case)) {
            Severity::Warning
        } else {
            Severity::Info
        }
    }

    /// The policies that are for it and that nothing enforces.
    fn policies<'f>(&self, facts: &Facts<'f>) -> Vec<&'f Object> {
        let workload = Workload::of(self.object);
        let kinds = [Kind::AuthorizationPolicy, Kind::RequestAuthentication];
        kinds
            .into_iter()
            .flat_map(|kind| facts.mesh.policies(kind, &workload))
            .collect()
    }

    /// Whether it is the client of a call that ends as one in plaintext does.
    fn fails(&self, case: &Case<'_>) -> bool {
        let is_client = case
            .client
            .is_some_and(|client| std::ptr::eq(client, self.pod) || client.name == self.pod.name);
        let refused = |kind: EndKind| {
            matches!(
                kind,
                EndKind::TlsMismatch | EndKind::Reset | EndKind::Denied
            )
        };
        is_client
            && (case.seen.is_some_and(|seen| !seen.is_success())
                || case
                    .trace
                    .branches
                    .iter()
                    .any(|branch| refused(branch.end.kind)))
    }

    /// Puts who suffers, and what is not enforced, on a finding.
    pub(super) fn finish(&self, facts: &Facts<'_>, case: Option<&Case<'_>>, finding: &mut Finding) {
        finding.hits(self.pod.reference());
        for service in facts.mesh.services_of(self.object) {
            finding.hits(service.id.clone());
        }
        if let Some(case) = case.filter(|case| self.fails(case)) {
            finding
                .hits
                .extend(case.servers.iter().map(|server| server.reference()));
            finding.hits.extend(
                case.service
                    .map(|s| ObjectRef::of(Kind::Service, &s.namespace, &s.name)),
            );
        }
        for policy in self.policies(facts).into_iter().take(2) {
            let spec = policy.spec().unwrap_or(&policy.node);
            finding.see(Evidence::of(
                policy,
                spec,
                format!("{} is enforced by a proxy, and there is none", policy.id),
            ));
        }
        let containers = self
            .object
            .spec_at(["containers"])
            .unwrap_or(&self.object.node);
        finding.see(Evidence::of(
            self.object,
            containers,
            format!("{} has no istio-proxy", self.pod.name),
        ));
    }

    /// `shop/payments`
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.pod.namespace, self.pod.workload().name)
    }
}

/// What the pods of one workload have in common is told once.
pub(super) fn first_of_each(outsiders: Vec<Outsider<'_>>) -> Vec<(Outsider<'_>, Vec<ObjectRef>)> {
    let mut found: Vec<(Outsider<'_>, Vec<ObjectRef>)> = Vec::new();
    for outsider in outsiders {
        let pod = outsider.pod.reference();
        match found
            .iter_mut()
            .find(|(first, _)| first.pod.workload() == outsider.pod.workload())
        {
            Some((_, pods)) => pods.push(pod),
            None => found.push((outsider, vec![pod])),
        }
    }
    found
}
