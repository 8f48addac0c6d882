//! `/debug/clusterz`: the clusters that an istiod watches, and whether it has read them.

use meshladder_text::json::{Raw, TextFault, ValueKind};

/// One cluster as an istiod knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedCluster {
    /// The id it has in the mesh.
    pub id: String,
    /// Namespace and name of its remote secret; none for the istiod's own cluster.
    pub secret: Option<(String, String)>,
    /// `synced`, `syncing`, `timeout` or `closed`, as istiod says it.
    pub status: String,
    /// Where it stands: a byte offset.
    pub at: usize,
}

impl WatchedCluster {
    /// Whether istiod has read it whole.
    pub fn is_synced(&self) -> bool {
        self.status == "synced"
    }
}

/// Reads the list.
///
/// # Errors
/// When it is no list.
pub fn read(text: &str) -> Result<Vec<WatchedCluster>, TextFault> {
    let list = Raw::of(text)?;
    if list.kind() != ValueKind::Array {
        return Err(TextFault::new(0, "it is no list of clusters"));
    }
    let mut clusters = Vec::new();
    for entry in list.elements() {
        let text = |key| entry.string_at(key).unwrap_or_default().into_owned();
        let secret = text("secretName");
        clusters.push(WatchedCluster {
            id: text("id"),
            secret: secret
                .split_once('/')
                .map(|(namespace, name)| (namespace.to_owned(), name.to_owned())),
            status: text("syncStatus"),
            at: entry.offset(),
        });
    }
    Ok(clusters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_cluster_has_no_secret() {
        let text = r#"[{"id":"east","secretName":"","syncStatus":"synced"},
            {"id":"west","secretName":"istio-system/istio-remote-secret-west","syncStatus":"timeout"}]"#;
        let clusters = read(text).expect("a list");
        let [east, west] = &clusters[..] else {
            panic!("two clusters: {clusters:?}")
        };
        assert!(east.secret.is_none() && east.is_synced());
        let (namespace, name) = west.secret.as_ref().expect("a secret");
        assert_eq!(
            (namespace.as_str(), name.as_str()),
            ("istio-system", "istio-remote-secret-west")
        );
        assert!(!west.is_synced());
        assert!(read("{}").is_err());
    }
}
