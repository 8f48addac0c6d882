//! Where ztunnel sends a connection to an address, by its own dump.

use std::net::IpAddr;

use crate::trace::TunnelFault;
use meshladder_capture::ztunnel::dump::{
    WorkloadProtocol, ZtunnelDump, ZtunnelService, ZtunnelWorkload,
};
use meshladder_mesh::ambient::HBONE;
use meshladder_text::json::Raw;

/// One of the ways that ztunnel sends a connection.
pub(super) struct Lead {
    pub(super) destination: (IpAddr, u16),
    pub(super) waypoint: Option<(IpAddr, u16)>,
    pub(super) by_tunnel: bool,
    /// Whether a pod should be there.
    pub(super) is_pod: bool,
    pub(super) at: usize,
}

/// Where ztunnel sends a connection to an address, in its own order: a workload by its address,
/// a service by its own with its waypoint, then the service's endpoints.
pub(super) fn look_up(
    dump: &ZtunnelDump<'_>,
    own: &ZtunnelWorkload<'_>,
    (address, port): (IpAddr, u16),
) -> Result<Vec<Lead>, (TunnelFault, usize)> {
    if let Some(workload) = dump.workload_at(address) {
        let waypoint = workload.waypoint.as_deref();
        return match waypoint {
            Some(name) => through_waypoint(dump, name, (address, port), workload.raw),
            None => Ok(vec![lead_to(workload, (address, port))]),
        };
    }
    let Some(service) = dump.service_at(address, &own.namespace) else {
        // Nothing that it knows: it goes on in plain text to where it was going.
        return Ok(vec![Lead {
            destination: (address, port),
            waypoint: None,
            by_tunnel: false,
            is_pod: false,
            at: 0,
        }]);
    };
    if let Some(name) = service.waypoint.as_deref() {
        return through_waypoint(dump, name, (address, port), service.raw);
    }
    if service.is_passthrough {
        return Ok(vec![Lead {
            destination: (address, port),
            waypoint: None,
            by_tunnel: false,
            is_pod: false,
            at: service.raw.offset(),
        }]);
    }
    endpoints_of(dump, service, port)
}

fn lead_to(workload: &ZtunnelWorkload<'_>, destination: (IpAddr, u16)) -> Lead {
    Lead {
        destination,
        waypoint: None,
        by_tunnel: workload.protocol == WorkloadProtocol::Hbone,
        is_pod: workload.is_pod(),
        at: workload.raw.offset(),
    }
}

/// The endpoints of a waypoint's Service; without one the connection is refused, and never goes
/// past it.
fn through_waypoint(
    dump: &ZtunnelDump<'_>,
    name: &str,
    destination: (IpAddr, u16),
    at: Raw<'_>,
) -> Result<Vec<Lead>, (TunnelFault, usize)> {
    let none = || (TunnelFault::NoWaypoint(name.to_owned()), at.offset());
    let service = dump.service_named(name).ok_or_else(none)?;
    let addresses = service
        .endpoints
        .iter()
        .filter_map(|endpoint| dump.workload(&endpoint.workload)?.ips.first().copied());
    let leads: Vec<Lead> = addresses
        .map(|address| Lead {
            destination,
            waypoint: Some((address, HBONE)),
            by_tunnel: true,
            is_pod: false,
            at: at.offset(),
        })
        .collect();
    if leads.is_empty() {
        return Err(none());
    }
    Ok(leads)
}

/// The endpoints of a Service that take a port.
fn endpoints_of(
    dump: &ZtunnelDump<'_>,
    service: &ZtunnelService<'_>,
    port: u16,
) -> Result<Vec<Lead>, (TunnelFault, usize)> {
    let name = format!("{}/{}", service.namespace, service.hostname);
    let none = || (TunnelFault::NoEndpoint(name.clone()), service.raw.offset());
    let target = *service.ports.get(&port).ok_or_else(none)?;
    let mut leads = Vec::new();
    for endpoint in &service.endpoints {
        let own = endpoint.ports.get(&port).copied().unwrap_or(target);
        let workload = dump.workload(&endpoint.workload);
        // A port that is named in the Service and in no container is 0.
        if let Some(workload) = workload.filter(|_| own != 0)
            && let Some(address) = workload.ips.first()
        {
            leads.push(lead_to(workload, (*address, own)));
        }
    }
    if leads.is_empty() {
        return Err(none());
    }
    Ok(leads)
}

/// What was looked up, in words, and where it stands.
pub(super) fn told(
    found: &Result<Vec<Lead>, (TunnelFault, usize)>,
    (address, port): (IpAddr, u16),
) -> (String, Option<usize>) {
    match found {
        Ok(leads) => {
            let ways: Vec<String> = leads.iter().map(Lead::in_words).collect();
            let at = leads.first().map(|lead| lead.at).filter(|at| *at > 0);
            (format!("{address}:{port}: {}", ways.join(", ")), at)
        }
        Err((TunnelFault::NoWaypoint(name), at)) => (
            format!("{address}:{port}: the waypoint {name} has no endpoint"),
            Some(*at),
        ),
        Err((_, at)) => (format!("{address}:{port}: no endpoint"), Some(*at)),
    }
}

impl Lead {
    fn in_words(&self) -> String {
        let (address, port) = self.destination;
        match self.waypoint {
            Some((waypoint, _)) => format!("through the waypoint at {waypoint}:{HBONE}"),
            None if self.by_tunnel => format!("by tunnel to {address}:{port}"),
            None => format!("in plain text to {address}:{port}"),
        }
    }
}
