//! `ztunnel-config`: istioctl's listings of what a ztunnel has.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Table;
use meshladder_capture::ztunnel::dump::{
    WorkloadProtocol, WorkloadState, ZtunnelCertificate, ZtunnelDump, ZtunnelService,
    ZtunnelWorkload,
};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;

mod connections;
mod json;

pub use connections::{Direction, connections};
pub use json::{certificates_json, connections_json, policies_json, services_json, workloads_json};

/// Which workloads are listed. Namespaces and nodes compare in any case.
#[derive(Clone, Debug, Default)]
pub struct WorkloadFilter {
    /// Only that with this address.
    pub address: Option<String>,
    /// Only those of this namespace.
    pub namespace: Option<String>,
    /// Only those of this node.
    pub node: Option<String>,
    /// Only the pod of this namespace and name.
    pub pod: Option<(String, String)>,
}

impl WorkloadFilter {
    fn takes(&self, workload: &ZtunnelWorkload<'_>) -> bool {
        let same = |wanted: &Option<String>, own: &str| {
            wanted
                .as_ref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(own))
        };
        let has_address = self.address.as_ref().is_none_or(|wanted| {
            workload
                .ips
                .iter()
                .any(|ip| ip.to_string().eq_ignore_ascii_case(wanted))
        });
        let is_pod = self.pod.as_ref().is_none_or(|(namespace, name)| {
            workload.namespace == *namespace && workload.name == *name
        });
        has_address
            && is_pod
            && same(&self.namespace, &workload.namespace)
            && same(&self.node, &workload.node)
    }
}

/// The workloads that a filter takes, in the dump's order.
pub fn workloads<'d, 'a>(
    dump: &'d ZtunnelDump<'a>,
    filter: &WorkloadFilter,
) -> Vec<&'d ZtunnelWorkload<'a>> {
    let all = dump.workloads.iter();
    all.filter(|workload| filter.takes(workload)).collect()
}

/// The services of a namespace, or all: by namespace, name and host.
pub fn services<'d, 'a>(
    dump: &'d ZtunnelDump<'a>,
    namespace: Option<&str>,
) -> Vec<&'d ZtunnelService<'a>> {
    let mut found: Vec<_> = dump
        .services
        .iter()
        .filter(|service| is_in(namespace, &service.namespace))
        .collect();
    found.sort_by_key(|service| (&service.namespace, &service.name, &service.hostname));
    found
}

/// The policies of a namespace, or all: by namespace and name.
pub fn policies<'a>(dump: &ZtunnelDump<'a>, namespace: Option<&str>) -> Vec<Raw<'a>> {
    let mut found: Vec<_> = dump
        .policies
        .iter()
        .filter(|(policy, _)| is_in(namespace, &policy.namespace))
        .collect();
    found.sort_by_key(|(policy, _)| (&policy.namespace, &policy.name));
    found.into_iter().map(|(_, raw)| *raw).collect()
}

/// The pods that a ztunnel serves: by namespace and name.
pub fn states<'d, 'a>(
    dump: &'d ZtunnelDump<'a>,
    namespace: Option<&str>,
) -> Vec<&'d WorkloadState<'a>> {
    let mut found: Vec<_> = dump
        .states
        .iter()
        .filter(|state| is_in(namespace, &state.namespace))
        .collect();
    found.sort_by_key(|state| (&state.namespace, &state.name));
    found
}

fn is_in(wanted: Option<&str>, own: &str) -> bool {
    wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(own))
}

/// `ztunnel-config workload`
pub fn workload_table<'a>(dump: &ZtunnelDump<'a>, workloads: &[&ZtunnelWorkload<'a>]) -> Table<'a> {
    const HEADER: [&str; 6] = [
        "NAMESPACE",
        "POD NAME",
        "ADDRESS",
        "NODE",
        "WAYPOINT",
        "PROTOCOL",
    ];
    let mut rows = workloads.to_vec();
    rows.sort_by_key(|workload| {
        (
            format!("{}.{}", workload.namespace, workload.name),
            &workload.node,
        )
    });
    let mut table = Table::new(1, &HEADER);
    for workload in rows {
        let addresses: Vec<String> = workload.ips.iter().map(ToString::to_string).collect();
        let address = if addresses.is_empty() {
            workload.raw.string_at("hostname").unwrap_or_default()
        } else {
            addresses.join(",").into()
        };
        let protocol = match workload.protocol {
            WorkloadProtocol::Hbone => "HBONE",
            WorkloadProtocol::Tcp => "TCP",
        };
        table.row([
            workload.namespace.clone(),
            workload.name.clone(),
            address,
            workload.node.clone(),
            waypoint_name(dump, workload.waypoint.as_deref()),
            protocol.into(),
        ]);
    }
    table
}

/// `ztunnel-config service`
pub fn service_table<'a>(dump: &ZtunnelDump<'a>, services: &[&ZtunnelService<'a>]) -> Table<'a> {
    const HEADER: [&str; 5] = [
        "NAMESPACE",
        "SERVICE NAME",
        "SERVICE VIP",
        "WAYPOINT",
        "ENDPOINTS",
    ];
    let healthy: BTreeMap<&str, bool> = dump
        .workloads
        .iter()
        .map(|workload| (&*workload.uid, workload.is_healthy))
        .collect();
    let mut table = Table::new(1, &HEADER);
    for service in services {
        let vips: Vec<String> = service.vips.iter().map(ToString::to_string).collect();
        let is_healthy = |uid: &str| healthy.get(uid).copied().unwrap_or(false);
        let ready = service
            .endpoints
            .iter()
            .filter(|endpoint| is_healthy(&endpoint.workload))
            .count();
        table.row([
            service.namespace.clone(),
            service.name.clone(),
            vips.join(",").into(),
            waypoint_name(dump, service.waypoint.as_deref()),
            format!("{ready}/{}", service.endpoints.len()).into(),
        ]);
    }
    table
}

/// `ztunnel-config policy`
pub fn policy_table<'a>(policies: &[Raw<'a>]) -> Table<'a> {
    let mut table = Table::new(1, &["NAMESPACE", "POLICY NAME", "ACTION", "SCOPE"]);
    for policy in policies {
        let text = |key| policy.string_at(key).unwrap_or_default();
        table.row([
            text("namespace"),
            text("name"),
            text("action"),
            text("scope"),
        ]);
    }
    table
}

/// `ztunnel-config certificate`; "valid" is meant at `now`.
pub fn certificate_table<'a>(
    certificates: &[ZtunnelCertificate<'a>],
    now: Option<Time>,
) -> Table<'a> {
    const HEADER: [&str; 7] = [
        "CERTIFICATE NAME",
        "TYPE",
        "STATUS",
        "VALID CERT",
        "SERIAL NUMBER",
        "NOT AFTER",
        "NOT BEFORE",
    ];
    let mut table = Table::new(5, &HEADER);
    for certificate in certificates {
        let state: Cow<'a, str> = if certificate.state.contains("Unavailable") {
            "Unavailable".into()
        } else {
            certificate.state.clone()
        };
        let chain: Vec<Raw<'a>> = certificate.raw.list("certChain").collect();
        let roots: Vec<Raw<'a>> = certificate.raw.list("rootCerts").collect();
        if chain.is_empty() && roots.is_empty() {
            let none = || Cow::Borrowed("NA");
            table.row([
                certificate.identity.clone(),
                none(),
                state,
                "false".into(),
                none(),
                none(),
                none(),
            ]);
            continue;
        }
        let last = chain.len().saturating_sub(1);
        for (place, one) in chain.iter().enumerate() {
            // Before 1.26 the root was the last of the chain.
            let kind = match place {
                0 => "Leaf",
                place if place == last && roots.is_empty() => "Root",
                _ => "Intermediate",
            };
            table.row(certificate_row(
                &certificate.identity,
                kind,
                &state,
                *one,
                now,
            ));
        }
        for root in roots {
            table.row(certificate_row(
                &certificate.identity,
                "Root",
                &state,
                root,
                now,
            ));
        }
    }
    table
}

fn certificate_row<'a>(
    identity: &Cow<'a, str>,
    kind: &'static str,
    state: &Cow<'a, str>,
    certificate: Raw<'a>,
    now: Option<Time>,
) -> [Cow<'a, str>; 7] {
    let text = |key| certificate.string_at(key).unwrap_or_default();
    let (from, to) = (text("validFrom"), text("expirationTime"));
    let is_valid = match (now, Time::parse(&from), Time::parse(&to)) {
        (Some(now), Some(from), Some(to)) => from <= now && now <= to,
        _ => false,
    };
    let serial = text("serialNumber");
    let serial = serial
        .parse::<u128>()
        .map_or(serial, |number| format!("{number:x}").into());
    let valid = if is_valid { "true" } else { "false" };
    [
        identity.clone(),
        kind.into(),
        state.clone(),
        valid.into(),
        serial,
        to,
        from,
    ]
}

/// The name of the Service that a waypoint's destination means.
fn waypoint_name<'a>(dump: &ZtunnelDump<'a>, destination: Option<&str>) -> Cow<'a, str> {
    match destination {
        None => "None".into(),
        Some(destination) => match dump.service_named(destination) {
            Some(service) => service.name.clone(),
            None => "NA".into(),
        },
    }
}
