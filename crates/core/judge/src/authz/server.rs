//! Which server a user means, and what policies ask of it.

use std::fmt;

use super::Checker;
use super::objects;
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::snapshot::{ProxyRef, Shape};
use meshladder_mesh::PodFacts;
use meshladder_mesh::target::{self, Target};
use meshladder_sim::walk::Call;
use meshladder_text::tree::{Member, Node, Span, Value};

/// A server: a pod, or what would make one.
#[derive(Clone, Debug)]
pub struct PolicyServer {
    /// Its namespace.
    pub namespace: String,
    /// The pod's name, or the workload's.
    pub name: String,
    /// The pod's labels.
    pub(super) labels: Node,
    /// Its proxy, when there is a dump of it.
    pub(super) proxy: Option<ProxyRef>,
    /// Whether a proxy runs in it; none when no pod tells.
    pub(super) has_proxy: Option<bool>,
    /// Its named ports.
    pub(super) ports: Vec<(String, u16)>,
    pub(super) notes: Vec<String>,
}

impl fmt::Display for PolicyServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Checker<'_> {
    /// The server that was named (`ns/name`, `kind/name`, `name.ns`), or the one that the
    /// question's URL leads to.
    ///
    /// # Errors
    /// When there is none, in words.
    pub fn server(
        &self,
        call: &Call,
        named: Option<&str>,
        namespace: Option<&str>,
    ) -> Result<PolicyServer, String> {
        match named {
            Some(text) => self.by_name(text, namespace),
            None => self.by_url(&call.to.host, namespace.unwrap_or("default")),
        }
    }

    fn by_name(&self, text: &str, namespace: Option<&str>) -> Result<PolicyServer, String> {
        let (first, last) = text
            .split_once('/')
            .map_or((None, text), |(first, last)| (Some(first), last));
        let (name, own) = last
            .rsplit_once('.')
            .map_or((last, None), |(name, own)| (name, Some(own)));
        // `shop/cart`, `deploy/cart -n shop`, `cart.shop`
        let readings = [(first, last), (own, name), (namespace, last)];
        for (namespace, name) in readings
            .into_iter()
            .filter_map(|(namespace, name)| Some((namespace?, name)))
        {
            let pods: Vec<_> = self
                .mesh
                .pods
                .iter()
                .filter(|pod| pod.namespace == namespace)
                .collect();
            let made = |pod: &&&PodFacts| pod.running && pod.owner.rsplit('/').next() == Some(name);
            let service = self
                .mesh
                .services
                .iter()
                .find(|s| s.namespace == namespace && s.name == name);
            let mut found: Vec<_> = pods
                .iter()
                .filter(|pod| pod.name == name)
                .copied()
                .collect();
            if found.is_empty() {
                found = pods.iter().filter(made).copied().collect();
            }
            if let (true, Some(service), Some("svc" | "service" | "services")) =
                (found.is_empty(), service, first)
            {
                found = self.mesh.pods_of(service).collect();
            }
            if let Some(server) = self.of_pods(&found, text) {
                return Ok(server);
            }
            if let Some(server) = self.of_workload(namespace, name) {
                return Ok(server);
            }
        }
        let found = Target::parse(text, namespace)?.resolve(self.snapshot, Shape::ConfigDump)?;
        Ok(self.of_proxy(found.proxy))
    }

    fn by_url(&self, host: &str, namespace: &str) -> Result<PolicyServer, String> {
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            let pod = self.mesh.pod_at(address).into_iter().collect::<Vec<_>>();
            return self
                .of_pods(&pod, host)
                .ok_or_else(|| format!("no pod has the address {host}"));
        }
        if let Some(service) = self
            .mesh
            .service_named(&host.to_ascii_lowercase(), namespace)
        {
            let pods: Vec<_> = self.mesh.pods_of(service).collect();
            let named = format!("Service {}/{}", service.namespace, service.name);
            return self
                .of_pods(&pods, &named)
                .ok_or_else(|| format!("{named} selects no running pod"));
        }
        match target::only_proxy(self.snapshot, Shape::ConfigDump) {
            Some(proxy) if self.mesh.pods.is_empty() => Ok(self.of_proxy(proxy)),
            _ => Err(format!(
                "no Service is named {host}: name the workload that is called"
            )),
        }
    }

    /// The first of some pods, one with a dump before the others.
    fn of_pods(&self, pods: &[&PodFacts], asked: &str) -> Option<PolicyServer> {
        let dump = |pod: &PodFacts| {
            let mut proxies = self
                .snapshot
                .proxies_with(Shape::ConfigDump)
                .map(|(proxy, _)| proxy);
            proxies.find(|proxy| proxy.namespace == pod.namespace && proxy.pod == pod.name)
        };
        let pod = pods
            .iter()
            .find(|pod| dump(pod).is_some())
            .or(pods.first())?;
        let key = (pod.namespace.clone(), pod.name.clone());
        let labels = pod.labels.iter();
        let note = (pods.len() > 1).then(|| {
            format!(
                "{asked} has {} pods; this is {}/{}",
                pods.len(),
                key.0,
                key.1
            )
        });
        Some(PolicyServer {
            labels: labels_of(labels),
            proxy: dump(pod),
            has_proxy: Some(pod.has_proxy),
            ports: self.objects.ports(&key.0, &key.1),
            namespace: key.0,
            name: key.1,
            notes: note.into_iter().collect(),
        })
    }

    /// The pod that a Deployment or its like would make.
    fn of_workload(&self, namespace: &str, name: &str) -> Option<PolicyServer> {
        let workload = self.objects.workload(namespace, name)?;
        let template = workload.node.at(["spec", "template"])?;
        Some(PolicyServer {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            labels: template
                .at(["metadata", "labels"])
                .cloned()
                .unwrap_or_else(|| labels_of([])),
            proxy: None,
            has_proxy: None,
            ports: objects::named_ports(template.get("spec")),
            notes: Vec::new(),
        })
    }

    /// A pod of which only the proxy tells.
    fn of_proxy(&self, proxy: ProxyRef) -> PolicyServer {
        let id = self
            .snapshot
            .proxies_with(Shape::ConfigDump)
            .find(|(p, _)| *p == proxy)
            .map(|(_, id)| id);
        let document = id.and_then(|id| self.snapshot.open(id).ok());
        let labels = document.and_then(|document| {
            let dump = Dump::index(&document.text, &[]).ok()?;
            let node = dump.section(Section::Bootstrap)?.at([
                "bootstrap",
                "node",
                "metadata",
                "LABELS",
            ])?;
            Node::from_json(node).ok()
        });
        PolicyServer {
            namespace: proxy.namespace.clone(),
            name: proxy.pod.clone(),
            labels: labels.unwrap_or_else(|| labels_of([])),
            proxy: Some(proxy),
            has_proxy: Some(true),
            ports: Vec::new(),
            notes: Vec::new(),
        }
    }
}

fn labels_of<'l>(pairs: impl IntoIterator<Item = (&'l str, &'l str)>) -> Node {
    let member = |(key, value): (&str, &str)| Member {
        key: key.into(),
        key_span: Span::default(),
        value: Node {
            value: Value::String(value.into()),
            span: Span::default(),
        },
    };
    Node {
        value: Value::Object(pairs.into_iter().map(member).collect()),
        span: Span::default(),
    }
}
