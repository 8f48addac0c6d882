use super::Mesh;
use meshladder_capture::snapshot::{Builder, DocId};

/// The mesh of some objects.
pub(super) fn mesh_of(yaml: &str) -> Mesh {
    let mut builder = Builder::new();
    builder.add(DocId::new("k8s/a.yaml"), "a.yaml", yaml.into());
    Mesh::build(&builder.finish())
}
