//! Where Prometheus is inside a cluster: a Service and one of its ports.

use crate::mesh::services::{ServicePort, ports};
use crate::mesh::{Mesh, Stored};

/// A Service that answers Prometheus' HTTP API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The port's number or name.
    pub port: String,
    /// Whether it wants TLS.
    pub is_https: bool,
}

/// What `service/NAMESPACE/NAME[:PORT]` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The Service's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The port, by number or name, when one is given.
    pub port: Option<String>,
}

impl Named {
    /// Reads `service/NAMESPACE/NAME[:PORT]`; none for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("service/").or_else(|| text.strip_prefix("svc/"))?;
        let (namespace, name) = rest.split_once('/')?;
        let (name, port) = name.split_once(':').map_or((name, None), |(name, port)| (name, Some(port.to_owned())));
        let is_name =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
        let is_port = port.as_deref().is_none_or(is_name);
        let named = || Self { namespace: namespace.to_owned(), name: name.to_owned(), port };
        (is_name(namespace) && is_name(name) && is_port).then(named)
    }

    /// The place it means, when a port is given: nothing need be looked up then.
    pub fn place(&self) -> Option<Place> {
        let port = self.port.clone()?;
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        Some(Place { namespace, name, is_https: port == "443" || port.starts_with("https"), port })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "service/{}/{}:{}", self.namespace, self.name, self.port)
    }
}

/// A Service of the mesh as the place to ask.
///
/// # Errors
/// When there is no such Service, or it has several ports and none of them tells.
pub fn of_service(mesh: &Mesh, named: &Named) -> Result<Place, String> {
    let told = format!("{}/{}", named.namespace, named.name);
    let service = mesh.service(&named.namespace, &named.name).ok_or_else(|| format!("there is no Service {told}"))?;
    if let Some(place) = named.place() {
        return Ok(place);
    }
    place(service).ok_or_else(|| {
        let known: Vec<String> = ports(service).map(|port| port.number.to_string()).collect();
        format!("which port of Service {told}? it has {}: service/{told}:PORT", known.join(", "))
    })
}

/// The Services that are Prometheus by their labels and names, the best first: Prometheus itself before what only speaks
/// its API, those that people made before those that an operator made for its own ends, then by namespace and name.
pub fn find(mesh: &Mesh) -> Vec<Place> {
    let services = mesh.objects.of("Service", "");
    let mut found: Vec<(u8, Place)> = services.filter_map(|service| Some((rank(service)?, place(service)?))).collect();
    found.sort_by(|(a, left), (b, right)| (a, &left.namespace, &left.name).cmp(&(b, &right.namespace, &right.name)));
    found.into_iter().map(|(_, place)| place).collect()
}

/// Parts of a Prometheus installation that do not answer queries.
const OTHERS: [&str; 8] = [
    "alertmanager",
    "node-exporter",
    "pushgateway",
    "kube-state-metrics",
    "operator",
    "adapter",
    "thanos-discovery",
    "blackbox",
];

fn rank(service: &Stored) -> Option<u8> {
    let label = |key: &str| service.label(key).unwrap_or_default();
    let (name, part) = (label("app.kubernetes.io/name"), label("app.kubernetes.io/component"));
    let (app, own) = (label("app"), service.id.name.as_str());
    let is_other = |text: &str| OTHERS.iter().any(|other| text.contains(other));
    if [name, part, app, own, label("component")].into_iter().any(is_other) {
        return None;
    }
    let is_prometheus = name == "prometheus"
        || app == "prometheus"
        || app.ends_with("-prometheus")
        || ["prometheus", "prometheus-server", "prometheus-k8s"].contains(&own);
    match () {
        () if own == "prometheus-operated" || label("operated-prometheus") == "true" => Some(3),
        () if is_prometheus => Some(0),
        () if name == "thanos-query" || (name == "thanos" && part == "query") || own == "thanos-query" => Some(1),
        () if ["vmsingle", "victoria-metrics-single"].contains(&name) => Some(2),
        () => None,
    }
}

/// The port that answers queries, as installations name it; else the only one.
fn place(service: &Stored) -> Option<Place> {
    const NAMES: [&str; 8] =
        ["web", "http-web", "http", "http-prometheus", "prometheus", "http-query", "https", "https-web"];
    const NUMBERS: [u16; 4] = [9090, 80, 10902, 8429];
    let all: Vec<ServicePort<'_>> = ports(service).collect();
    let by_name = || NAMES.iter().find_map(|name| all.iter().find(|port| port.name == *name));
    let by_number = || NUMBERS.iter().find_map(|number| all.iter().find(|port| port.number == *number));
    let port = if let [only] = all.as_slice() { Some(only) } else { by_name().or_else(by_number) }?;
    let is_https = port.number == 443 || port.name.starts_with("https") || port.app_protocol == Some("https");
    let (namespace, name) = (service.id.namespace.to_string(), service.id.name.to_string());
    Some(Place { namespace, name, port: port.number.to_string(), is_https })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{Builder, DocId};

    fn mesh(services: &[(&str, &str, &str, &str)]) -> Mesh {
        let service = |(namespace, name, labels, ports): &(&str, &str, &str, &str)| {
            format!(
                "---\nkind: Service\napiVersion: v1\nmetadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}}}\nspec: {{ports: [{ports}]}}\n"
            )
        };
        let yaml: String = services.iter().map(service).collect();
        let mut builder = Builder::new();
        builder.add(DocId::new("k8s/services.yaml"), "services.yaml", yaml.into());
        Mesh::build(&builder.finish())
    }

    #[test]
    fn usual_installations_are_found_the_best_first() {
        let mesh = mesh(&[
            ("monitoring", "prometheus-operated", "operated-prometheus: 'true'", "{name: http-web, port: 9090}"),
            (
                "monitoring",
                "stack-kube-prometheus-prometheus",
                "app: kube-prometheus-stack-prometheus",
                "{name: reloader-web, port: 8080}, {name: http-web, port: 9090}",
            ),
            ("monitoring", "stack-alertmanager", "app: kube-prometheus-stack-alertmanager", "{port: 9093}"),
            (
                "monitoring",
                "prometheus-node-exporter",
                "app.kubernetes.io/name: prometheus-node-exporter",
                "{port: 9100}",
            ),
            (
                "istio-system",
                "prometheus",
                "app.kubernetes.io/name: prometheus, app.kubernetes.io/component: server",
                "{port: 9090}",
            ),
            ("thanos", "thanos-query", "", "{name: grpc, port: 10901}, {name: http, port: 10902}"),
            ("shop", "cart", "app: cart", "{port: 9090}"),
        ]);
        let found: Vec<String> = find(&mesh).iter().map(Place::to_string).collect();
        assert_eq!(
            found,
            [
                "service/istio-system/prometheus:9090",
                "service/monitoring/stack-kube-prometheus-prometheus:9090",
                "service/thanos/thanos-query:10902",
                "service/monitoring/prometheus-operated:9090",
            ]
        );
    }

    #[test]
    fn a_service_may_be_named_with_its_port_or_without() {
        let mesh = mesh(&[
            ("m", "one", "", "{port: 9999, name: https}"),
            ("m", "two", "", "{port: 1, name: a}, {port: 2, name: b}"),
        ]);
        let told = |text: &str| Named::parse(text).map(|named| of_service(&mesh, &named));
        let one = Place { namespace: "m".to_owned(), name: "one".to_owned(), port: "9999".to_owned(), is_https: true };
        assert_eq!(told("service/m/one"), Some(Ok(one)));
        assert_eq!(told("svc/m/two:b").and_then(Result::ok).map(|place| place.port).as_deref(), Some("b"));
        assert_eq!(
            told("service/m/two"),
            Some(Err("which port of Service m/two? it has 1, 2: service/m/two:PORT".to_owned()))
        );
        assert_eq!(told("service/m/none"), Some(Err("there is no Service m/none".to_owned())));
        for wrong in ["m/one", "service/one", "service//x", "service/m/x:", "service/m/a/../b", "http://m"] {
            assert_eq!(Named::parse(wrong), None, "{wrong}");
        }
    }
}
