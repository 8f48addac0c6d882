//! What installs the exporter in a cluster.

use super::value::{object, text, words};
use crate::doc::tree::Node;

/// Name, namespace and the labels that Kubernetes recommends.
pub(super) fn metadata(name: &str, namespace: Option<&str>) -> Node {
    let mut members = vec![("name", text(name)), ("labels", words(LABELS))];
    members.extend(namespace.map(|namespace| ("namespace", text(namespace))));
    object(members)
}

/// The labels of everything here.
const LABELS: [(&str, &str); 2] =
    [("app.kubernetes.io/name", "meshladder"), ("app.kubernetes.io/part-of", "meshladder")];
