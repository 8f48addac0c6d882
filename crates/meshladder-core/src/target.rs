//! Which proxy a user means: `pod.namespace`, `deploy/cart -n shop`, `shop/cart-1`.

use std::collections::BTreeSet;

use crate::doc::tree::Node;
use crate::envoy::dump::{Dump, Section};
use crate::model::object::{self, Object};
use crate::model::pod::Pod;
use crate::model::selector;
use crate::snapshot::{ProxyRef, Shape, Snapshot};

mod kind;

use kind::WorkloadKind;

/// What the user wrote, taken apart but not looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    kind: WorkloadKind,
    name: String,
    namespace: Option<String>,
}

/// The proxies behind a target, best choice first. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The one to take.
    pub proxy: ProxyRef,
    /// The others that would do.
    pub others: Vec<ProxyRef>,
}

impl Target {
    /// Reads istioctl's `[kind/]name[.namespace]`. `namespace` is what `-n` says; a namespace in the target wins.
    /// Also reads `namespace/name`, unless what stands before the slash is a kind.
    ///
    /// # Errors
    /// When nothing is left for a name.
    pub fn parse(text: &str, namespace: Option<&str>) -> Result<Self, String> {
        let (kind, rest, mut own) = match text.rsplit_once('/') {
            None => (WorkloadKind::Pod, text, None),
            Some((word, rest)) => match WorkloadKind::parse(word) {
                Some(kind) => (kind, rest, None),
                None if word.contains('/') => {
                    return Err(format!("`{text}` is not a target: try `pod.namespace` or `deploy/name.namespace`"));
                }
                None => (WorkloadKind::Pod, rest, Some(word)),
            },
        };
        let mut name = rest;
        if let (None, Some((n, ns))) = (own, rest.rsplit_once('.')) {
            (name, own) = (n, Some(ns));
        }
        if name.is_empty() || own == Some("") {
            return Err(format!("`{text}` is not a target: try `pod.namespace` or `deploy/name.namespace`"));
        }
        Ok(Self { kind, name: name.to_owned(), namespace: own.or(namespace).map(str::to_owned) })
    }

    /// Finds the target's proxies among those that have a document of that shape.
    ///
    /// # Errors
    /// When there is none, with what to try instead.
    pub fn resolve(&self, snapshot: &Snapshot, shape: Shape) -> Result<Found, String> {
        let proxies: BTreeSet<ProxyRef> = snapshot.proxies_with(shape).map(|(proxy, _)| proxy).collect();
        if self.kind == WorkloadKind::Pod {
            let named =
                |p: &&ProxyRef| p.pod == self.name && self.namespace.as_ref().is_none_or(|ns| *ns == p.namespace);
            let mut found = proxies.iter().filter(named).cloned().collect::<Vec<_>>();
            return match found.len() {
                0 => Err(self.not_found(&proxies, shape)),
                1 => Ok(Found { proxy: found.remove(0), others: Vec::new() }),
                _ => {
                    Err(format!("several proxies are named `{}`: say which namespace, as in `{}`", self.name, found[0]))
                }
            };
        }
        let pods = self.pods(snapshot);
        let mut found =
            pods.into_iter().flat_map(|pod| proxies.iter().filter(move |p| (&p.namespace, &p.pod) == (&pod.0, &pod.1)));
        let proxy = found.next().cloned().ok_or_else(|| self.not_found(&proxies, shape))?;
        Ok(Found { proxy, others: found.cloned().collect() })
    }

    /// Namespace and name of the pods of a workload, best first: by the objects, or where there are none by what each
    /// proxy says of itself.
    fn pods(&self, snapshot: &Snapshot) -> Vec<(String, String)> {
        let mut selectors: Vec<(String, Node)> = Vec::new();
        object::each(snapshot, |object| {
            if self.names(object) {
                selectors.extend(self.kind.selector(object).map(|s| (object.namespace().to_owned(), s)));
            }
        });
        let mut pods = Vec::new();
        object::each(snapshot, |object| {
            let Some(pod) = Pod::of(object) else { return };
            let selected = |(ns, s): &(String, Node)| ns == object.namespace() && selector::accepts(s, pod.labels());
            if selectors.iter().any(selected) {
                pods.push((pod.preference(), object.namespace().to_owned(), object.name().to_owned()));
            }
        });
        pods.sort();
        if pods.is_empty() {
            self.pods_by_own_word(snapshot)
        } else {
            pods.into_iter().map(|(_, ns, name)| (ns, name)).collect()
        }
    }

    fn names(&self, object: Object<'_>) -> bool {
        object.kind() == self.kind.object_kind()
            && object.name() == self.name
            && self.namespace.as_ref().is_none_or(|ns| ns == object.namespace())
    }

    /// Without objects: istiod puts the owner into each proxy's node metadata.
    fn pods_by_own_word(&self, snapshot: &Snapshot) -> Vec<(String, String)> {
        let mut pods = Vec::new();
        for (proxy, id) in snapshot.proxies_with(Shape::ConfigDump) {
            let in_scope = self.namespace.as_ref().is_none_or(|ns| *ns == proxy.namespace);
            let Some(doc) = in_scope.then(|| snapshot.open(id).ok()).flatten() else { continue };
            if owner(&doc.text).is_some_and(|owner| self.kind.owns(&owner, &self.name)) {
                pods.push((proxy.namespace, proxy.pod));
            }
        }
        pods
    }

    fn not_found(&self, proxies: &BTreeSet<ProxyRef>, shape: Shape) -> String {
        let place = self.namespace.as_ref().map(|ns| format!(" in namespace `{ns}`")).unwrap_or_default();
        let what = format!("no proxy for {}`{}`{place}", self.kind.prefix(), self.name);
        let similar: Vec<_> =
            proxies.iter().filter(|p| p.pod.contains(&self.name)).take(3).map(ToString::to_string).collect();
        if !similar.is_empty() {
            return format!("{what}; did you mean {}?", similar.join(" or "));
        }
        let all: Vec<_> = proxies.iter().take(5).map(ToString::to_string).collect();
        match proxies.len() {
            0 => format!("{what}: the source has no {} of any proxy", shape.title()),
            n if n > all.len() => format!("{what}; there are {}, … ({n} in all)", all.join(", ")),
            _ => format!("{what}; there are {}", all.join(", ")),
        }
    }
}

/// `kubernetes://apis/apps/v1/namespaces/tools/deployments/curl`
fn owner(dump: &str) -> Option<String> {
    let dump = Dump::index(dump, &[]).ok()?;
    let owner = dump.section(Section::Bootstrap)?.at(["bootstrap", "node", "metadata", "OWNER"])?;
    owner.string().map(std::borrow::Cow::into_owned)
}

/// The only proxy of a source that has a document of that shape, when there is just one: then nobody need name it.
pub fn only_proxy(snapshot: &Snapshot, shape: Shape) -> Option<ProxyRef> {
    let mut proxies = snapshot.proxies_with(shape).map(|(proxy, _)| proxy);
    let first = proxies.next()?;
    proxies.all(|p| p == first).then_some(first)
}

#[cfg(test)]
mod tests;
