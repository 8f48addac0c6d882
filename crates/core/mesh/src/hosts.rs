//! From the host a client names to the address it connects to, as Kubernetes' DNS would answer in
//! its namespace.

use std::net::IpAddr;

use super::host::covers;
use super::{Mesh, ServiceFacts};

/// What a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostResolution {
    /// The address the client connects to; none when DNS outside the cluster decides.
    pub address: Option<IpAddr>,
    /// In words: `Service shop/catalog`, `ServiceEntry shop/stripe`, `an address`, `DNS outside the
    /// cluster`.
    pub by: String,
}

impl Mesh {
    /// Resolves a host as a pod in `namespace` would.
    pub fn resolve(&self, host: &str, namespace: &str) -> HostResolution {
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return HostResolution {
                address: Some(address),
                by: "an address".to_owned(),
            };
        }
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if let Some(service) = self.service_named(&host, namespace) {
            return self.resolve_service(service);
        }
        let entry = self
            .service_entries
            .iter()
            .find(|entry| entry.hosts.iter().any(|h| covers(h, &host)));
        match entry {
            Some(entry) => HostResolution {
                address: entry
                    .addresses
                    .iter()
                    .find(|a| a.is_ipv4())
                    .or(entry.addresses.first())
                    .copied(),
                by: format!("ServiceEntry {}/{}", entry.namespace, entry.name),
            },
            None => HostResolution {
                address: None,
                by: "DNS outside the cluster".to_owned(),
            },
        }
    }

    fn resolve_service(&self, service: &ServiceFacts) -> HostResolution {
        let headless = || {
            self.pods_of(service)
                .find_map(|pod| pod.ips.first().copied())
        };
        HostResolution {
            address: service.cluster_ips.first().copied().or_else(headless),
            by: format!("Service {}/{}", service.namespace, service.name),
        }
    }

    /// The Service behind a name. Pods search `<namespace>.svc.cluster.local`, `svc.cluster.local`
    /// and `cluster.local`, so `catalog`, `catalog.shop` and `catalog.shop.svc` all lead there.
    pub fn service_named(&self, host: &str, namespace: &str) -> Option<&ServiceFacts> {
        let short = self
            .domain
            .without(host)
            .or_else(|| host.strip_suffix(".svc"))
            .unwrap_or(host);
        let (name, namespace) = match short.split_once('.') {
            Some((name, ns)) if !ns.contains('.') => (name, ns),
            None if short == host => (short, namespace),
            Some(_) | None => return None,
        };
        let at = self
            .services
            .partition_point(|s| (s.namespace.as_str(), s.name.as_str()) < (namespace, name));
        self.services
            .get(at)
            .filter(|s| s.name == name && s.namespace == namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_capture::snapshot::{Builder, DocId};

    const OBJECTS: &str = r#"{"kind":"List","items":[
      {"apiVersion":"v1","kind":"Service","metadata":{"name":"catalog","namespace":"shop"},"spec":{"clusterIP":"10.96.0.7","ports":[{"port":80}]}},
      {"apiVersion":"v1","kind":"Service","metadata":{"name":"db","namespace":"shop"},"spec":{"clusterIP":"None","selector":{"app":"db"},"ports":[{"port":3306,"targetPort":"sql"}]}},
      {"apiVersion":"v1","kind":"Pod","metadata":{"name":"db-1","namespace":"shop","labels":{"app":"db"}},"status":{"phase":"Running","podIP":"10.244.0.9"}},
      {"apiVersion":"networking.istio.io/v1","kind":"ServiceEntry","metadata":{"name":"stripe","namespace":"shop"},"spec":{"hosts":["*.stripe.test"]},"status":{"addresses":[{"value":"240.240.0.1"}]}}]}"#;

    fn resolve(host: &str, namespace: &str) -> (Option<String>, String) {
        let mut builder = Builder::new();
        builder.add(DocId::new("k8s/all.json"), "all.json", OBJECTS.into());
        let resolved = Mesh::build(&builder.finish()).resolve(host, namespace);
        (resolved.address.map(|a| a.to_string()), resolved.by)
    }

    #[test]
    fn names_resolve_as_a_pod_s_dns_does() {
        for (host, namespace, address, by) in [
            ("catalog", "shop", Some("10.96.0.7"), "Service shop/catalog"),
            ("catalog", "tools", None, "DNS outside the cluster"),
            (
                "catalog.shop",
                "tools",
                Some("10.96.0.7"),
                "Service shop/catalog",
            ),
            (
                "catalog.shop.svc",
                "tools",
                Some("10.96.0.7"),
                "Service shop/catalog",
            ),
            (
                "Catalog.shop.svc.cluster.local.",
                "tools",
                Some("10.96.0.7"),
                "Service shop/catalog",
            ),
            ("db.shop", "tools", Some("10.244.0.9"), "Service shop/db"),
            (
                "api.stripe.test",
                "tools",
                Some("240.240.0.1"),
                "ServiceEntry shop/stripe",
            ),
            ("stripe.test", "tools", None, "DNS outside the cluster"),
            ("10.1.2.3", "tools", Some("10.1.2.3"), "an address"),
        ] {
            assert_eq!(
                resolve(host, namespace),
                (address.map(str::to_owned), by.to_owned()),
                "{host} in {namespace}"
            );
        }
    }
}
