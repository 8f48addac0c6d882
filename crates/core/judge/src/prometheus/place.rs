//! Where Prometheus is inside a cluster: a Service and one of its ports.

use meshladder_capture::Kind;
use meshladder_mesh::services::{ServicePort, ports};
use meshladder_mesh::{Mesh, Object};

/// A Service that answers Prometheus' HTTP API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrometheusService {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The port's number or name.
    pub port: String,
    /// What stands before `/api/v1`, such as Mimir's `/prometheus`; empty, or starts with a slash.
    pub path: String,
    /// Whether it wants TLS.
    pub is_https: bool,
}

/// What `service/NAMESPACE/NAME[:PORT][/PATH]` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAddress {
    /// The Service's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The port, by number or name, when one is given.
    pub port: Option<String>,
    /// What stands before `/api/v1`, when it is given.
    pub path: Option<String>,
}

impl ServiceAddress {
    /// Reads `service/NAMESPACE/NAME[:PORT][/PATH]`; none for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text
            .strip_prefix("service/")
            .or_else(|| text.strip_prefix("svc/"))?;
        let (namespace, rest) = rest.split_once('/')?;
        let (name, path) = rest
            .split_once('/')
            .map_or((rest, None), |(name, path)| (name, Some(path)));
        let (name, port) = name
            .split_once(':')
            .map_or((name, None), |(name, port)| (name, Some(port.to_owned())));
        let is_name = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b))
        };
        let is_port = port.as_deref().is_none_or(is_name);
        let is_path =
            path.is_none_or(|path| path.split('/').all(|part| is_name(part) && part != ".."));
        let path = path.map(|path| format!("/{path}"));
        let named = || Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
            path,
        };
        (is_name(namespace) && is_name(name) && is_port && is_path).then(named)
    }

    /// The place it means, when a port is given: nothing need be looked up then.
    pub fn place(&self) -> Option<PrometheusService> {
        let port = self.port.clone()?;
        let (namespace, name, path) = (
            self.namespace.clone(),
            self.name.clone(),
            self.path.clone().unwrap_or_default(),
        );
        Some(PrometheusService {
            namespace,
            name,
            is_https: port == "443" || port.starts_with("https"),
            port,
            path,
        })
    }
}

impl std::fmt::Display for PrometheusService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "service/{}/{}:{}{}",
            self.namespace, self.name, self.port, self.path
        )
    }
}

/// A Service of the mesh as the place to ask.
///
/// # Errors
/// When there is no such Service, or it has several ports and none of them tells.
pub fn of_service(mesh: &Mesh, named: &ServiceAddress) -> Result<PrometheusService, String> {
    let told = format!("{}/{}", named.namespace, named.name);
    let service = mesh
        .service(&named.namespace, &named.name)
        .ok_or_else(|| format!("there is no Service {told}"))?;
    let known = Product::of(service).map_or("", Product::path);
    let path = named.path.clone().unwrap_or_else(|| known.to_owned());
    if let Some(place) = named.place() {
        return Ok(PrometheusService { path, ..place });
    }
    place(service, path).ok_or_else(|| {
        let known: Vec<String> = ports(service).map(|port| port.number.to_string()).collect();
        format!(
            "which port of Service {told}? it has {}: service/{told}:PORT",
            known.join(", ")
        )
    })
}

/// The Services that answer Prometheus' queries, by their labels and names, the best first:
/// Prometheus itself before what only speaks its API, those that people made before those that an
/// operator made for its own ends, then by namespace and name.
pub fn find(mesh: &Mesh) -> Vec<PrometheusService> {
    let services = mesh.objects.of_kind(Kind::Service).iter();
    let known = services.filter_map(|service| {
        let product = Product::of(service)?;
        Some((product, place(service, product.path().to_owned())?))
    });
    let mut found: Vec<(Product, PrometheusService)> = known.collect();
    found.sort_by(|(a, left), (b, right)| {
        (a, &left.namespace, &left.name).cmp(&(b, &right.namespace, &right.name))
    });
    found.into_iter().map(|(_, place)| place).collect()
}

/// What answers queries, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Product {
    Prometheus,
    ThanosQuery,
    ThanosFrontend,
    /// The gateway or nginx of Mimir or Cortex, or all of it in one: they know the tenant of who
    /// names none.
    MimirGateway,
    MimirFrontend,
    VictoriaMetrics,
    /// The cluster's part that answers queries.
    VictoriaSelect,
    /// What the Prometheus operator makes for its own ends.
    Operated,
}

/// Parts of an installation that do not answer queries.
const OTHERS: [&str; 13] = [
    "alertmanager",
    "node-exporter",
    "pushgateway",
    "kube-state-metrics",
    "operator",
    "adapter",
    "blackbox",
    "headless",
    "discovery",
    "vmagent",
    "vmalert",
    "vminsert",
    "vmstorage",
];

impl Product {
    fn of(service: &Object) -> Option<Self> {
        let label = |key: &str| service.label(key).unwrap_or_default();
        let (name, part) = (
            label("app.kubernetes.io/name"),
            label("app.kubernetes.io/component"),
        );
        let (app, own) = (label("app"), service.id.name.as_str());
        let is_other = |text: &str| OTHERS.iter().any(|other| text.contains(other));
        if [name, part, app, own, label("component")]
            .into_iter()
            .any(is_other)
        {
            return None;
        }
        let is_prometheus = name == "prometheus"
            || app == "prometheus"
            || app.ends_with("-prometheus")
            || ["prometheus", "prometheus-server", "prometheus-k8s"].contains(&own);
        let is_mimir = ["mimir", "cortex"].contains(&name) || ["mimir", "cortex"].contains(&own);
        match () {
            () if own == "prometheus-operated" || label("operated-prometheus") == "true" => {
                Some(Self::Operated)
            }
            () if is_prometheus => Some(Self::Prometheus),
            () if name == "thanos-query-frontend"
                || (name == "thanos" && part == "query-frontend") =>
            {
                Some(Self::ThanosFrontend)
            }
            () if name == "thanos-query"
                || (name == "thanos" && part == "query")
                || own == "thanos-query" =>
            {
                Some(Self::ThanosQuery)
            }
            () if is_mimir && part == "query-frontend" => Some(Self::MimirFrontend),
            () if is_mimir && (["gateway", "nginx"].contains(&part) || own == name) => {
                Some(Self::MimirGateway)
            }
            () if ["vmsingle", "victoria-metrics-single"].contains(&name) => {
                Some(Self::VictoriaMetrics)
            }
            () if name == "vmselect" || [app, part].contains(&"vmselect") => {
                Some(Self::VictoriaSelect)
            }
            () => None,
        }
    }

    /// Below which path it has the API by default.
    fn path(self) -> &'static str {
        match self {
            Self::MimirGateway | Self::MimirFrontend => "/prometheus",
            // "http://<vmselect>:8481/select/<accountID>/prometheus/", and who has no tenants is
            // account 0.
            Self::VictoriaSelect => "/select/0/prometheus",
            _ => "",
        }
    }
}

/// The port that answers queries, as installations name it; else the only one.
fn place(service: &Object, path: String) -> Option<PrometheusService> {
    const NAMES: [&str; 10] = [
        "web",
        "http-web",
        "http",
        "http-prometheus",
        "prometheus",
        "http-query",
        "http-metrics",
        "http-metric",
        "https",
        "https-web",
    ];
    const NUMBERS: [u16; 7] = [9090, 80, 10902, 8428, 8429, 8481, 8080];
    let all: Vec<ServicePort<'_>> = ports(service).collect();
    let by_name = || {
        NAMES
            .iter()
            .find_map(|name| all.iter().find(|port| port.name == *name))
    };
    let by_number = || {
        NUMBERS
            .iter()
            .find_map(|number| all.iter().find(|port| port.number == *number))
    };
    let port = if let [only] = all.as_slice() {
        Some(only)
    } else {
        by_name().or_else(by_number)
    }?;
    let is_https =
        port.number == 443 || port.name.starts_with("https") || port.app_protocol == Some("https");
    let (namespace, name) = (
        service.id.namespace.to_string(),
        service.id.name.to_string(),
    );
    Some(PrometheusService {
        namespace,
        name,
        port: port.number.to_string(),
        path,
        is_https,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_capture::snapshot::{Builder, DocId};

    fn mesh(services: &[(&str, &str, &str, &str)]) -> Mesh {
        let service = |(namespace, name, labels, ports): &(&str, &str, &str, &str)| {
            format!(
                "---\nkind: Service\napiVersion: v1\nmetadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}}}\nspec: {{ports: [{ports}]}}\n"
            )
        };
        let yaml: String = services.iter().map(service).collect();
        let mut builder = Builder::new();
        builder.add(
            DocId::new("k8s/services.yaml"),
            "services.yaml",
            yaml.into(),
        );
        Mesh::build(&builder.finish())
    }

    #[test]
    fn usual_installations_are_found_the_best_first() {
        let mesh = mesh(&[
            (
                "monitoring",
                "prometheus-operated",
                "operated-prometheus: 'true'",
                "{name: http-web, port: 9090}",
            ),
            (
                "monitoring",
                "stack-kube-prometheus-prometheus",
                "app: kube-prometheus-stack-prometheus",
                "{name: reloader-web, port: 8080}, {name: http-web, port: 9090}",
            ),
            (
                "monitoring",
                "stack-alertmanager",
                "app: kube-prometheus-stack-alertmanager",
                "{port: 9093}",
            ),
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
            (
                "thanos",
                "thanos-query",
                "",
                "{name: grpc, port: 10901}, {name: http, port: 10902}",
            ),
            ("shop", "cart", "app: cart", "{port: 9090}"),
        ]);
        let found: Vec<String> = find(&mesh)
            .iter()
            .map(PrometheusService::to_string)
            .collect();
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

    /// As the charts and operators of each label them.
    #[test]
    fn what_speaks_the_api_below_a_path_is_found_with_it() {
        let mesh = mesh(&[
            (
                "metrics",
                "mimir-nginx",
                "app.kubernetes.io/name: mimir, app.kubernetes.io/component: nginx",
                "{name: http-metric, port: 80}",
            ),
            (
                "metrics",
                "mimir-query-frontend",
                "app.kubernetes.io/name: mimir, app.kubernetes.io/component: query-frontend",
                "{name: http-metrics, port: 8080}, {name: grpc, port: 9095}",
            ),
            (
                "metrics",
                "mimir-query-frontend-headless",
                "app.kubernetes.io/name: mimir, app.kubernetes.io/component: query-frontend",
                "{name: http-metrics, port: 8080}",
            ),
            (
                "metrics",
                "mimir-ingester",
                "app.kubernetes.io/name: mimir, app.kubernetes.io/component: ingester",
                "{port: 8080}",
            ),
            (
                "vm",
                "vmselect-main",
                "app.kubernetes.io/name: vmselect",
                "{name: http, port: 8481}",
            ),
            (
                "vm",
                "vm-victoria-metrics-cluster-vmselect",
                "app: vmselect, app.kubernetes.io/name: victoria-metrics-cluster",
                "{name: http, port: 8481}",
            ),
            (
                "vm",
                "vm-victoria-metrics-cluster-vminsert",
                "app: vminsert, app.kubernetes.io/name: victoria-metrics-cluster",
                "{name: http, port: 8480}",
            ),
            (
                "vm",
                "vmagent-main",
                "app.kubernetes.io/name: vmagent",
                "{name: http, port: 8429}",
            ),
            (
                "vm",
                "vmsingle-main",
                "app.kubernetes.io/name: vmsingle",
                "{name: http, port: 8428}",
            ),
            (
                "thanos",
                "thanos-query-frontend",
                "app.kubernetes.io/name: thanos, app.kubernetes.io/component: query-frontend",
                "{name: http, port: 9090}",
            ),
            (
                "thanos",
                "thanos-query",
                "app.kubernetes.io/name: thanos, app.kubernetes.io/component: query",
                "{name: http, port: 9090}, {name: grpc, port: 10901}",
            ),
        ]);
        let found: Vec<String> = find(&mesh)
            .iter()
            .map(PrometheusService::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "service/thanos/thanos-query:9090",
                "service/thanos/thanos-query-frontend:9090",
                "service/metrics/mimir-nginx:80/prometheus",
                "service/metrics/mimir-query-frontend:8080/prometheus",
                "service/vm/vmsingle-main:8428",
                "service/vm/vm-victoria-metrics-cluster-vmselect:8481/select/0/prometheus",
                "service/vm/vmselect-main:8481/select/0/prometheus",
            ]
        );
        let named = ServiceAddress::parse("service/metrics/mimir-nginx").expect("a Service");
        assert_eq!(
            of_service(&mesh, &named).map(|place| place.path),
            Ok("/prometheus".to_owned())
        );
    }

    #[test]
    fn a_service_may_be_named_with_its_port_or_without() {
        let mesh = mesh(&[
            ("m", "one", "", "{port: 9999, name: https}"),
            ("m", "two", "", "{port: 1, name: a}, {port: 2, name: b}"),
        ]);
        let told = |text: &str| ServiceAddress::parse(text).map(|named| of_service(&mesh, &named));
        let own = |text: &str| text.to_owned();
        let one = PrometheusService {
            namespace: own("m"),
            name: own("one"),
            port: own("9999"),
            path: String::new(),
            is_https: true,
        };
        assert_eq!(told("service/m/one"), Some(Ok(one.clone())));
        assert_eq!(
            told("service/m/one/a/b"),
            Some(Ok(PrometheusService {
                path: own("/a/b"),
                ..one
            }))
        );
        assert_eq!(
            told("svc/m/two:b/prometheus").map(|place| place.map(|place| place.to_string())),
            Some(Ok(own("service/m/two:b/prometheus")))
        );
        assert_eq!(
            told("svc/m/two:b")
                .and_then(Result::ok)
                .map(|place| place.port)
                .as_deref(),
            Some("b")
        );
        assert_eq!(
            told("service/m/two"),
            Some(Err(
                "which port of Service m/two? it has 1, 2: service/m/two:PORT".to_owned()
            ))
        );
        assert_eq!(
            told("service/m/none"),
            Some(Err("there is no Service m/none".to_owned()))
        );
        for wrong in [
            "m/one",
            "service/one",
            "service//x",
            "service/m/x:",
            "service/m/a/../b",
            "service/m/a/",
            "http://m",
        ] {
            assert_eq!(ServiceAddress::parse(wrong), None, "{wrong}");
        }
    }
}
