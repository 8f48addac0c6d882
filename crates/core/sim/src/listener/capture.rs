//! What the redirection of a pod's traffic leaves alone, as Istio's iptables rules have it.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};

use super::super::cidr::Cidr;
use super::super::request::Connection;
use super::TrafficDirection;
use crate::message;
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

        let mut capture = match metadata.get("ANNOTATIONS") {
            Some(annotations) => {
                Self::of_annotations(|key| annotations.string_at(key).map(Cow::into_owned))
            }
            None => Self::default(),
        };
        // The mode and the addresses are no annotations: the agent writes them beside them.
        capture.mode = message::text(metadata, "INTERCEPTION_MODE").into_owned();
        for ip in parts(&message::text(metadata, "INSTANCE_IPS")) {
            capture.own.extend(ip.parse::<IpAddr>());
        }
        capture
    }

    /// What a pod's annotations ask for; `value` gives the one of that name.
    pub fn of_annotations(value: impl Fn(&str) -> Option<String>) -> Self {
        let annotation = |name: &str| value(&format!("{ANNOTATIONS}{name}"));
        let list = |name: &str| annotation(name).unwrap_or_default();
        Self {
            include_outbound_ranges: unless_all(annotation("includeOutboundIPRanges"), ranges),
            exclude_outbound_ranges: ranges(&list("excludeOutboundIPRanges")),
            include_outbound_ports: ports(&list("includeOutboundPorts")),
            exclude_outbound_ports: ports(&list("excludeOutboundPorts")),
            include_inbound_ports: unless_all(annotation("includeInboundPorts"), ports),
            exclude_inbound_ports: ports(&list("excludeInboundPorts")),
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
        // istio-iptables leaves these out whatever the annotations say.
        if OWN_PORTS.contains(&port) {
            return Some(format!("port {port} is the proxy's own and not redirected").into());
        }
        let is_included = match &self.include_inbound_ports {
            Some(ports) => ports.contains(&port),
            None => true,
        };
        if is_included && !self.exclude_inbound_ports.contains(&port) {
            return None;
        }
        Some(format!("the pod's annotations leave inbound port {port} out").into())
    }

    /// Why iptables leave a connection alone that the pod makes. The rules are asked in the order in
    /// which `istio-iptables` writes them: the first that applies decides.
    fn leaves_outbound(&self, connection: &Connection) -> Option<Cow<'static, str>> {
        let (ip, port) = connection.destination;
        if self.exclude_outbound_ports.contains(&port) {
            return Some(format!("the pod's annotations leave outbound port {port} out").into());
        }

        let source = connection.source.map(|(ip, _)| ip);
        if source == Some(INBOUND_PASSTHROUGH) {
            let why = "what comes from 127.0.0.6 is on its way to the application already";
            return Some(why.into());
        }
        if ip.is_loopback() || self.own.contains(&ip) {
            let why =
                format!("{ip} is the pod itself, and its traffic to itself is not redirected");
            return Some(why.into());
        }

        let is_excluded = contains(&self.exclude_outbound_ranges, ip);
        if !is_excluded && self.includes_outbound(ip, port) {
            return None;
        }
        Some(format!("the pod's annotations leave {ip} out").into())
    }

    fn includes_outbound(&self, ip: IpAddr, port: u16) -> bool {
        if self.include_outbound_ports.contains(&port) {
            return true;
        }
        match &self.include_outbound_ranges {
            Some(ranges) => contains(ranges, ip),
            None => true,
        }
    }
}

/// `*` stands for all, and so does an annotation that is not there.
fn unless_all<T>(list: Option<String>, read: fn(&str) -> Vec<T>) -> Option<Vec<T>> {
    let list = list?;
    if list == "*" {
        return None;
    }
    Some(read(&list))
}

fn contains(ranges: &[Cidr], ip: IpAddr) -> bool {
    ranges.iter().any(|range| range.contains(ip))
}

fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

fn ports(list: &str) -> Vec<u16> {
    let mut ports = Vec::new();
    for part in parts(list) {
        ports.extend(part.parse::<u16>());
    }
    ports
}

fn ranges(list: &str) -> Vec<Cidr> {
    parts(list).filter_map(range).collect()
}

/// `10.0.0.0/8`, or a lone address.
fn range(text: &str) -> Option<Cidr> {
    let (address, length) = text.split_once('/').unwrap_or((text, "128"));
    Some(Cidr::new(address.parse().ok()?, length.parse().ok()?))
}
