//! What rules of objects may conclude from absence, and the kinds that few of them read.

use super::Facts;
use meshladder_capture::snapshot::{Coverage, Need};
use meshladder_mesh::Object;

pub(super) const AUTHORIZATION_POLICIES: &str = "k8s/authorizationpolicies.security.istio.io.json";
pub(super) const CONFIG_MAPS: &str = "k8s/configmaps.json";
pub(super) const PEER_AUTHENTICATIONS: &str = "k8s/peerauthentications.security.istio.io.json";
pub(super) const SERVICE_ACCOUNTS: &str = "k8s/serviceaccounts.json";
pub(super) const WORKLOAD_GROUPS: &str = "k8s/workloadgroups.networking.istio.io.json";

/// Whether all objects of a kind were read.
pub(super) fn is_complete(facts: &Facts<'_>, path: &str) -> bool {
    facts.snapshot.coverage(&Need::of_path(path)) == Coverage::Complete
}

/// Whether an object would be here if there were one: all of its kind were read, or files hold some
/// of it. Files rarely hold a whole mesh, so of a kind that they do not hold at all nothing is
/// known.
pub(super) fn holds(facts: &Facts<'_>, path: &str, kind: &str) -> bool {
    is_complete(facts, path)
        || facts
            .mesh
            .objects
            .of_kind(kind)
            .iter()
            .any(|object| is_read(object, path))
}

/// The same for a namespace: of one that files hold nothing of the kind of, nothing is known
/// either.
pub(super) fn holds_in(facts: &Facts<'_>, path: &str, kind: &str, namespace: &str) -> bool {
    is_complete(facts, path)
        || facts
            .mesh
            .objects
            .in_namespace(kind, namespace)
            .any(|object| is_read(object, path))
}

/// Whether it is of the group that a path of the bundle layout names, and was read.
fn is_read(object: &Object, path: &str) -> bool {
    let group = path
        .split_once('.')
        .and_then(|(_, rest)| rest.strip_suffix(".json"))
        .unwrap_or_default();
    object.group == group && !object.is_assumed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Fleet;
    use crate::rules::analyzed::{GATEWAYS, NAMESPACES, PODS};
    use meshladder_capture::snapshot::{Builder, DocId};
    use meshladder_mesh::Mesh;
    use meshladder_mesh::schema::Faults;

    #[test]
    fn a_kind_that_files_do_not_hold_is_not_known_to_be_absent() {
        const K8S_GATEWAYS: &str = "k8s/gateways.gateway.networking.k8s.io.json";
        const YAML: &str = "kind: Namespace\napiVersion: v1\nmetadata: {name: shop}\n---\n\
                            kind: Gateway\napiVersion: gateway.networking.k8s.io/v1\nmetadata: {name: a}\n";
        for (coverage, pods) in [
            (Coverage::Partial("files".to_owned()), false),
            (Coverage::Complete, true),
        ] {
            let mut builder = Builder::new();
            builder.add(DocId::new("k8s/a.yaml"), "a.yaml", YAML.into());
            builder.note(Need::Part(String::new()), coverage);
            let snapshot = builder.finish();
            let mesh = Mesh::of_files(&snapshot, &meshladder_mesh::Beside::default());
            let (fleet, faults) = (Fleet::of_istiods(&snapshot), Faults::default());
            let facts = Facts {
                snapshot: &snapshot,
                mesh: &mesh,
                fleet: &fleet,
                faults: &faults,
            };
            assert!(holds(&facts, NAMESPACES, "Namespace"));
            assert_eq!(
                holds(&facts, PODS, "Pod"),
                pods,
                "the assumed gateway is in no file"
            );
            assert_eq!(
                holds(&facts, GATEWAYS, "Gateway"),
                pods,
                "the Gateway is of another group"
            );
            assert_eq!(
                holds_in(&facts, K8S_GATEWAYS, "Gateway", "shop"),
                pods,
                "it is in another namespace"
            );
            assert!(holds_in(&facts, K8S_GATEWAYS, "Gateway", "default"));
        }
    }
}
