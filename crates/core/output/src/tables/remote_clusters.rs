//! `remote-clusters`: the clusters that each istiod watches, as istioctl prints them.

use super::Table;
use meshladder_capture::istiod::clusterz::WatchedCluster;

/// A cluster and the istiod that watches it.
#[derive(Clone, Debug)]
pub struct WatchedClusterRow {
    /// The istiod's pod.
    pub istiod: String,
    /// Its revision, when known.
    pub revision: String,
    /// The cluster.
    pub cluster: WatchedCluster,
}

/// istioctl's table.
pub fn table(rows: &[WatchedClusterRow]) -> Table<'_> {
    let header = ["NAME", "SECRET", "STATUS", "ISTIOD", "REVISION"];
    let mut table = Table::titled(5, header.map(Into::into).to_vec());
    for row in rows {
        let cluster = &row.cluster;
        let secret = match &cluster.secret {
            Some((namespace, name)) => format!("{namespace}/{name}"),
            None => String::new(),
        };
        table.row(vec![
            cluster.id.as_str().into(),
            secret.into(),
            cluster.status.as_str().into(),
            row.istiod.as_str().into(),
            row.revision.as_str().into(),
        ]);
    }
    table
}
