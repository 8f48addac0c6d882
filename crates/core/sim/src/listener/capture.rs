//! What the redirection of a pod's traffic leaves alone, as Istio's iptables rules have it.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};

use super::super::cidr::Cidr;
use super::super::request::Connection;
use super::TrafficDirection;
use meshladder_text::json::Raw;

/// The addresses and ports that are redirected to Envoy, and those that are not.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// The pod's own addresses.
    pub own: Vec<IpAddr>,
    /// `INTERCEPTION_MODE`: `REDIRECT`, `TPROXY` or `NONE`; empty when the proxy does not say.
    pub mode: String,
    /// `includeOutboundIPRanges`: none stands for all.
    pub include_outbound_ranges: Option<Vec<Cidr>>,
    /// `excludeOutboundIPRanges`
    pub exclude_outbound_ranges: Vec<Cidr>,
    /// `includeOutboundPorts`: redirected whatever the address.
    pub include_outbound_ports: Vec<u16>,
    /// `excludeOutboundPorts`
    pub exclude_outbound_ports: Vec<u16>,
    /// `includeInboundPorts`: none stands for all.
    pub include_inbound_ports: Option<Vec<u16>>,
    /// `excludeInboundPorts`
    pub exclude_inbound_ports: Vec<u16>,
}

/// What the names of the annotations begin with.
pub const ANNOTATIONS: &str = "traffic.sidecar.istio.io/";

/// Ports of the proxy itself that are never redirected: HBONE, the agent's metrics, readiness,
/// Envoy's metrics.
const OWN_PORTS: [u16; 4] = [15008, 15020, 15021, 15090];

/// Envoy's own address towards the application: what comes from it is on its way already.
const INBOUND_PASSTHROUGH: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 6));

impl Capture {
    /// Reads the proxy's metadata in a `BootstrapConfigDump`.
    pub fn read(bootstrap: Raw<'_>) -> Self {
        let Some(metadata) = bootstrap.at(["bootstrap", "node", "metadata"]) else {
            return Self::default();
        };
        let text = |key: &str| metadata.string_at(key).unwrap_or_default();
        Self {
            own: parts(&text("INSTANCE_IPS"))
                .filter_map(|ip| ip.parse().ok())
                .collect(),
            mode: text("INTERCEPTION_MODE").into_owned(),
            ..Self::of_annotations(|key| {
                metadata
                    .get("ANNOTATIONS")?
                    .string_at(key)
                    .map(Cow::into_owned)
            })
        }
    }

    /// What a pod's annotations ask for; `value` gives the one of that name.
    pub fn of_annotations(value: impl Fn(&str) -> Option<String>) -> Self {
        let annotation = |name: &str| value(&format!("{ANNOTATIONS}{name}"));
        let listed = |name: &str| annotation(name).unwrap_or_default();
        Self {
            include_outbound_ranges: annotation("includeOutboundIPRanges")
                .filter(|list| list != "*")
                .map(|l| ranges(&l)),
            exclude_outbound_ranges: ranges(&listed("excludeOutboundIPRanges")),
            include_outbound_ports: ports(&listed("includeOutboundPorts")),
            exclude_outbound_ports: ports(&listed("excludeOutboundPorts")),
            include_inbound_ports: annotation("includeInboundPorts")
                .filter(|list| list != "*")
                .map(|l| ports(&l)),
            exclude_inbound_ports: ports(&listed("excludeInboundPorts")),
            ..Self::default()
        }
    }

    /// Why a connection is not redirected to Envoy; none when it is.
    pub fn leaves_alone(
        &self,
        side: TrafficDirection,
        connection: &Connection,
    ) -> Option<Cow<'static, str>> {
        if self.mode == "NONE" {
            return Some("the pod's traffic is not redirected".into());
        }
        match side {
            TrafficDirection::Outbound => self.leaves_outbound(connection),
            TrafficDirection::Inbound => self.leaves_inbound(connection.destination.1),
        }
    }

    fn leaves_inbound(&self, port: u16) -> Option<Cow<'static, str>> {
        if OWN_PORTS.contains(&port) {
            return Some(format!("port {port} is the proxy's own and not redirected").into());
        }
        let is_included = self
            .include_inbound_ports
            .as_ref()
            .is_none_or(|ports| ports.contains(&port));
        let is_excluded = self.exclude_inbound_ports.contains(&port) || !is_included;
        is_excluded.then(|| format!("the pod's annotations leave inbound port {port} out").into())
    }

    /// The rules in their order: ports left out, what comes from Envoy, the pod itself, loopback,
    /// ranges left out, ports taken in, ranges taken in.
    fn leaves_outbound(&self, connection: &Connection) -> Option<Cow<'static, str>> {
        let (ip, port) = connection.destination;
        if self.exclude_outbound_ports.contains(&port) {
            return Some(format!("the pod's annotations leave outbound port {port} out").into());
        }
        if connection
            .source
            .is_some_and(|(source, _)| source == INBOUND_PASSTHROUGH)
        {
            return Some(
                "what comes from 127.0.0.6 is on its way to the application already".into(),
            );
        }
        if ip.is_loopback() || self.own.contains(&ip) {
            return Some(
                format!("{ip} is the pod itself, and its traffic to itself is not redirected")
                    .into(),
            );
        }
        let is_in = |ranges: &[Cidr]| ranges.iter().any(|range| range.contains(ip));
        let is_included = self
            .include_outbound_ranges
            .as_ref()
            .is_none_or(|ranges| is_in(ranges));
        let is_out = is_in(&self.exclude_outbound_ranges)
            || !(self.include_outbound_ports.contains(&port) || is_included);
        is_out.then(|| format!("the pod's annotations leave {ip} out").into())
    }
}

fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

fn ports(list: &str) -> Vec<u16> {
    parts(list).filter_map(|port| port.parse().ok()).collect()
}

fn ranges(list: &str) -> Vec<Cidr> {
    parts(list)
        .filter_map(|range| {
            let (address, length) = range.split_once('/').unwrap_or((range, "128"));
            Some(Cidr::new(address.parse().ok()?, length.parse().ok()?))
        })
        .collect()
}
