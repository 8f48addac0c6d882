//! `/debug/endpointShardz`: the endpoints that an istiod has of each host, by the cluster they are
//! of.

use meshladder_text::json::{Raw, TextFault, ValueKind};

/// A host's endpoints in one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// `cart.shop.svc.cluster.local`
    pub host: String,
    /// Their addresses.
    pub addresses: Vec<String>,
}

/// Reads the shards of one cluster, by its id.
///
/// # Errors
/// When it is no object of hosts.
pub fn read(text: &str, cluster: &str) -> Result<Vec<Shard>, TextFault> {
    let hosts = Raw::of(text)?;
    if hosts.kind() != ValueKind::Object {
        return Err(TextFault::new(0, "it is no list of hosts"));
    }
    let own = format!("Kubernetes/{cluster}");
    let mut found = Vec::new();
    for (host, namespaces) in hosts.members() {
        for (_, of_namespace) in namespaces.members() {
            let Some(shard) = of_namespace.at(["Shards", &own]) else {
                continue;
            };
            let mut addresses = Vec::new();
            for endpoint in shard.elements() {
                let told = endpoint.list("Addresses").filter_map(Raw::string);
                addresses.extend(told.map(std::borrow::Cow::into_owned));
            }
            if !addresses.is_empty() {
                found.push(Shard {
                    host: host.to_string(),
                    addresses,
                });
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_by_the_cluster_that_serves_it() {
        let text = r#"{"a.shop.svc.cluster.local":{"shop":{"Shards":{
            "Kubernetes/west":[{"Addresses":["10.1.0.1"]}],"Kubernetes/east":[]}}}}"#;
        let west = read(text, "west").expect("hosts");
        assert_eq!(west.len(), 1);
        assert_eq!(west[0].addresses, ["10.1.0.1"]);
        assert_eq!(read(text, "east"), Ok(Vec::new()));
        assert!(read("[]", "east").is_err());
    }
}
