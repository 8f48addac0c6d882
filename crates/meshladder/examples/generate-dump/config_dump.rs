//! `GET /config_dump?include_eds`: the sections in Envoy's order.

use std::io::{self, Write};

use crate::mesh::{Port, Service, Services, clusters};
use crate::template::{Templates, list};

const VERSION: (&str, &str) = ("version", "2026-11-15T06:40:11Z/703");
const TIME: (&str, &str) = ("time", "2026-11-15T06:33:08.822Z");

pub(crate) fn write(out: &mut impl Write, services: Services, routes: usize) -> io::Result<()> {
    let t = &Templates::load();
    write!(out, r#"{{"configs":["#)?;
    bootstrap(out, t)?;
    write!(out, ",")?;
    cluster_section(out, t, services)?;
    write!(out, ",")?;
    t.write(out, "ecds", &[VERSION, TIME])?;
    write!(out, ",")?;
    endpoint_section(out, t, services)?;
    write!(out, ",")?;
    listener_section(out, t, services)?;
    write!(
        out,
        r#",{{"@type":"type.googleapis.com/envoy.admin.v3.ScopedRoutesConfigDump"}},"#
    )?;
    route_section(out, t, services, routes)?;
    write!(out, ",")?;
    t.write(out, "secrets", &[VERSION, TIME])?;
    write!(out, "]}}")
}

/// The clusters of the bootstrap: name, address, and the options of those that speak gRPC.
pub(crate) const STATIC_CLUSTERS: [(&str, &str, &str); 4] = [
    (
        "agent",
        r#"{"socket_address":{"address":"127.0.0.1","port_value":15020}}"#,
        "",
    ),
    (
        "prometheus_stats",
        r#"{"socket_address":{"address":"127.0.0.1","port_value":15000}}"#,
        "",
    ),
    (
        "sds-grpc",
        r#"{"pipe":{"path":"./var/run/secrets/workload-spiffe-uds/socket"}}"#,
        "<http2-options>",
    ),
    (
        "xds-grpc",
        r#"{"pipe":{"path":"./etc/istio/proxy/XDS"}}"#,
        "<http2-options>",
    ),
];

/// The listeners of the bootstrap: port, the cluster behind, and the path it serves.
const STATIC_LISTENERS: [(&str, &str, &str); 2] = [
    ("15090", "prometheus_stats", "/stats/prometheus"),
    ("15021", "agent", "/healthz/ready"),
];

/// Categories of the extensions an Envoy is built with; together they are most of the bootstrap.
const EXTENSIONS: [&str; 16] = [
    "access_loggers",
    "clusters",
    "compression.compressor",
    "config_subscription",
    "filters.http",
    "filters.listener",
    "filters.network",
    "formatter",
    "health_checkers",
    "load_balancing_policies",
    "matching.http.input",
    "matching.input_matchers",
    "stats_sinks",
    "tracers",
    "transport_sockets.downstream",
    "transport_sockets.upstream",
];

fn bootstrap(out: &mut impl Write, t: &Templates) -> io::Result<()> {
    let mut extensions = Vec::new();
    list(&mut extensions, 0..EXTENSIONS.len() * 32, |out, at| {
        let category = EXTENSIONS[at / 32];
        let name = format!("envoy.{category}.extension_{}", at % 32);
        let types = format!(
            r#""type_urls":["envoy.extensions.{category}.extension_{}.v3.Config"]"#,
            at % 32
        );
        write!(
            out,
            r#"{{"name":"{name}","category":"envoy.{category}",{types}}}"#
        )
    })?;
    let extensions = String::from_utf8(extensions).expect("extensions are text");
    let listeners = STATIC_LISTENERS.map(|(port, name, prefix)| {
        t.text(
            "static-listener",
            &[
                ("type", ""),
                ("port", port),
                ("name", name),
                ("prefix", prefix),
            ],
        )
    });
    let clusters = STATIC_CLUSTERS.map(|(name, address, options)| {
        t.text(
            "static-cluster",
            &[
                ("type", ""),
                ("name", name),
                ("address", address),
                ("protocol-options", options),
            ],
        )
    });
    let (listeners, clusters) = (listeners.join(","), clusters.join(","));
    let values = [
        ("extensions", &*extensions),
        ("listeners", &listeners),
        ("clusters", &clusters),
        TIME,
    ];
    t.write(out, "bootstrap", &values)
}

fn cluster_section(out: &mut impl Write, t: &Templates, services: Services) -> io::Result<()> {
    let version = VERSION.1;
    write!(
        out,
        r#"{{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","version_info":"{version}","#
    )?;
    write!(out, r#""static_clusters":["#)?;
    list(out, STATIC_CLUSTERS, |out, (name, address, options)| {
        let kind = r#""@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","#;
        let values = [
            ("type", kind),
            ("name", name),
            ("address", address),
            ("protocol-options", options),
        ];
        write!(out, r#"{{"cluster":"#)?;
        t.write(out, "static-cluster", &values)?;
        write!(out, r#","last_updated":"{}"}}"#, TIME.1)
    })?;
    write!(out, r#"],"dynamic_active_clusters":["#)?;
    t.write(out, "passthrough-clusters", &[TIME])?;
    for (port, subset, service) in clusters(services) {
        write!(out, ",")?;
        cluster(out, t, port, subset, &service)?;
    }
    write!(out, "]}}")
}

fn cluster(
    out: &mut impl Write,
    t: &Templates,
    port: Port,
    subset: &str,
    service: &Service,
) -> io::Result<()> {
    let name = cluster_name(port, subset, service);
    let subset_name = if subset.is_empty() {
        ""
    } else {
        r#","subset":"<subset>""#
    };
    let mut values = vec![
        ("cluster", &*name),
        ("host", &service.host),
        ("name", &service.name),
        ("namespace", &service.namespace),
        ("port", port.number()),
        ("subset", subset),
        ("subset-name", subset_name),
        ("alpn", if port == Port::Grpc { r#","h2""# } else { "" }),
        (
            "protocol-options",
            if port == Port::Grpc {
                "<http2-options>"
            } else {
                ""
            },
        ),
        ("time", &service.time),
    ];
    if !service.has_subsets() {
        values.push(("destination-rule", ""));
    }
    t.write(out, "cluster", &values)
}

pub(crate) fn cluster_name(port: Port, subset: &str, service: &Service) -> String {
    format!("outbound|{}|{subset}|{}", port.number(), service.host)
}

fn endpoint_section(out: &mut impl Write, t: &Templates, services: Services) -> io::Result<()> {
    let kind = r#""@type":"type.googleapis.com/envoy.admin.v3.EndpointsConfigDump""#;
    write!(out, r#"{{{kind},"static_endpoint_configs":["#)?;
    list(out, STATIC_CLUSTERS, |out, (name, address, _)| {
        let values = [
            ("cluster", name),
            ("endpoints", "<endpoint>"),
            ("address", address),
            ("count", "0"),
        ];
        t.write(
            out,
            "endpoints",
            &[
                &values[..],
                &[("locality", "{}"), ("endpoint-metadata", "")],
            ]
            .concat(),
        )
    })?;
    write!(out, r#"],"dynamic_endpoint_configs":["#)?;
    list(
        out,
        [
            "BlackHoleCluster",
            "InboundPassthroughCluster",
            "PassthroughCluster",
        ],
        |out, name| t.write(out, "endpoints", &[("cluster", name), ("localities", "")]),
    )?;
    for (port, subset, service) in clusters(services) {
        write!(out, ",")?;
        endpoints(out, t, port, subset, &service)?;
    }
    write!(out, "]}}")
}

fn endpoints(
    out: &mut impl Write,
    t: &Templates,
    port: Port,
    subset: &str,
    service: &Service,
) -> io::Result<()> {
    let pods = service.pod_ips().map(|ip| {
        let values = [
            ("pod-ip", &*ip),
            ("port", port.number()),
            ("name", &service.name),
            ("namespace", &service.namespace),
            ("version", if subset.is_empty() { "v1" } else { subset }),
        ];
        t.text("endpoint", &values)
    });
    let pods: Vec<_> = pods.collect();
    let (count, cluster) = (pods.len().to_string(), cluster_name(port, subset, service));
    let pods = pods.join(",");
    let values = [
        ("cluster", &*cluster),
        ("endpoints", &pods),
        ("count", &count),
        ("zone", service.zone()),
    ];
    t.write(out, "endpoints", &values)
}

fn listener_section(out: &mut impl Write, t: &Templates, services: Services) -> io::Result<()> {
    let version = VERSION.1;
    write!(
        out,
        r#"{{"@type":"type.googleapis.com/envoy.admin.v3.ListenersConfigDump","version_info":"{version}","#
    )?;
    write!(out, r#""static_listeners":["#)?;
    list(out, STATIC_LISTENERS, |out, (port, name, prefix)| {
        let kind = r#""@type":"type.googleapis.com/envoy.config.listener.v3.Listener","#;
        let routes = t.text(
            "static-routes",
            &[("type", ""), ("name", name), ("prefix", prefix)],
        );
        let values = [
            ("type", kind),
            ("port", port),
            ("name", name),
            ("static-routes", &routes),
        ];
        write!(out, r#"{{"listener":"#)?;
        t.write(out, "static-listener", &values)?;
        write!(out, r#","last_updated":"{}"}}"#, TIME.1)
    })?;
    write!(out, r#"],"dynamic_listeners":["#)?;
    virtual_listeners(out, t)?;
    for port in ROUTE_PORTS {
        let values = [
            ("port", port),
            ("direction", "outbound"),
            ("routes", "<rds>"),
            ("cluster", "PassthroughCluster"),
        ];
        write!(out, ",")?;
        t.write(out, "http-listener", &[&values[..], &[TIME]].concat())?;
    }
    for service in services.iter() {
        let cluster = cluster_name(Port::Tcp, "", &service);
        let port = ("port", Port::Tcp.number());
        let values = [
            ("service-ip", &*service.ip),
            port,
            ("cluster", &cluster),
            ("time", &service.time),
        ];
        write!(out, ",")?;
        t.write(out, "tcp-listener", &values)?;
    }
    write!(out, "]}}")
}

fn virtual_listeners(out: &mut impl Write, t: &Templates) -> io::Result<()> {
    let proxy = |cluster| t.text("tcp-proxy", &[("cluster", cluster)]);
    let routes = [
        ("port", "8080"),
        ("direction", "inbound"),
        ("routes", "<inbound-route-config>"),
        ("type", ""),
    ];
    let values = [
        ("blackhole-proxy", &*proxy("BlackHoleCluster")),
        ("passthrough-proxy", &proxy("PassthroughCluster")),
        ("inbound-proxy", &proxy("InboundPassthroughCluster")),
        ("inbound-manager", &t.text("connection-manager", &routes)),
        TIME,
    ];
    t.write(out, "virtual-listeners", &values)
}

/// The ports with a listener on 0.0.0.0 and a route configuration of that name.
const ROUTE_PORTS: [&str; 3] = ["80", "8080", "9090"];

fn route_section(
    out: &mut impl Write,
    t: &Templates,
    services: Services,
    routes: usize,
) -> io::Result<()> {
    let kind = r#""@type":"type.googleapis.com/envoy.config.route.v3.RouteConfiguration","#;
    let section = r#""@type":"type.googleapis.com/envoy.admin.v3.RoutesConfigDump""#;
    write!(
        out,
        r#"{{{section},"static_route_configs":[{{"route_config":"#
    )?;
    t.write(out, "inbound-routes", &[("type", kind)])?;
    write!(
        out,
        r#","last_updated":"{}"}}],"dynamic_route_configs":["#,
        TIME.1
    )?;
    list(out, ROUTE_PORTS, |out, port| {
        write!(
            out,
            r#"{{"route_config":{{{kind}"name":"{port}","virtual_hosts":["#
        )?;
        let services = services
            .iter()
            .filter(|s| port != "80" || s.has_virtual_service());
        for service in services {
            virtual_host(out, t, port, &service, routes)?;
            write!(out, ",")?;
        }
        t.write(out, "allow-any", &[])?;
        write!(
            out,
            r#"],"validate_clusters":false,"max_direct_response_body_size_bytes":1048576,"#
        )?;
        write!(
            out,
            r#""ignore_port_in_host_matching":true}},"last_updated":"{}"}}"#,
            TIME.1
        )
    })?;
    write!(out, "]}}")
}

/// The routes of a `VirtualService`: match, operation, subset, timeout and name.
const ROUTES: [[&str; 5]; 3] = [
    [
        r#""prefix":"/api","case_sensitive":true,"headers":[{"name":"x-canary","string_match":{"exact":"true"}}]"#,
        "/api*",
        "v2",
        "10s",
        "canary",
    ],
    [
        r#""case_sensitive":true,"safe_regex":{"regex":"/v[0-9]+/items/.*"}"#,
        "/v[0-9]+/items/.*",
        "v1",
        "10s",
        "items",
    ],
    [r#""prefix":"/""#, "/*", "v1", "0s", "rest"],
];

const DEFAULT_ROUTE: [[&str; 5]; 1] = [[r#""prefix":"/""#, "/*", "", "0s", "default"]];

/// What stands before them where more routes are wanted.
fn more_routes(count: usize) -> Vec<[String; 2]> {
    let one = |number: usize| {
        let path = format!("/part-{number}/");
        let matches = match number % 4 {
            0 => format!(r#""case_sensitive":true,"safe_regex":{{"regex":"{path}[a-z]+/[0-9]+"}}"#),
            1 => {
                format!(
                    r#""prefix":"{path}","headers":[{{"name":"x-tenant","string_match":{{"exact":"t{number}"}}}}]"#
                )
            }
            2 => format!(r#""case_sensitive":true,"path":"{path}index""#),
            _ => format!(r#""prefix":"{path}""#),
        };
        [matches, path]
    };
    (0..count).map(one).collect()
}

fn virtual_host(
    out: &mut impl Write,
    t: &Templates,
    port: &str,
    service: &Service,
    at_least: usize,
) -> io::Result<()> {
    let own: &[_] = if service.has_virtual_service() {
        &ROUTES
    } else {
        &DEFAULT_ROUTE
    };
    let more = more_routes(at_least.saturating_sub(own.len()));
    let more = more
        .iter()
        .map(|[matches, operation]| [&**matches, &**operation, "", "0s", "part"]);
    let routes =
        more.chain(own.iter().copied())
            .map(|[matches, operation, subset, timeout, route]| {
                let mut values = vec![
                    ("match", matches),
                    ("operation", operation),
                    ("subset", if service.has_subsets() { subset } else { "" }),
                    ("timeout", timeout),
                    ("route", route),
                    ("host", &service.host),
                    ("name", &service.name),
                    ("namespace", &service.namespace),
                    ("port", if port == "80" { "8080" } else { port }),
                ];
                if !service.has_virtual_service() {
                    values.push(("virtual-service", ""));
                }
                t.text("route", &values)
            });
    let routes = routes.collect::<Vec<_>>().join(",");
    let (name, namespace, ip) = (&service.name, &service.namespace, &service.ip);
    let short = format!(r#","<host>.","{name}.{namespace}","{name}.{namespace}.svc","{ip}""#);
    let short_names = if port == "80" { "" } else { &*short };
    let values = [
        ("host", &*service.host),
        ("port", port),
        ("short-names", short_names),
        ("routes", &routes),
    ];
    t.write(out, "virtual-host", &values)
}
