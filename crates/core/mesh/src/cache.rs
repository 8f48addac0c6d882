//! What was found for a client's calls to a host, so that many objects about one host are not held
//! each against each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::ObjectRef;
use super::destination_rule::RuleNamespace;
use super::scope::Scope;

/// What is asked: whose calls, as namespace and Sidecar, and to which host.
type CallKey = (String, Option<ObjectRef>, String);

/// Positions in [`super::Objects::of_kind`].
pub(super) type Positions = Arc<[usize]>;

/// See the module. A mesh that is changed has one of its own.
#[derive(Debug, Default)]
pub(super) struct CallCache {
    virtual_services: Mutex<BTreeMap<CallKey, Positions>>,
    destination_rules: Mutex<BTreeMap<CallKey, Option<(Positions, RuleNamespace)>>>,
}

/// Nobody asks for more in one run; beyond it each answer is found again.
const MOST: usize = 100_000;

impl CallCache {
    /// The VirtualServices, found now or before.
    pub(super) fn virtual_services(
        &self,
        client: Scope<'_>,
        host: &str,
        find: impl FnOnce() -> Vec<usize>,
    ) -> Positions {
        kept(&self.virtual_services, key(client, host), || find().into())
    }

    /// The rules that apply, found now or before.
    pub(super) fn destination_rules(
        &self,
        client: Scope<'_>,
        host: &str,
        find: impl FnOnce() -> Option<(Vec<usize>, RuleNamespace)>,
    ) -> Option<(Positions, RuleNamespace)> {
        kept(&self.destination_rules, key(client, host), || {
            find().map(|(rules, found_in)| (rules.into(), found_in))
        })
    }
}

fn key(client: Scope<'_>, host: &str) -> CallKey {
    let sidecar = client.sidecar.map(|sidecar| sidecar.id.clone());
    (client.namespace.to_owned(), sidecar, host.to_owned())
}

fn kept<T: Clone>(
    cache: &Mutex<BTreeMap<CallKey, T>>,
    key: CallKey,
    find: impl FnOnce() -> T,
) -> T {
    let known = || cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known().get(&key) {
        return found.clone();
    }
    // Whoever asks meanwhile finds the same.
    let found = find();
    let mut known = known();
    if known.len() < MOST {
        known.insert(key, found.clone());
    }
    found
}
