//! Which clusters a Snapshot is of: each source belongs to one, by the name that the user gave it,
//! else by what it says of itself.

use std::collections::BTreeMap;

use crate::envoy::dump::{Dump, Section};
use crate::istiod::clusterz;
use crate::snapshot::{DocId, Shape, Snapshot};
use meshladder_text::json::Raw;

/// A cluster, and what was captured of it.
#[derive(Debug)]
pub struct CapturedCluster {
    /// What the user calls it, else its id, else the number of its source.
    pub name: String,
    /// Its id in the mesh, as istiod, the proxies or the manifest say it; else its name.
    pub id: String,
    /// The source that its documents are of in the whole Snapshot; empty when their ids are those
    /// of the whole.
    pub source: String,
    /// What was captured of it alone.
    pub snapshot: Snapshot,
}

/// The clusters of a Snapshot, by name; empty when it is of one, or nobody can tell.
pub fn clusters(snapshot: &Snapshot) -> Vec<CapturedCluster> {
    let sources: Vec<&str> = snapshot.sources().map(|(source, _)| source).collect();
    if sources.len() < 2 {
        return Vec::new();
    }
    let mut by_name: BTreeMap<String, (Option<String>, Vec<&str>)> = BTreeMap::new();
    let mut nameless = Vec::new();
    for (source, meta) in snapshot.sources() {
        let given = meta.and_then(|meta| meta.name.clone());
        let id = id_in(snapshot, source).or_else(|| meta.and_then(|meta| meta.cluster.clone()));
        let Some(name) = given.or_else(|| id.clone()) else {
            nameless.push(source);
            continue;
        };
        let (known, sources) = by_name.entry(name).or_default();
        *known = known.take().or(id);
        sources.push(source);
    }
    // Files that nobody named belong to the one cluster there is.
    if by_name.len() < 2 && nameless.iter().all(|source| snapshot.is_files_in(source)) {
        return Vec::new();
    }
    for source in nameless {
        by_name.insert(source.to_owned(), (None, vec![source]));
    }
    if by_name.len() < 2 {
        return Vec::new();
    }
    let mut clusters = Vec::new();
    for (name, (id, sources)) in by_name {
        clusters.push(CapturedCluster {
            id: id.unwrap_or_else(|| name.clone()),
            source: match sources[..] {
                [source] => source.to_owned(),
                _ => String::new(),
            },
            snapshot: snapshot.part(&sources),
            name,
        });
    }
    clusters
}

/// The id that a source's istiod, else a proxy of it, gives its cluster.
fn id_in(snapshot: &Snapshot, source: &str) -> Option<String> {
    let of_source = |shape: Shape| {
        let is_meant = move |id: &&DocId| id.split().0 == source && id.shape() == shape;
        snapshot.ids().filter(is_meant)
    };
    let told = of_source(Shape::IstiodDebug)
        .filter(|id| id.as_str().ends_with("/clusterz.json"))
        .find_map(|id| own_id(&snapshot.open(id).ok()?.text));
    told.or_else(|| {
        let dump = of_source(Shape::ConfigDump).next()?;
        node_id(&snapshot.open(dump).ok()?.text)
    })
}

fn own_id(clusterz: &str) -> Option<String> {
    let clusters = clusterz::read(clusterz).ok()?;
    let own = clusters.into_iter().find(|one| one.secret.is_none())?;
    Some(own.id).filter(|id| !id.is_empty())
}

fn node_id(dump: &str) -> Option<String> {
    let dump = Dump::index(dump, &[]).ok()?;
    let metadata =
        dump.section(Section::Bootstrap)?
            .at(["bootstrap", "node", "metadata", "CLUSTER_ID"])?;
    Some(Raw::string(metadata)?.into_owned()).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{Builder, Meta};

    fn of(sources: &[(&str, Meta)], documents: &[(&str, &str)]) -> Vec<CapturedCluster> {
        let mut builder = Builder::new();
        for (source, meta) in sources {
            builder.source(source, meta.clone());
        }
        for (path, text) in documents {
            builder.add(DocId::new(*path), *path, text.as_bytes().to_vec());
        }
        clusters(&builder.finish())
    }

    fn bundle(name: Option<&str>, cluster: Option<&str>) -> Meta {
        Meta {
            form: "bundle",
            name: name.map(str::to_owned),
            cluster: cluster.map(str::to_owned),
            ..Meta::default()
        }
    }

    #[test]
    fn a_source_belongs_to_the_cluster_it_is_named_after_else_to_the_one_it_says() {
        let clusterz = r#"[{"id":"w1","secretName":"","syncStatus":"synced"}]"#;
        let found = of(
            &[
                ("east", bundle(Some("east"), Some("e1"))),
                ("2", bundle(None, Some("manifest"))),
            ],
            &[
                ("2/istiod/istiod-1/debug/clusterz.json", clusterz),
                ("east/k8s/pods.json", "{}"),
            ],
        );
        let told: Vec<_> = found
            .iter()
            .map(|c| (c.name.as_str(), c.id.as_str(), c.source.as_str()))
            .collect();
        assert_eq!(told, [("east", "e1", "east"), ("w1", "w1", "2")]);
        assert!(found[0].snapshot.has(&DocId::new("k8s/pods.json")));
        assert!(!found[1].snapshot.has(&DocId::new("k8s/pods.json")));
    }

    #[test]
    fn one_cluster_stays_whole() {
        let same = bundle(None, Some("east"));
        assert!(of(&[("1", same.clone()), ("2", same.clone())], &[]).is_empty());
        let files = Meta {
            form: "files",
            ..Meta::default()
        };
        assert!(of(&[("1", same), ("2", files.clone())], &[]).is_empty());
        assert!(of(&[("1", files.clone()), ("2", files)], &[]).is_empty());
        assert!(of(&[("", bundle(Some("east"), None))], &[]).is_empty());
    }
}
