//! A mesh of several clusters: each has its own objects, and no object is mixed up with its
//! namesake.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Mesh;
use meshladder_capture::clusters;
use meshladder_capture::snapshot::{DocId, Snapshot};

/// One cluster of a mesh.
#[derive(Debug)]
pub struct Cluster {
    /// What the user calls it, else its id.
    pub name: String,
    /// Its id in the mesh.
    pub id: String,
    /// The source that its documents are of in the whole Snapshot; empty when their ids are those
    /// of the whole.
    pub source: String,
    /// What was captured of it.
    pub snapshot: Snapshot,
    /// Its objects; those of the others stand beside them.
    pub mesh: Mesh,
}

/// The clusters of a mesh, by name.
#[derive(Debug)]
pub struct Clusters(Vec<Cluster>);

impl<'c> IntoIterator for &'c Clusters {
    type Item = &'c Cluster;
    type IntoIter = std::slice::Iter<'c, Cluster>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Clusters {
    /// The clusters of a Snapshot; none when it is of one alone.
    pub fn of(snapshot: &Snapshot) -> Option<Self> {
        let mut all = Vec::new();
        for captured in clusters::clusters(snapshot) {
            all.push(Cluster {
                mesh: Mesh::build(&captured.snapshot),
                name: captured.name,
                id: captured.id,
                source: captured.source,
                snapshot: captured.snapshot,
            });
        }
        if all.is_empty() {
            return None;
        }
        let objects: Vec<_> = all
            .iter()
            .map(|cluster| (cluster.name.clone(), cluster.mesh.objects.clone()))
            .collect();
        for cluster in &mut all {
            let others = objects.iter().filter(|(name, _)| *name != cluster.name);
            cluster.mesh.clusters = Arc::new(others.cloned().collect::<BTreeMap<_, _>>());
        }
        Some(Self(all))
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Cluster> {
        self.0.iter()
    }

    /// How many there are: two or more.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The one of that name, else of that id.
    pub fn find(&self, name: &str) -> Option<&Cluster> {
        let by_name = self.iter().find(|cluster| cluster.name == name);
        by_name.or_else(|| self.iter().find(|cluster| cluster.id == name))
    }

    /// All but one.
    pub fn others<'c>(&'c self, home: &'c Cluster) -> impl Iterator<Item = &'c Cluster> {
        self.iter().filter(|cluster| cluster.name != home.name)
    }

    /// The name of the cluster that each source of the whole Snapshot is of.
    pub fn by_source(&self) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for cluster in self {
            let own = cluster.snapshot.sources().map(|(source, _)| source);
            for source in own
                .chain([cluster.source.as_str()])
                .filter(|source| !source.is_empty())
            {
                names.insert(source.to_owned(), cluster.name.clone());
            }
        }
        names
    }
}

impl Cluster {
    /// A document of it, as the whole Snapshot calls it.
    pub fn whole_id(&self, doc: &DocId) -> DocId {
        if self.source.is_empty() {
            doc.clone()
        } else {
            doc.in_source(&self.source)
        }
    }
}
