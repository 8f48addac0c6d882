//! As the objects alone show it.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::virtual_service::bound::{self, Bound};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::servers;
use meshladder_mesh::host::overlaps;
use meshladder_mesh::{Domain, Mesh, Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::VirtualService, Kind::Gateway]),
    uses: Inputs::of(&[Kind::K8sGateway]),
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let plain = PlainHosts::of(facts.mesh);
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for Bound {
            node: entry,
            namespace,
            name,
        } in bound::to_gateways(service)
        {
            out.examined();
            let mut gateways = [Kind::Gateway, Kind::K8sGateway]
                .into_iter()
                .flat_map(|kind| facts.mesh.objects.named(kind, namespace, name));
            if gateways
                .any(|gateway| plain.take(gateway, service) || takes(facts, gateway, service))
            {
                continue;
            }
            let hosts: Vec<&str> = service.spec_strings("hosts").collect();
            let message = format!(
                "Gateway {namespace}/{name} takes none of the hosts of {}: {}",
                service.id,
                hosts.join(", ")
            );
            let node = service.spec_at(["hosts"]).unwrap_or(entry);
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, node, "its hosts"),
            )
            .fix(Fix::advice("name a host that a server of the Gateway has"));
        }
    }
}

/// The hosts that Gateways take as they stand, from whatever namespace: with thousands of them
/// there is mostly no need to try all.
struct PlainHosts<'m>(BTreeSet<(&'m ObjectRef, &'m str)>, &'m Domain);

impl<'m> PlainHosts<'m> {
    fn of(mesh: &'m Mesh) -> Self {
        let servers = mesh.objects.of_kind(Kind::Gateway).iter().flat_map(servers);
        let hosts = servers.flat_map(|server| {
            server
                .hosts()
                .map(move |(from, host)| (from, (&server.gateway.id, host)))
        });
        Self(
            hosts
                .filter(|(from, _)| *from == "*")
                .map(|(_, host)| host)
                .collect(),
            &mesh.domain,
        )
    }

    fn take(&self, gateway: &Object, service: &Object) -> bool {
        let mut hosts = service.spec_strings("hosts");
        hosts.any(|host| {
            self.0
                .contains(&(&gateway.id, &*self.1.fqdn(host, &service.id.namespace)))
        })
    }
}

fn takes(facts: &Facts<'_>, gateway: &Object, service: &Object) -> bool {
    let hosts = service.spec_list("hosts");
    if gateway.group == "gateway.networking.k8s.io" {
        // "When unspecified, all hostnames are matched."
        return gateway.spec_list("listeners").iter().any(|listener| {
            let wanted = listener
                .str_at("hostname")
                .filter(|hostname| !hostname.is_empty());
            wanted.is_none_or(|wanted| {
                hosts
                    .iter()
                    .filter_map(Node::str)
                    .any(|host| overlaps(wanted, host))
            })
        });
    }
    servers(gateway).any(|server| {
        hosts
            .iter()
            .any(|host| server.takes(service, host, &facts.mesh.domain))
    })
}
