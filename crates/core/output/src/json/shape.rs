//! Shapes that several answers share. Each answer has its own structs beside the command that
//! prints it; their fields stand in the order in which they are written.

use meshladder_judge::finding::Subject;
use meshladder_mesh::ObjectRef;
use serde::{Serialize, Serializer};

/// What every answer of ours says it is.
pub(crate) const API_VERSION: &str = "meshladder.dev/v1";

/// An object with the keys of a list, in its order; a map would sort them.
#[derive(Debug)]
pub(crate) struct Pairs<K, V>(pub(crate) Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Pairs<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// An object of the mesh, by name.
#[derive(Debug, Serialize)]
pub(crate) struct ObjectJson<'a> {
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> From<&'a Subject> for ObjectJson<'a> {
    fn from(subject: &'a Subject) -> Self {
        Self {
            kind: subject.kind(),
            namespace: subject.namespace(),
            name: subject.name(),
        }
    }
}

impl<'a> From<&'a ObjectRef> for ObjectJson<'a> {
    fn from(object: &'a ObjectRef) -> Self {
        Self {
            kind: &object.kind,
            namespace: &object.namespace,
            name: &object.name,
        }
    }
}

/// What a finding is about. A request and what is missing have no name, an object of the cluster
/// has no namespace: JSON v1 leaves out what is empty.
#[derive(Debug, Serialize)]
pub(crate) struct SubjectJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
    kind: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

impl<'a> SubjectJson<'a> {
    /// With the cluster it is in, where there are several.
    pub(crate) fn in_cluster(self, cluster: Option<&'a str>) -> Self {
        Self { cluster, ..self }
    }
}

impl<'a> From<&'a Subject> for SubjectJson<'a> {
    fn from(subject: &'a Subject) -> Self {
        Self {
            cluster: None,
            kind: subject.kind(),
            namespace: subject.namespace(),
            name: subject.name(),
        }
    }
}

impl<'a> From<&'a ObjectRef> for SubjectJson<'a> {
    fn from(object: &'a ObjectRef) -> Self {
        Self {
            cluster: None,
            kind: &object.kind,
            namespace: &object.namespace,
            name: &object.name,
        }
    }
}
