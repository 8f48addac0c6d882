//! Maps that save a lookup from reading every object of a kind.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

use super::host::HostIndex;
use super::labels::LabelIndex;
use super::{Domain, Object, Objects};
use crate::policies::{age, selector};
use crate::views::{EndpointSlice, Pod, VirtualService};
use meshladder_capture::Kind;
use meshladder_text::text::Text;
use meshladder_text::tree::Node;

/// Positions in [`Objects::of_kind`].
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) virtual_services: HostIndex,
    pub(super) destination_rules: HostIndex,
    /// Whether a DestinationRule is for some pods only.
    pub(super) has_selecting_rules: bool,
    pub(super) service_entries: HostIndex,
    /// EndpointSlices by namespace and name of their Service.
    slices: BTreeMap<Text, BTreeMap<String, Vec<usize>>>,
    /// The first running pod of each address, as a position in `Mesh::pods`.
    pub(super) running_at: BTreeMap<IpAddr, usize>,
    /// Pods by each of their labels.
    pub(super) pods: LabelIndex,
    /// Services by the first pair of their selector.
    pub(super) selectors: LabelIndex,
    /// Sidecars by the first pair of their selector.
    pub(super) sidecars: LabelIndex,
    /// The oldest Sidecar without a selector, by namespace.
    pub(super) sidecar_of_all: BTreeMap<Text, usize>,
    /// VirtualServices by namespace and name of each Gateway that they name.
    pub(super) naming: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
}

impl Index {
    /// The kinds it looks at.
    pub(super) const KINDS: [Kind; 7] = [
        Kind::VirtualService,
        Kind::DestinationRule,
        Kind::ServiceEntry,
        Kind::EndpointSlice,
        Kind::Pod,
        Kind::Service,
        Kind::Sidecar,
    ];

    pub(super) fn of(objects: &Objects, domain: &Domain) -> Self {
        let mut index = Self {
            virtual_services: by_host(objects, domain, Kind::VirtualService, |object| {
                object.spec_list("hosts")
            }),
            destination_rules: by_host(objects, domain, Kind::DestinationRule, |object| {
                object.spec_at(["host"]).map_or(&[], std::slice::from_ref)
            }),
            service_entries: by_host(objects, domain, Kind::ServiceEntry, |object| {
                object.spec_list("hosts")
            }),
            has_selecting_rules: objects
                .of_kind(Kind::DestinationRule)
                .iter()
                .any(|rule| selector(rule.spec()).is_some()),
            slices: BTreeMap::new(),
            running_at: BTreeMap::new(),
            pods: LabelIndex::of(
                objects
                    .of_kind(Kind::Pod)
                    .iter()
                    .map(|pod| pod.labels().map_or(&[][..], Node::members)),
            ),
            selectors: LabelIndex::of(objects.of_kind(Kind::Service).iter().map(|service| {
                let pairs = service.spec_at(["selector"]).map_or(&[][..], Node::members);
                &pairs[..pairs.len().min(1)]
            })),
            sidecars: LabelIndex::of(objects.of_kind(Kind::Sidecar).iter().map(|sidecar| {
                let pairs = selector(sidecar.spec()).map_or(&[][..], Node::members);
                &pairs[..pairs.len().min(1)]
            })),
            sidecar_of_all: sidecar_of_all(objects),
            naming: naming(objects),
        };
        let pods = Pod::all(objects).enumerate();
        for (position, pod) in pods.filter(|(_, pod)| pod.is_running()) {
            for ip in pod.ips() {
                index.running_at.entry(ip).or_insert(position);
            }
        }
        for (position, slice) in EndpointSlice::all(objects).enumerate() {
            if let Some(service) = slice.service_name() {
                let namespace = slice.id().namespace.clone();
                let in_namespace = index.slices.entry(namespace).or_default();
                in_namespace
                    .entry(service.to_owned())
                    .or_default()
                    .push(position);
            }
        }
        index
    }

    /// The EndpointSlices of a Service.
    pub(super) fn slices(&self, namespace: &str, service: &str) -> &[usize] {
        self.slices
            .get(namespace)
            .and_then(|services| services.get(service))
            .map_or(&[], Vec::as_slice)
    }
}

fn sidecar_of_all(objects: &Objects) -> BTreeMap<Text, usize> {
    let sidecars = objects.of_kind(Kind::Sidecar);
    let mut oldest: BTreeMap<Text, usize> = BTreeMap::new();
    for (position, sidecar) in sidecars.iter().enumerate() {
        if selector(sidecar.spec()).is_some() {
            continue;
        }
        let known = oldest
            .entry(sidecar.id.namespace.clone())
            .or_insert(position);
        if age(&sidecar.node) < age(&sidecars[*known].node) {
            *known = position;
        }
    }
    oldest
}

fn naming(objects: &Objects) -> BTreeMap<String, BTreeMap<String, Vec<usize>>> {
    let mut naming: BTreeMap<String, BTreeMap<String, Vec<usize>>> = BTreeMap::new();
    for (position, service) in objects.of_kind(Kind::VirtualService).iter().enumerate() {
        for gateway in VirtualService::of(service).gateways() {
            let here = naming.entry(gateway.namespace.to_owned()).or_default();
            let named = here.entry(gateway.name.to_owned()).or_default();
            // One may name a Gateway in two ways.
            if named.last() != Some(&position) {
                named.push(position);
            }
        }
    }
    naming
}

fn by_host(
    objects: &Objects,
    domain: &Domain,
    kind: Kind,
    hosts: impl Fn(&Object) -> &[Node],
) -> HostIndex {
    // A ServiceEntry's host is taken as it stands.
    let full = |host: Text, namespace: &str| match domain.fqdn(&host, namespace) {
        Cow::Owned(full) if kind != Kind::ServiceEntry => full.as_str().into(),
        _ => host,
    };
    let all = objects
        .of_kind(kind)
        .iter()
        .enumerate()
        .flat_map(|(position, object)| {
            let hosts = hosts(object).iter().filter_map(Node::text);
            hosts.map(move |host| (full(host, &object.id.namespace), position))
        });
    HostIndex::of(all)
}
