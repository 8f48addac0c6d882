//! The pods of the mesh, which objects and proxies must agree on.

use crate::mesh::{Service, Services};

pub(crate) struct Pod {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) service: String,
    pub(crate) ip: String,
    /// The ReplicaSet's part of the name.
    pub(crate) hash: String,
    /// The namespace's number.
    pub(crate) team: usize,
}

/// Every pod, the first of each service before the second of any.
pub(crate) fn all(services: usize) -> Vec<Pod> {
    let services = Services {
        count: services,
        team: None,
    };
    let mut pods: Vec<(usize, Pod)> = services
        .iter()
        .flat_map(|service| of(&service))
        .enumerate()
        .collect();
    pods.sort_by_key(|(at, pod)| {
        (
            pod.name.rsplit('-').next().unwrap_or_default().to_owned(),
            *at,
        )
    });
    pods.into_iter().map(|(_, pod)| pod).collect()
}

/// The pods of a service.
pub(crate) fn of(service: &Service) -> Vec<Pod> {
    let hash = "5d8f7c9b6d";
    let pod = |(at, ip): (usize, String)| Pod {
        name: format!("{}-{hash}-{at:05}", service.name),
        namespace: service.namespace.clone(),
        service: service.name.clone(),
        ip,
        hash: hash.to_owned(),
        team: service
            .namespace
            .trim_start_matches("team-")
            .parse()
            .unwrap_or(0),
    };
    service.pod_ips().enumerate().map(pod).collect()
}
