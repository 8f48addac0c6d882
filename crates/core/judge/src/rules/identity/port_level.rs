//! `portLevelMtls` with the number of a Service's port: it is the workload's that counts.

use std::collections::BTreeMap;

use crate::finding::{Fix, Op};
use crate::rules::Facts;
use crate::rules::workloads::Selectors;
use meshladder_capture::Kind;
use meshladder_mesh::Object;
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_mesh::services::{ServicePort, number, ports, target_port};
use meshladder_text::tree::{Member, Node};

/// An entry for a port that the workload does not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misplaced<'f> {
    pub(super) policy: &'f Object,
    pub(super) entry: &'f Member,
    pub(super) pod: &'f Object,
    /// The Service that has a port of this number, and the workload's port behind it.
    pub(super) meant: Option<(&'f Object, u16)>,
}

/// The entries of all policies for ports that the workload they select does not have.
pub(super) fn misplaced<'f>(facts: &Facts<'f>) -> Vec<Misplaced<'f>> {
    let policies = facts
        .mesh
        .objects
        .of_kind(Kind::PeerAuthentication)
        .iter()
        .filter(|policy| !entries(policy).is_empty());
    let selectors = Selectors::of(policies);
    let mut selected: BTreeMap<usize, &'f Object> = BTreeMap::new();
    for pod in facts.mesh.objects.of_kind(Kind::Pod) {
        for (number, _) in selectors.selecting(&pod.id.namespace, pod.labels()) {
            selected.entry(number).or_insert(pod);
        }
    }
    let each = selected.into_iter().flat_map(|(number, pod)| {
        selectors
            .numbered(number)
            .iter()
            .flat_map(move |policy| of(facts, policy, pod))
    });
    each.collect()
}

/// Those of one policy, for a pod that it selects.
pub(super) fn of<'f>(facts: &Facts<'f>, policy: &'f Object, pod: &'f Object) -> Vec<Misplaced<'f>> {
    let services = facts.mesh.services_of(pod);
    let all = || {
        services
            .iter()
            .flat_map(|service| ports(service).map(move |port| (*service, port)))
    };
    let leads = |wanted: u16| all().any(|(_, port)| target_port(&port, pod) == Some(wanted));
    let missing = entries(policy).iter().filter_map(|entry| {
        let wanted: u16 = entry.key.parse().ok()?;
        if leads(wanted) || opens(pod, wanted) {
            return None;
        }
        let named = |(_, port): &(&Object, ServicePort<'_>)| port.number == wanted;
        let meant = all()
            .find(named)
            .and_then(|(service, port)| Some((service, target_port(&port, pod)?)));
        Some(Misplaced {
            policy,
            entry,
            pod,
            meant,
        })
    });
    missing.collect()
}

impl Misplaced<'_> {
    /// What it would have the port take.
    pub(super) fn mode(&self) -> Option<MutualTls> {
        MutualTls::named(self.entry.value.str_at("mode")?)
    }

    /// Moves the entry to the workload's port, where nothing stands there yet.
    pub(super) fn fix(&self) -> Option<Fix> {
        let (_, port) = self.meant?;
        let is_free = !entries(self.policy)
            .iter()
            .any(|entry| *entry.key == port.to_string());
        let from = self.policy.path_of(&self.entry.value);
        let to = format!("/spec/portLevelMtls/{port}");
        let ops = [Op::remove(from), Op::add(to, &self.entry.value)];
        is_free.then(|| Fix::patch(&self.policy.id, ops))
    }
}

fn entries(policy: &Object) -> &[Member] {
    policy.spec_at(["portLevelMtls"]).map_or(&[], Node::members)
}

/// Whether a container of the pod names the port.
fn opens(pod: &Object, wanted: u16) -> bool {
    let containers = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| pod.spec_list(list));
    let mut ports =
        containers.flat_map(|container| container.get("ports").map_or(&[][..], Node::items));
    ports.any(|port| port.get("containerPort").and_then(number) == Some(wanted))
}
