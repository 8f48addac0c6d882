//! Who sees a ServiceEntry.

use crate::mesh::Stored;
use crate::mesh::export::Export;

/// Where a host and port can be seen: a namespace, or `*`.
pub(super) type Key<'m> = (&'m str, &'m str, u16);

/// The namespaces that see it, or `*`.
pub(super) fn scopes<'m>(export: Export<'m>, entry: &'m Stored) -> Vec<&'m str> {
    match export {
        Export::Everywhere => vec!["*"],
        Export::OwnNamespace => vec![&entry.id.namespace],
        Export::Namespaces(names) => names,
        Export::Nowhere => Vec::new(),
    }
}
