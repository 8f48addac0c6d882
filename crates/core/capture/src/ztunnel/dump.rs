//! ztunnel's `/config_dump`: every workload and service of the mesh as it has them, and of its own
//! node the pods that it serves, their certificates and their connections.
//!
//! Sections are arrays; up to 1.22 they were objects keyed by address or name, and both are read. A
//! dump that is cut short is what came before the cut, and says so.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

use super::policy::L4Policy;
use meshladder_text::json::{Raw, TextFault, ValueKind};

/// A dump, read.
#[derive(Clone, Debug, Default)]
pub struct ZtunnelDump<'a> {
    /// Every workload of the mesh.
    pub workloads: Vec<ZtunnelWorkload<'a>>,
    /// Every service of the mesh.
    pub services: Vec<ZtunnelService<'a>>,
    /// Every policy that it was sent, with the place of each.
    pub policies: Vec<(L4Policy, Raw<'a>)>,
    /// The certificates of the pods on its node.
    pub certificates: Vec<ZtunnelCertificate<'a>>,
    /// The pods that its node's agent handed it.
    pub states: Vec<WorkloadState<'a>>,
    /// Services that endpoints wait for: `namespace/hostname`.
    pub staged: Vec<Cow<'a, str>>,
    /// The node it runs on.
    pub node: Cow<'a, str>,
    /// The network that it looks addresses up in.
    pub network: Cow<'a, str>,
    /// Where it gets its configuration from.
    pub xds_address: Cow<'a, str>,
    /// `config`, where it has one.
    pub config: Option<Raw<'a>>,
    /// Its version.
    pub version: Cow<'a, str>,
    /// Which sections are there, whole.
    sections: Vec<Cow<'a, str>>,
    /// What cut it short.
    pub fault: Option<TextFault>,
}

/// How a workload is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkloadProtocol {
    /// In plain text, at its own port.
    #[default]
    Tcp,
    /// Through a tunnel to port 15008.
    Hbone,
}

/// A workload.
#[derive(Clone, Debug)]
pub struct ZtunnelWorkload<'a> {
    /// All of it.
    pub raw: Raw<'a>,
    /// `Kubernetes//Pod/shop/cart-1`
    pub uid: Cow<'a, str>,
    /// The pod's name.
    pub name: Cow<'a, str>,
    /// Namespace.
    pub namespace: Cow<'a, str>,
    /// Its addresses.
    pub ips: Vec<IpAddr>,
    /// How it is reached.
    pub protocol: WorkloadProtocol,
    /// Whether it is on its node's network, and its address no one's own.
    pub is_host_network: bool,
    /// Where traffic to its address goes first.
    pub waypoint: Option<Cow<'a, str>>,
    /// The policies that select it.
    pub policies: Vec<Cow<'a, str>>,
    /// Its node.
    pub node: Cow<'a, str>,
    /// Its service account.
    pub service_account: Cow<'a, str>,
    /// Its trust domain.
    pub trust_domain: Cow<'a, str>,
    /// Its network.
    pub network: Cow<'a, str>,
    /// Whether it is ready.
    pub is_healthy: bool,
}

/// A service.
#[derive(Clone, Debug)]
pub struct ZtunnelService<'a> {
    /// All of it.
    pub raw: Raw<'a>,
    /// Name.
    pub name: Cow<'a, str>,
    /// Namespace.
    pub namespace: Cow<'a, str>,
    /// `cart.shop.svc.cluster.local`
    pub hostname: Cow<'a, str>,
    /// Its addresses; none for a headless one.
    pub vips: Vec<IpAddr>,
    /// Service port to target port; 0 is a port that each endpoint names itself.
    pub ports: BTreeMap<u16, u16>,
    /// Its endpoints that are ready.
    pub endpoints: Vec<ZtunnelEndpoint<'a>>,
    /// Where traffic to its address goes first: `namespace/hostname` or `network/ip`.
    pub waypoint: Option<Cow<'a, str>>,
    /// Identities beside a workload's own that may answer for it.
    pub subject_alt_names: Vec<Cow<'a, str>>,
    /// Whether it sends connections on to where they were going.
    pub is_passthrough: bool,
    /// Whether every routing preference must be met.
    pub is_strict: bool,
}

/// An endpoint of a service.
#[derive(Clone, Debug)]
pub struct ZtunnelEndpoint<'a> {
    /// The workload's `uid`.
    pub workload: Cow<'a, str>,
    /// Service port to the workload's own.
    pub ports: BTreeMap<u16, u16>,
}

/// A certificate that is held, or not.
#[derive(Clone, Debug)]
pub struct ZtunnelCertificate<'a> {
    /// All of it.
    pub raw: Raw<'a>,
    /// `spiffe://cluster.local/ns/shop/sa/cart`
    pub identity: Cow<'a, str>,
    /// `Available`, `Initializing`, or `Unavailable: ` and why.
    pub state: Cow<'a, str>,
}

/// A pod that the node's agent handed over.
#[derive(Clone, Debug)]
pub struct WorkloadState<'a> {
    /// All of it.
    pub raw: Raw<'a>,
    /// The pod's uid in Kubernetes.
    pub uid: Cow<'a, str>,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its namespace.
    pub namespace: Cow<'a, str>,
    /// Its service account.
    pub service_account: Cow<'a, str>,
    /// Whether its proxy runs.
    pub is_up: bool,
}

/// A section of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZtunnelSection {
    /// `workloads`
    Workloads,
    /// `services`
    Services,
    /// `policies`
    Policies,
    /// `certificates`
    Certificates,
    /// `workloadState`
    States,
}

impl ZtunnelSection {
    fn key(self) -> &'static str {
        match self {
            Self::Workloads => "workloads",
            Self::Services => "services",
            Self::Policies => "policies",
            Self::Certificates => "certificates",
            Self::States => "workloadState",
        }
    }
}

impl<'a> ZtunnelDump<'a> {
    /// Reads a dump; what came before a fault is kept.
    ///
    /// # Errors
    /// When it is no config dump of a ztunnel.
    pub fn read(doc: &'a str) -> Result<Self, TextFault> {
        let root = Raw::of(doc)?;
        let mut dump = Self::default();
        if root.kind() != ValueKind::Object {
            return Err(TextFault::new(root.offset(), NOT_A_DUMP));
        }
        let mut cursor = root.cursor();
        cursor.members(|key, value| {
            let (start, before) = (value.peek(), dump.sections.len());
            if !dump.read_section(key, start) {
                return;
            }
            // A section that ends early is read as far as it goes, and is not whole.
            if value.raw().is_some() {
                dump.sections.truncate(before);
                dump.sections.push(Cow::Owned(key.to_owned()));
            }
        });
        dump.fault = cursor.fault();
        let is_known = dump.config.is_some() || !dump.workloads.is_empty();
        if !is_known && dump.sections.is_empty() {
            let fault = dump.fault.take();
            return Err(fault.unwrap_or_else(|| TextFault::new(root.offset(), NOT_A_DUMP)));
        }
        Ok(dump)
    }

    /// Whether a section is there, whole: what it lacks is then not there.
    pub fn has(&self, section: ZtunnelSection) -> bool {
        self.sections.iter().any(|own| own == section.key())
    }

    fn read_section(&mut self, key: &str, value: Raw<'a>) -> bool {
        match key {
            "workloads" => self.workloads.extend(items(value).map(ZtunnelWorkload::of)),
            "services" => self.services.extend(items(value).map(ZtunnelService::of)),
            "policies" => self
                .policies
                .extend(items(value).map(|raw| (L4Policy::read(raw), raw))),
            "certificates" => self
                .certificates
                .extend(value.elements().map(ZtunnelCertificate::of)),
            "workloadState" => self.states.extend(
                value
                    .members()
                    .map(|(uid, raw)| WorkloadState::of(uid, raw)),
            ),
            "stagedServices" => self.staged.extend(value.members().map(|(name, _)| name)),
            "config" => self.read_config(value),
            "version" => self.version = text(value, "version"),
            _ => return false,
        }
        true
    }

    fn read_config(&mut self, config: Raw<'a>) {
        self.node = text(config, "localNode");
        self.network = text(config, "network");
        self.xds_address = text(config, "xdsAddress");
        self.config = Some(config);
    }

    /// The workload of that `uid`.
    pub fn workload(&self, uid: &str) -> Option<&ZtunnelWorkload<'a>> {
        self.workloads.iter().find(|workload| workload.uid == uid)
    }

    /// The workload of a pod.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&ZtunnelWorkload<'a>> {
        self.workloads.iter().find(|workload| {
            workload.name == name && workload.namespace == namespace && workload.is_pod()
        })
    }

    /// The workload that has an address of its own.
    pub fn workload_at(&self, address: IpAddr) -> Option<&ZtunnelWorkload<'a>> {
        self.workloads
            .iter()
            .find(|workload| !workload.is_host_network && workload.ips.contains(&address))
    }

    /// The service that has an address; of several that of the caller's namespace, then the
    /// canonical one.
    pub fn service_at(&self, address: IpAddr, namespace: &str) -> Option<&ZtunnelService<'a>> {
        let here = || {
            self.services
                .iter()
                .filter(|service| service.vips.contains(&address))
        };
        here()
            .find(|service| service.namespace == namespace)
            .or_else(|| here().find(|service| service.is_canonical()))
            .or_else(|| here().next())
    }

    /// The service that a waypoint's `destination` names: `namespace/hostname` or `network/ip`.
    pub fn service_named(&self, destination: &str) -> Option<&ZtunnelService<'a>> {
        let (first, rest) = destination.split_once('/')?;
        if let Ok(address) = rest.parse::<IpAddr>() {
            return self.service_at(address, "");
        }
        self.services
            .iter()
            .find(|service| service.namespace == first && service.hostname == rest)
    }

    /// The policies that hold for a workload: all of the mesh and of its namespace, and those that
    /// it lists.
    pub fn policies_of(&self, workload: &ZtunnelWorkload<'_>) -> impl Iterator<Item = &L4Policy> {
        use super::policy::L4Scope;
        self.policies
            .iter()
            .map(|(policy, _)| policy)
            .filter(|policy| match policy.scope {
                L4Scope::Global => true,
                L4Scope::Namespace => policy.namespace == workload.namespace,
                L4Scope::WorkloadSelector => {
                    let key = policy.key();
                    workload.policies.iter().any(|own| *own == key)
                }
            })
    }
}

const NOT_A_DUMP: &str = "not a config dump of a ztunnel";

impl ZtunnelWorkload<'_> {
    /// Whether it is a pod, and not an entry of an object.
    pub fn is_pod(&self) -> bool {
        // Before 1.22 there was no uid.
        self.uid.is_empty() || self.uid.contains("//Pod/")
    }

    /// Its identity, without `spiffe://`.
    pub fn identity(&self) -> String {
        format!(
            "{}/ns/{}/sa/{}",
            self.trust_domain, self.namespace, self.service_account
        )
    }
}

impl<'a> ZtunnelWorkload<'a> {
    fn of(raw: Raw<'a>) -> Self {
        let mut workload = Self {
            raw,
            uid: Cow::default(),
            name: Cow::default(),
            namespace: Cow::default(),
            ips: Vec::new(),
            protocol: WorkloadProtocol::Tcp,
            is_host_network: false,
            waypoint: None,
            policies: Vec::new(),
            node: Cow::default(),
            service_account: Cow::Borrowed("default"),
            trust_domain: Cow::Borrowed("cluster.local"),
            network: Cow::default(),
            is_healthy: true,
        };
        for (key, value) in raw.members() {
            let text = || value.string().unwrap_or_default();
            match &*key {
                "uid" => workload.uid = text(),
                "name" => workload.name = text(),
                "namespace" => workload.namespace = text(),
                "workloadIps" => {
                    workload.ips = value.elements().filter_map(address).collect();
                }
                "protocol" if text() == "HBONE" => workload.protocol = WorkloadProtocol::Hbone,
                "networkMode" => workload.is_host_network = text() == "HostNetwork",
                "waypoint" => workload.waypoint = value.string_at("destination"),
                "authorizationPolicies" => {
                    workload.policies = value.elements().filter_map(Raw::string).collect();
                }
                "node" => workload.node = text(),
                "serviceAccount" => workload.service_account = text(),
                "trustDomain" => workload.trust_domain = text(),
                "network" => workload.network = text(),
                "status" => workload.is_healthy = text() != "Unhealthy",
                _ => {}
            }
        }
        workload
    }
}

impl<'a> ZtunnelService<'a> {
    fn of(raw: Raw<'a>) -> Self {
        let mut service = Self {
            raw,
            name: Cow::default(),
            namespace: Cow::default(),
            hostname: Cow::default(),
            vips: Vec::new(),
            ports: BTreeMap::new(),
            endpoints: Vec::new(),
            waypoint: None,
            subject_alt_names: Vec::new(),
            is_passthrough: false,
            is_strict: false,
        };
        for (key, value) in raw.members() {
            let text = || value.string().unwrap_or_default();
            match &*key {
                "name" => service.name = text(),
                "namespace" => service.namespace = text(),
                "hostname" => service.hostname = text(),
                "vips" => service.vips = value.elements().filter_map(address).collect(),
                "ports" => service.ports = ports(value),
                "endpoints" => {
                    service.endpoints = items(value).map(ZtunnelEndpoint::of).collect();
                }
                "waypoint" => service.waypoint = value.string_at("destination"),
                "subjectAltNames" => {
                    service.subject_alt_names = value.elements().filter_map(Raw::string).collect();
                }
                "loadBalancer" => {
                    let mode = value.string_at("mode").unwrap_or_default();
                    service.is_passthrough = mode == "Passthrough";
                    service.is_strict = mode == "Strict";
                }
                _ => {}
            }
        }
        service
    }

    fn is_canonical(&self) -> bool {
        self.raw.get("canonical").and_then(Raw::bool) == Some(true)
    }
}

impl<'a> ZtunnelEndpoint<'a> {
    fn of(raw: Raw<'a>) -> Self {
        Self {
            workload: text(raw, "workloadUid"),
            ports: raw.get("port").map(ports).unwrap_or_default(),
        }
    }
}

impl<'a> ZtunnelCertificate<'a> {
    fn of(raw: Raw<'a>) -> Self {
        Self {
            raw,
            identity: text(raw, "identity"),
            state: text(raw, "state"),
        }
    }

    /// Why there is none, when there is none.
    pub fn failure(&self) -> Option<&str> {
        self.state.strip_prefix("Unavailable: ")
    }
}

impl<'a> WorkloadState<'a> {
    fn of(uid: Cow<'a, str>, raw: Raw<'a>) -> Self {
        let info = |key| {
            raw.at(["info", key])
                .and_then(Raw::string)
                .unwrap_or_default()
        };
        Self {
            raw,
            uid,
            name: info("name"),
            namespace: info("namespace"),
            service_account: info("serviceAccount"),
            is_up: text(raw, "state") == "Up",
        }
    }
}

/// The items of a section: an array, or in old dumps an object.
fn items(section: Raw<'_>) -> impl Iterator<Item = Raw<'_>> {
    section
        .elements()
        .chain(section.members().map(|(_, value)| value))
}

fn text<'a>(raw: Raw<'a>, key: &str) -> Cow<'a, str> {
    raw.string_at(key).unwrap_or_default()
}

/// `10.0.0.1`, or `network/10.0.0.1`.
fn address(raw: Raw<'_>) -> Option<IpAddr> {
    let text = raw.string()?;
    let address = text.rsplit_once('/').map_or(&*text, |(_, address)| address);
    address.parse().ok()
}

fn ports(raw: Raw<'_>) -> BTreeMap<u16, u16> {
    let pair = |(port, target): (Cow<'_, str>, Raw<'_>)| {
        Some((port.parse().ok()?, target.number()?.try_into().ok()?))
    };
    raw.members().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = r#"{
 "config": {"localNode": "node-a", "network": "", "xdsAddress": "https://istiod:15012"},
 "policies": [{"name": "p", "namespace": "shop", "scope": "WorkloadSelector", "action": "Allow", "rules": []}],
 "services": [
  {"name": "cart", "namespace": "shop", "hostname": "cart.shop.svc.cluster.local", "vips": ["/10.96.0.1"],
   "ports": {"80": 8080}, "waypoint": {"destination": "shop/waypoint.shop.svc.cluster.local", "hboneMtlsPort": 15008},
   "endpoints": {"K//Pod/shop/cart-1": {"workloadUid": "K//Pod/shop/cart-1", "port": {"80": 8080}, "status": "Healthy"}}}],
 "workloadState": {"u1": {"state": "Up", "info": {"name": "cart-1", "namespace": "shop", "serviceAccount": "cart"}}},
 "workloads": [
  {"uid": "K//Pod/shop/cart-1", "name": "cart-1", "namespace": "shop", "protocol": "HBONE", "workloadIps": ["10.244.0.1"],
   "authorizationPolicies": ["shop/p"], "node": "node-a", "serviceAccount": "cart", "networkMode": "Standard"},
  {"uid": "K//Pod/tools/node-1", "name": "node-1", "namespace": "tools", "protocol": "TCP", "workloadIps": ["10.0.0.9"],
   "networkMode": "HostNetwork"}]
}"#;

    #[test]
    fn a_dump_tells_workloads_services_policies_and_the_pods_of_its_node() {
        let dump = ZtunnelDump::read(DUMP).expect("a dump");
        assert!(dump.fault.is_none() && dump.has(ZtunnelSection::Workloads));
        assert_eq!(dump.node, "node-a");
        let cart = dump.pod("shop", "cart-1").expect("it is there");
        assert_eq!(cart.protocol, WorkloadProtocol::Hbone);
        assert_eq!(cart.identity(), "cluster.local/ns/shop/sa/cart");
        assert_eq!(dump.policies_of(cart).count(), 1);
        let vip = "10.96.0.1".parse().expect("an address");
        let service = dump.service_at(vip, "tools").expect("it is there");
        assert_eq!(
            (service.ports.get(&80), service.endpoints.len()),
            (Some(&8080), 1)
        );
        assert!(
            dump.service_named("shop/cart.shop.svc.cluster.local")
                .is_some()
        );
        // An address of a node is no workload's own.
        assert!(
            dump.workload_at("10.0.0.9".parse().expect("an address"))
                .is_none()
        );
        assert!(dump.states[0].is_up);
    }

    #[test]
    fn a_dump_that_is_cut_short_keeps_what_came_before_and_lacks_the_section() {
        for end in 0..DUMP.rfind(']').expect("the end of the last section") {
            let Some(part) = DUMP.get(..end) else {
                continue;
            };
            if let Ok(dump) = ZtunnelDump::read(part) {
                assert!(dump.fault.is_some(), "{end}");
                assert!(!dump.has(ZtunnelSection::Workloads), "{end}");
            }
        }
        let cut = DUMP.find("tools/node-1").expect("it is there");
        let dump = ZtunnelDump::read(&DUMP[..cut]).expect("the start of a dump");
        assert_eq!(dump.workloads.len(), 1);
        assert!(dump.has(ZtunnelSection::Services));
    }

    #[test]
    fn sections_of_old_dumps_are_objects() {
        let old = r#"{"workloads": {"/10.0.0.1": {"name": "a", "namespace": "shop", "workloadIps": ["10.0.0.1"],
            "protocol": "HBONE"}}, "policies": {"shop/p": {"name": "p", "namespace": "shop"}}}"#;
        let dump = ZtunnelDump::read(old).expect("a dump");
        assert!(dump.pod("shop", "a").is_some());
        assert_eq!(dump.policies[0].0.key(), "shop/p");
    }

    #[test]
    fn what_is_no_dump_is_refused() {
        for text in ["", "[]", r#"{"configs": []}"#, "null"] {
            assert!(ZtunnelDump::read(text).is_err(), "{text}");
        }
    }
}
