//! `ztunnel-config connections`: who talks to whom, by name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use crate::tables::Table;
use meshladder_capture::ztunnel::dump::{WorkloadState, ZtunnelDump};
use meshladder_text::json::Raw;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the pod.
    Inbound,
    /// From the pod.
    Outbound,
}

/// The connections of pods; addresses are named after Services and pods unless `is_raw`.
pub fn connections<'a>(
    dump: &ZtunnelDump<'a>,
    states: &[&WorkloadState<'a>],
    only: Option<Direction>,
    is_raw: bool,
) -> Table<'a> {
    const HEADER: [&str; 6] = [
        "WORKLOAD",
        "DIRECTION",
        "LOCAL",
        "REMOTE",
        "REMOTE TARGET",
        "PROTOCOL",
    ];
    let names = if is_raw { BTreeMap::new() } else { names(dump) };
    let named = |address: Cow<'a, str>| named(&names, address);
    let mut table = Table::new(1, &HEADER);
    for state in states {
        let workload = format!("{}.{}", state.name, state.namespace);
        let list = |key| {
            state
                .raw
                .at(["connections", key])
                .into_iter()
                .flat_map(Raw::elements)
        };
        let text = |raw: Raw<'a>, key| raw.string_at(key).unwrap_or_default();
        if only != Some(Direction::Outbound) {
            for one in list("inbound") {
                table.row([
                    workload.clone().into(),
                    "Inbound".into(),
                    named(text(one, "actualDst")),
                    named(text(one, "src")),
                    text(one, "originalDst"),
                    text(one, "protocol"),
                ]);
            }
        }
        if only != Some(Direction::Inbound) {
            for one in list("outbound") {
                table.row([
                    workload.clone().into(),
                    "Outbound".into(),
                    named(text(one, "src")),
                    named(text(one, "actualDst")),
                    named(text(one, "originalDst")),
                    text(one, "protocol"),
                ]);
            }
        }
    }
    table
}

/// The name of every address: a Service's host, or `pod.namespace`.
fn names(dump: &ZtunnelDump<'_>) -> BTreeMap<IpAddr, String> {
    let mut names = BTreeMap::new();
    for service in &dump.services {
        if let Some(address) = service.vips.first() {
            names.insert(*address, service.hostname.to_string());
        }
    }
    for workload in &dump.workloads {
        for address in &workload.ips {
            names.insert(
                *address,
                format!("{}.{}", workload.name, workload.namespace),
            );
        }
    }
    names
}

fn named<'a>(names: &BTreeMap<IpAddr, String>, address: Cow<'a, str>) -> Cow<'a, str> {
    let Ok(socket) = address.parse::<SocketAddr>() else {
        return address;
    };
    match names.get(&socket.ip()) {
        Some(name) => format!("{name}:{}", socket.port()).into(),
        None => address,
    }
}
