//! What must hold for a VirtualService to reach a proxy, in the order in which it can get lost.

use std::ptr;

use super::{
    Domain, Export, Mesh, Node, Object, Scope, binds_mesh, export_node, host_for, is_imported,
};
use crate::gateways::{gateway_name, servers};

/// One step on the way to a proxy.
#[derive(Clone, Debug)]
pub struct Step<'m> {
    /// Which one.
    pub kind: StepKind,
    /// Whether it was taken.
    pub holds: bool,
    /// Why, or why not.
    pub why: String,
    /// What decided.
    pub by: Option<(&'m Object, &'m Node)>,
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// The client's namespace can see it.
    Exported,
    /// The client's Sidecar lets it in.
    Imported,
    /// It is for sidecars, or for a Gateway that configures this pod.
    GatewayBound,
    /// There is a Service or ServiceEntry with its host.
    HostKnown,
    /// No other VirtualService has the host.
    NotShadowed,
}

impl Mesh {
    /// The way of one host of a VirtualService (`host` as written) to a sidecar.
    pub fn sidecar_steps<'m>(
        &'m self,
        service: &'m Object,
        host: &str,
        client: Scope<'m>,
    ) -> Vec<Step<'m>> {
        let full = self.domain.fqdn(host, &service.id.namespace);
        vec![
            self.exported(service, client.namespace),
            imported(service, &full, client, &self.domain),
            bound_to_mesh(service),
            self.host_known(&full, client),
            self.not_shadowed(service, &full, client),
        ]
    }

    /// The way of one host of a VirtualService (`host` as written) to a gateway's pod.
    /// VirtualServices with the same host are merged there: none shadows another.
    pub fn gateway_steps<'m>(
        &'m self,
        service: &'m Object,
        host: &'m Node,
        pod: &'m Object,
    ) -> Vec<Step<'m>> {
        vec![
            self.exported(service, &pod.id.namespace),
            self.bound_to_gateway(service, host, pod),
        ]
    }

    fn exported<'m>(&'m self, service: &'m Object, namespace: &str) -> Step<'m> {
        let own = &service.id.namespace;
        let why = match self.export(service) {
            Export::Everywhere => "exported to every namespace".to_owned(),
            Export::OwnNamespace => format!("exported to its own namespace {own} only"),
            Export::Namespaces(names) => format!("exported to {} only", names.join(", ")),
            Export::Nowhere => "exported to no namespace".to_owned(),
        };
        let holds = self.is_exported_to(service, namespace);
        let by = export_node(service).map(|node| (service, node));
        Step {
            kind: StepKind::Exported,
            holds,
            why,
            by,
        }
    }

    fn host_known<'m>(&'m self, host: &str, client: Scope<'m>) -> Step<'m> {
        let known = self.registry(client, host);
        let why = match known.first() {
            Some(owner) => format!("{} has the host {host}", owner.id),
            None => match self.registered(host).next() {
                Some(hidden) => format!(
                    "{} has the host {host}, but {} does not see it",
                    hidden.id, client.namespace
                ),
                None => format!("no Service or ServiceEntry has the host {host}"),
            },
        };
        // A wildcard stands for whatever Services there are.
        Step {
            kind: StepKind::HostKnown,
            holds: !known.is_empty() || host.starts_with('*'),
            why,
            by: None,
        }
    }

    fn not_shadowed<'m>(&'m self, service: &'m Object, host: &str, client: Scope<'m>) -> Step<'m> {
        let used = self.virtual_services(client, host);
        let is_used = used.iter().any(|other| ptr::eq(*other, service));
        let winner = used
            .into_iter()
            .next()
            .filter(|winner| is_used && !ptr::eq(*winner, service));
        let Some(winner) = winner else {
            let why = format!("no other VirtualService is used for {host}");
            return Step {
                kind: StepKind::NotShadowed,
                holds: true,
                why,
                by: None,
            };
        };
        let why = format!(
            "{} is used for {host}: {}",
            winner.id,
            self.why_first(winner, service, host, client)
        );
        let by = host_for(winner, host, &self.domain).map(|(node, _)| (winner, node));
        Step {
            kind: StepKind::NotShadowed,
            holds: false,
            why,
            by,
        }
    }

    fn why_first(
        &self,
        winner: &Object,
        loser: &Object,
        host: &str,
        client: Scope<'_>,
    ) -> &'static str {
        let pattern = |service| host_for(service, host, &self.domain).map(|(_, full)| full);
        if pattern(winner) != pattern(loser) {
            "its host is more specific"
        } else if self.export_rank(winner, client) != self.export_rank(loser, client) {
            "it is exported to fewer namespaces"
        } else if winner.created() != loser.created() {
            "it is older"
        } else {
            "it is as old, and its name comes first"
        }
    }

    fn bound_to_gateway<'m>(
        &'m self,
        service: &'m Object,
        host: &'m Node,
        pod: &'m Object,
    ) -> Step<'m> {
        let mut why = "it names no Gateway".to_owned();
        let named = service
            .spec_list("gateways")
            .iter()
            .filter(|entry| entry.str() != Some("mesh"));
        let mut decided = None;
        for entry in named {
            let (namespace, name) =
                gateway_name(entry.str().unwrap_or_default(), &service.id.namespace);
            let gateway = self.gateway(namespace, name);
            let configures = gateway.filter(|_| {
                let gateways = self.gateways_of(pod);
                gateways
                    .iter()
                    .any(|g| g.id.namespace == namespace && g.id.name == name)
            });
            let server = configures
                .into_iter()
                .flat_map(servers)
                .find(|server| server.takes(service, host, &self.domain));
            if let Some(server) = server {
                let why = format!(
                    "Gateway {namespace}/{name} takes it on port {}",
                    server.port
                );
                let by = Some((server.gateway, server.node));
                return Step {
                    kind: StepKind::GatewayBound,
                    holds: true,
                    why,
                    by,
                };
            }
            why = match (gateway, configures) {
                (None, _) => format!("there is no Gateway {namespace}/{name}"),
                (Some(_), None) => format!("Gateway {namespace}/{name} does not select {}", pod.id),
                (Some(_), Some(_)) => {
                    format!(
                        "no server of Gateway {namespace}/{name} takes {}",
                        host.str().unwrap_or_default()
                    )
                }
            };
            decided = Some((service, entry));
        }
        Step {
            kind: StepKind::GatewayBound,
            holds: false,
            why,
            by: decided,
        }
    }
}

fn imported<'m>(service: &'m Object, host: &str, client: Scope<'m>, domain: &Domain) -> Step<'m> {
    let import = client.imports(&service.id.namespace, host);
    let holds = import.holds || is_imported(service, client, domain);
    let why = match (client.sidecar, holds) {
        (None, _) => format!("no Sidecar narrows what {} imports", client.namespace),
        (Some(sidecar), true) => format!("{} imports {}/{host}", sidecar.id, service.id.namespace),
        (Some(sidecar), false) => format!(
            "{} does not import {}/{host}",
            sidecar.id, service.id.namespace
        ),
    };
    Step {
        kind: StepKind::Imported,
        holds,
        why,
        by: import.by,
    }
}

fn bound_to_mesh(service: &Object) -> Step<'_> {
    let gateways = service
        .spec_at(["gateways"])
        .filter(|gateways| !gateways.items().is_empty());
    let holds = binds_mesh(service);
    let why = match (gateways, holds) {
        (None, _) => "without gateways it is for sidecars",
        (Some(_), true) => "its gateways name mesh, so it is for sidecars too",
        (Some(_), false) => "its gateways do not name mesh, so it is not for sidecars",
    };
    let by = gateways.map(|node| (service, node));
    Step {
        kind: StepKind::GatewayBound,
        holds,
        why: why.to_owned(),
        by,
    }
}
