//! `GET /clusters?format=json`: every cluster with its hosts.

use std::io::{self, Write};

use crate::config_dump::{STATIC_CLUSTERS, cluster_name};
use crate::mesh::{PORTS, Port, Service, Services};
use crate::template::{Templates, list};

pub(crate) fn write(out: &mut impl Write, services: Services) -> io::Result<()> {
    // Envoy walks a hash table here. A stride that no count divides gives an order as scattered as
    // that.
    const STRIDE: usize = 1_000_003;
    let t = &Templates::load();
    let services: Vec<Service> = services.iter().collect();
    let count = services.len() * PORTS.len();
    write!(out, r#"{{"cluster_statuses":["#)?;
    list(out, STATIC_CLUSTERS, |out, (name, address, _)| {
        let values = [
            ("cluster", name),
            ("hosts", "<host-status>"),
            ("address", address),
            ("locality", "{}"),
        ];
        t.write(
            out,
            "cluster-status",
            &[
                &values[..],
                &[("value", ""), ("via-api", ""), ("eds-name", "")],
            ]
            .concat(),
        )
    })?;
    for at in (0..count).map(|at| at * STRIDE % count) {
        write!(out, ",")?;
        status(out, t, PORTS[at % PORTS.len()], &services[at / PORTS.len()])?;
    }
    write!(out, "]}}")
}

fn status(out: &mut impl Write, t: &Templates, port: Port, service: &Service) -> io::Result<()> {
    let hosts = service.pod_ips().enumerate().map(|(pod, ip)| {
        // Most pods have seen no traffic from this one proxy.
        let value = if pod == 0 { r#""value":"137","# } else { "" };
        t.text(
            "host-status",
            &[
                ("pod-ip", &*ip),
                ("port", port.number()),
                ("value", value),
                ("zone", service.zone()),
            ],
        )
    });
    let hosts = hosts.collect::<Vec<_>>().join(",");
    t.write(
        out,
        "cluster-status",
        &[
            ("cluster", &cluster_name(port, "", service)),
            ("hosts", &hosts),
        ],
    )
}
