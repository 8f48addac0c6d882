//! The JSON of `ztunnel-config`: istioctl's own structs, which lose what they do not know.

use std::borrow::Cow;
use std::collections::BTreeMap;

use meshladder_capture::ztunnel::dump::{
    WorkloadState, ZtunnelCertificate, ZtunnelService, ZtunnelWorkload,
};
use meshladder_text::json::Raw;
use serde::{Serialize, Serializer};
use serde_json::Value;

type Text<'a> = Cow<'a, str>;

fn text<'a>(raw: Raw<'a>, key: &str) -> Text<'a> {
    raw.string_at(key).unwrap_or_default()
}

fn texts<'a>(raw: Raw<'a>, key: &str) -> Vec<Text<'a>> {
    raw.list(key).filter_map(Raw::string).collect()
}

fn is_empty(text: &str) -> bool {
    text.is_empty()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WaypointJson<'a> {
    destination: Text<'a>,
}

fn waypoint<'a>(raw: Raw<'a>, key: &str) -> Option<WaypointJson<'a>> {
    let destination = text(raw.get(key)?, "destination");
    Some(WaypointJson { destination })
}

#[derive(Serialize)]
struct LocalityJson<'a> {
    #[serde(skip_serializing_if = "is_empty")]
    region: Text<'a>,
    #[serde(skip_serializing_if = "is_empty")]
    zone: Text<'a>,
    #[serde(skip_serializing_if = "is_empty")]
    subzone: Text<'a>,
}

#[derive(Serialize)]
struct TunnelJson<'a> {
    protocol: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkloadJson<'a> {
    uid: Text<'a>,
    workload_ips: Vec<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waypoint: Option<WaypointJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_gateway: Option<WaypointJson<'a>>,
    protocol: Text<'a>,
    name: Text<'a>,
    namespace: Text<'a>,
    service_account: Text<'a>,
    workload_name: Text<'a>,
    workload_type: Text<'a>,
    canonical_name: Text<'a>,
    canonical_revision: Text<'a>,
    cluster_id: Text<'a>,
    #[serde(skip_serializing_if = "is_empty")]
    trust_domain: Text<'a>,
    locality: LocalityJson<'a>,
    node: Text<'a>,
    #[serde(skip_serializing_if = "is_empty")]
    network: Text<'a>,
    status: Text<'a>,
    hostname: Text<'a>,
    capacity: u64,
    application_tunnel: TunnelJson<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_policies: Vec<Text<'a>>,
}

/// Workloads as istioctl has them.
pub fn workloads_json<'a>(workloads: &[&ZtunnelWorkload<'a>]) -> impl Serialize + use<'a> {
    let of = |workload: &&ZtunnelWorkload<'a>| {
        let raw = workload.raw;
        let place = |key| {
            raw.at(["locality", key])
                .and_then(Raw::string)
                .unwrap_or_default()
        };
        WorkloadJson {
            uid: text(raw, "uid"),
            workload_ips: texts(raw, "workloadIps"),
            waypoint: waypoint(raw, "waypoint"),
            network_gateway: waypoint(raw, "networkGateway"),
            protocol: text(raw, "protocol"),
            name: text(raw, "name"),
            namespace: text(raw, "namespace"),
            service_account: text(raw, "serviceAccount"),
            workload_name: text(raw, "workloadName"),
            workload_type: text(raw, "workloadType"),
            canonical_name: text(raw, "canonicalName"),
            canonical_revision: text(raw, "canonicalRevision"),
            cluster_id: text(raw, "clusterId"),
            trust_domain: text(raw, "trustDomain"),
            locality: LocalityJson {
                region: place("region"),
                zone: place("zone"),
                subzone: place("subzone"),
            },
            node: text(raw, "node"),
            network: text(raw, "network"),
            status: text(raw, "status"),
            hostname: text(raw, "hostname"),
            capacity: raw
                .get("capacity")
                .and_then(Raw::number)
                .unwrap_or_default(),
            application_tunnel: TunnelJson {
                protocol: raw
                    .at(["applicationTunnel", "protocol"])
                    .and_then(Raw::string)
                    .unwrap_or_default(),
                port: raw.at(["applicationTunnel", "port"]).and_then(Raw::number),
            },
            authorization_policies: texts(raw, "authorizationPolicies"),
        }
    };
    workloads.iter().map(of).collect::<Vec<_>>()
}

/// Ports in the order of their text, as Go writes a map.
struct PortsJson<'a>(BTreeMap<Text<'a>, u64>);

impl Serialize for PortsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.0)
    }
}

fn ports(raw: Option<Raw<'_>>) -> PortsJson<'_> {
    let members = raw.into_iter().flat_map(Raw::members);
    PortsJson(
        members
            .filter_map(|(port, target)| Some((port, target.number()?)))
            .collect(),
    )
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndpointJson<'a> {
    workload_uid: Text<'a>,
    service: Text<'a>,
    port: PortsJson<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BalancerJson<'a> {
    mode: Text<'a>,
    routing_preferences: Vec<Text<'a>>,
    #[serde(skip_serializing_if = "is_empty")]
    health_policy: Text<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServiceJson<'a> {
    name: Text<'a>,
    namespace: Text<'a>,
    hostname: Text<'a>,
    vips: Vec<Text<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cidr_vips: Vec<String>,
    ports: PortsJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load_balancer: Option<BalancerJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waypoint: Option<WaypointJson<'a>>,
    endpoints: BTreeMap<Text<'a>, EndpointJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subject_alt_names: Vec<Text<'a>>,
    ip_families: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    canonical: Option<bool>,
    #[serde(skip_serializing_if = "is_empty")]
    visibility: Text<'a>,
}

/// Services as istioctl has them.
pub fn services_json<'a>(services: &[&ZtunnelService<'a>]) -> impl Serialize + use<'a> {
    let of = |service: &&ZtunnelService<'a>| {
        let raw = service.raw;
        let endpoint = |(uid, one): (Text<'a>, Raw<'a>)| {
            let json = EndpointJson {
                workload_uid: text(one, "workloadUid"),
                service: text(one, "service"),
                port: ports(one.get("port")),
            };
            (uid, json)
        };
        let balancer = |one: Raw<'a>| BalancerJson {
            mode: text(one, "mode"),
            routing_preferences: texts(one, "routingPreferences"),
            health_policy: text(one, "healthPolicy"),
        };
        ServiceJson {
            name: text(raw, "name"),
            namespace: text(raw, "namespace"),
            hostname: text(raw, "hostname"),
            vips: texts(raw, "vips"),
            cidr_vips: raw.list("cidrVips").map(cidr).collect(),
            ports: ports(raw.get("ports")),
            load_balancer: raw.get("loadBalancer").map(balancer),
            waypoint: waypoint(raw, "waypoint"),
            endpoints: raw
                .get("endpoints")
                .into_iter()
                .flat_map(Raw::members)
                .map(endpoint)
                .collect(),
            subject_alt_names: texts(raw, "subjectAltNames"),
            ip_families: text(raw, "ipFamilies"),
            canonical: raw.get("canonical").and_then(Raw::bool).filter(|is| *is),
            visibility: text(raw, "visibility"),
        }
    };
    services.iter().map(of).collect::<Vec<_>>()
}

/// `network/cidr`, written as one text or as two.
fn cidr(raw: Raw<'_>) -> String {
    match raw.string() {
        Some(text) => text.into_owned(),
        None => format!("{}/{}", text(raw, "network"), text(raw, "cidr")),
    }
}

#[derive(Serialize)]
struct PolicyJson<'a> {
    name: Text<'a>,
    namespace: Text<'a>,
    scope: Text<'a>,
    action: Text<'a>,
    rules: Option<Value>,
}

/// Policies as istioctl has them.
pub fn policies_json<'a>(policies: &[Raw<'a>]) -> impl Serialize + use<'a> {
    let of = |raw: &Raw<'a>| PolicyJson {
        name: text(*raw, "name"),
        namespace: text(*raw, "namespace"),
        scope: text(*raw, "scope"),
        action: text(*raw, "action"),
        rules: raw
            .get("rules")
            .and_then(|rules| serde_json::from_str(rules.text()).ok()),
    };
    policies.iter().map(of).collect::<Vec<_>>()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PemJson<'a> {
    pem: Text<'a>,
    serial_number: Text<'a>,
    valid_from: Text<'a>,
    expiration_time: Text<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CertificateJson<'a> {
    identity: Text<'a>,
    state: Text<'a>,
    cert_chain: Vec<PemJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    root_certs: Vec<PemJson<'a>>,
}

/// Certificates as istioctl has them.
pub fn certificates_json<'a>(certificates: &[ZtunnelCertificate<'a>]) -> impl Serialize + use<'a> {
    let pem = |raw: Raw<'a>| PemJson {
        pem: text(raw, "pem"),
        serial_number: text(raw, "serialNumber"),
        valid_from: text(raw, "validFrom"),
        expiration_time: text(raw, "expirationTime"),
    };
    let of = |certificate: &ZtunnelCertificate<'a>| CertificateJson {
        identity: certificate.identity.clone(),
        state: certificate.state.clone(),
        cert_chain: certificate.raw.list("certChain").map(pem).collect(),
        root_certs: certificate.raw.list("rootCerts").map(pem).collect(),
    };
    certificates.iter().map(of).collect::<Vec<_>>()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConnectionJson<'a> {
    src: Text<'a>,
    original_dst: Text<'a>,
    actual_dst: Text<'a>,
    protocol: Text<'a>,
}

#[derive(Serialize)]
struct ConnectionsJson<'a> {
    inbound: Vec<ConnectionJson<'a>>,
    outbound: Vec<ConnectionJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InfoJson<'a> {
    name: Text<'a>,
    namespace: Text<'a>,
    trust_domain: Text<'a>,
    service_account: Text<'a>,
}

#[derive(Serialize)]
struct StateJson<'a> {
    state: Text<'a>,
    connections: ConnectionsJson<'a>,
    info: InfoJson<'a>,
}

/// Connections as istioctl has them.
pub fn connections_json<'a>(states: &[&WorkloadState<'a>]) -> impl Serialize + use<'a> {
    let one = |raw: Raw<'a>| ConnectionJson {
        src: text(raw, "src"),
        original_dst: text(raw, "originalDst"),
        actual_dst: text(raw, "actualDst"),
        protocol: text(raw, "protocol"),
    };
    let of = |state: &&WorkloadState<'a>| {
        let list = |key| {
            let found = state.raw.at(["connections", key]);
            found.into_iter().flat_map(Raw::elements).map(one).collect()
        };
        StateJson {
            state: text(state.raw, "state"),
            connections: ConnectionsJson {
                inbound: list("inbound"),
                outbound: list("outbound"),
            },
            info: InfoJson {
                name: state.name.clone(),
                namespace: state.namespace.clone(),
                trust_domain: state
                    .raw
                    .at(["info", "trustDomain"])
                    .and_then(Raw::string)
                    .unwrap_or_default(),
                service_account: state.service_account.clone(),
            },
        }
    };
    states.iter().map(of).collect::<Vec<_>>()
}
