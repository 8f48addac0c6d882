//! What rules of objects may conclude from absence, and the kinds that few of them read.

use crate::rules::Facts;
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Coverage;
use meshladder_mesh::Object;

/// Whether all objects of a kind were read.
pub(in crate::rules) fn is_complete(facts: &Facts<'_>, kind: Kind) -> bool {
    facts.snapshot.coverage(&kind.into()) == Coverage::Complete
}

/// Whether an object would be here if there were one: all of its kind were read, or files hold some
/// of it. Files rarely hold a whole mesh, so of a kind that they do not hold at all nothing is
/// known.
pub(in crate::rules) fn holds(facts: &Facts<'_>, kind: Kind) -> bool {
    is_complete(facts, kind) || facts.mesh.objects.of_kind(kind).iter().any(is_read)
}

/// Whether an object would be here if there were one in a namespace: of one that files hold nothing
/// of the kind of, nothing is known either.
pub(in crate::rules) fn holds_in(facts: &Facts<'_>, kind: Kind, namespace: &str) -> bool {
    is_complete(facts, kind)
        || facts
            .mesh
            .objects
            .in_namespace(kind, namespace)
            .any(is_read)
}

/// Whether it was read. One that says no group is of the kind by its name alone.
fn is_read(object: &Object) -> bool {
    let group = object.kind().map_or("", Kind::group);
    object.group == group && !object.is_assumed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Fleet;
    use meshladder_capture::snapshot::Need;
    use meshladder_capture::snapshot::Part;
    use meshladder_capture::snapshot::{Builder, DocId};
    use meshladder_mesh::Mesh;
    use meshladder_mesh::schema::Faults;

    #[test]
    fn a_kind_that_files_do_not_hold_is_not_known_to_be_absent() {
        const YAML: &str = "kind: Namespace\napiVersion: v1\nmetadata: {name: shop}\n---\n\
                            kind: Gateway\napiVersion: gateway.networking.k8s.io/v1\nmetadata: {name: a}\n";
        for (coverage, pods) in [
            (Coverage::Partial("files".to_owned()), false),
            (Coverage::Complete, true),
        ] {
            let mut builder = Builder::new();
            builder.add(DocId::new("k8s/a.yaml"), "a.yaml", YAML.into());
            builder.note(Need::Part(Part::Everything), coverage);
            let snapshot = builder.finish();
            let mesh = Mesh::of_files(&snapshot, &meshladder_mesh::MeshOverrides::default());
            let (fleet, faults) = (Fleet::of_istiods(&snapshot), Faults::default());
            let facts = Facts {
                snapshot: &snapshot,
                mesh: &mesh,
                fleet: &fleet,
                faults: &faults,
            };
            assert!(holds(&facts, Kind::Namespace));
            assert_eq!(
                holds(&facts, Kind::Pod),
                pods,
                "the assumed gateway is in no file"
            );
            assert_eq!(
                holds(&facts, Kind::Gateway),
                pods,
                "the Gateway is of another group"
            );
            assert_eq!(
                holds_in(&facts, Kind::K8sGateway, "shop"),
                pods,
                "it is in another namespace"
            );
            assert!(holds_in(&facts, Kind::K8sGateway, "default"));
        }
    }
}
