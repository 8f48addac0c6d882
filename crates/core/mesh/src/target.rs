//! Which proxy a user means: `pod.namespace`, `deploy/cart -n shop`, `shop/cart-1`.

use std::collections::BTreeSet;

use crate::pod::Pod;
use crate::selector;
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::object::{self, ObjectView};
use meshladder_capture::snapshot::{ProxyRef, Shape, Snapshot};
use meshladder_text::tree::Node;

mod kind;

/// What the user wrote, taken apart but not looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    source: Option<String>,
    kind: Kind,
    name: String,
    namespace: Option<String>,
}

/// The proxies behind a target, best choice first. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyChoice {
    /// The one to take.
    pub proxy: ProxyRef,
    /// The others that would do.
    pub others: Vec<ProxyRef>,
}

impl Target {
    /// Reads istioctl's `[kind/]name[.namespace]`. `namespace` is what `-n` says; a namespace in
    /// the target wins. Also reads `namespace/name`, unless what stands before the slash is a kind;
    /// and with several sources the name of one before a colon, as in `2:cart-1.shop`.
    ///
    /// # Errors
    /// When nothing is left for a name.
    pub fn parse(text: &str, namespace: Option<&str>) -> Result<Self, String> {
        let whole = text;
        let (source, text) = text.split_once(':').map_or((None, text), |(source, rest)| {
            (Some(source.to_owned()), rest)
        });
        let (kind, rest, mut own) = match text.rsplit_once('/') {
            None => (Kind::Pod, text, None),
            Some((word, rest)) => match kind::parse(word) {
                Some(kind) => (kind, rest, None),
                None if word.contains('/') => {
                    return Err(format!(
                        "`{text}` is not a target: try `pod.namespace` or `deploy/name.namespace`"
                    ));
                }
                None => (Kind::Pod, rest, Some(word)),
            },
        };
        let mut name = rest;
        if let (None, Some((n, ns))) = (own, rest.rsplit_once('.')) {
            (name, own) = (n, Some(ns));
        }
        if name.is_empty() || own == Some("") {
            return Err(format!(
                "`{whole}` is not a target: try `pod.namespace` or `deploy/name.namespace`"
            ));
        }
        Ok(Self {
            source,
            kind,
            name: name.to_owned(),
            namespace: own.or(namespace).map(str::to_owned),
        })
    }

    /// Whether it names a pod, so that nothing need be looked up to find it.
    pub fn is_pod(&self) -> bool {
        self.kind == Kind::Pod
    }

    /// The namespace it names, or that `-n` said.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The pods it means, best first, for who has not asked their proxies yet.
    pub fn candidates(&self, snapshot: &Snapshot) -> Vec<ProxyRef> {
        let wanted = |source: &str| self.source.as_ref().is_none_or(|own| own == source);
        if self.kind != Kind::Pod {
            return self
                .pods(snapshot)
                .into_iter()
                .filter(|pod| wanted(&pod.source))
                .collect();
        }
        let (namespace, pod) = (
            self.namespace.clone().unwrap_or_default(),
            self.name.clone(),
        );
        let sources = snapshot
            .sources()
            .map(|(name, _)| name)
            .filter(|name| wanted(name));
        sources
            .map(|source| ProxyRef {
                source: source.to_owned(),
                namespace: namespace.clone(),
                pod: pod.clone(),
            })
            .collect()
    }

    /// Finds the target's proxies among those that have a document of that shape.
    ///
    /// # Errors
    /// When there is none, with what to try instead.
    pub fn resolve(&self, snapshot: &Snapshot, shape: Shape) -> Result<ProxyChoice, String> {
        let wanted = |proxy: &ProxyRef| {
            self.source
                .as_ref()
                .is_none_or(|source| *source == proxy.source)
        };
        let proxies: BTreeSet<ProxyRef> = snapshot
            .proxies_with(shape)
            .map(|(p, _)| p)
            .filter(wanted)
            .collect();
        if self.kind == Kind::Pod {
            let named = |p: &&ProxyRef| {
                p.pod == self.name && self.namespace.as_ref().is_none_or(|ns| *ns == p.namespace)
            };
            let mut found = proxies.iter().filter(named).cloned().collect::<Vec<_>>();
            return match found.len() {
                0 => Err(self.not_found(&proxies, shape)),
                1 => Ok(ProxyChoice {
                    proxy: found.remove(0),
                    others: Vec::new(),
                }),
                _ => Err(ambiguous(&self.name, &found)),
            };
        }
        let mut found = self
            .pods(snapshot)
            .into_iter()
            .filter(|pod| proxies.contains(pod));
        let proxy = found
            .next()
            .ok_or_else(|| self.not_found(&proxies, shape))?;
        Ok(ProxyChoice {
            proxy,
            others: found.collect(),
        })
    }

    /// The pods of a workload, best first: by the objects, or where there are none by what each
    /// proxy says of itself.
    fn pods(&self, snapshot: &Snapshot) -> Vec<ProxyRef> {
        let mut selectors: Vec<((String, String), Node)> = Vec::new();
        object::each(snapshot, |object| {
            if self.names(object) {
                selectors.extend(
                    kind::selector(self.kind, object).map(|selector| (place(object), selector)),
                );
            }
        });
        let mut pods = Vec::new();
        object::each(snapshot, |object| {
            let Some(pod) = Pod::of(object) else { return };
            let here = place(object);
            if selectors
                .iter()
                .any(|(there, s)| *there == here && selector::accepts(s, pod.labels()))
            {
                let (source, namespace) = here;
                pods.push((
                    pod.preference(),
                    ProxyRef {
                        source,
                        namespace,
                        pod: object.name().to_owned(),
                    },
                ));
            }
        });
        pods.sort();
        if pods.is_empty() {
            self.pods_by_own_word(snapshot)
        } else {
            pods.into_iter().map(|(_, pod)| pod).collect()
        }
    }

    fn names(&self, object: ObjectView<'_>) -> bool {
        object.is(self.kind)
            && object.name() == self.name
            && self
                .namespace
                .as_ref()
                .is_none_or(|ns| ns == object.namespace())
    }

    /// Without objects: istiod puts the owner into each proxy's node metadata.
    fn pods_by_own_word(&self, snapshot: &Snapshot) -> Vec<ProxyRef> {
        let mut pods = Vec::new();
        for (proxy, id) in snapshot.proxies_with(Shape::ConfigDump) {
            let in_scope = self
                .namespace
                .as_ref()
                .is_none_or(|ns| *ns == proxy.namespace);
            let Some(doc) = in_scope.then(|| snapshot.open(id).ok()).flatten() else {
                continue;
            };
            if owner(&doc.text).is_some_and(|owner| kind::owns(self.kind, &owner, &self.name)) {
                pods.push(proxy);
            }
        }
        pods
    }

    fn not_found(&self, proxies: &BTreeSet<ProxyRef>, shape: Shape) -> String {
        let what = format!("no proxy for {self}");
        let similar: Vec<_> = proxies
            .iter()
            .filter(|p| p.pod.contains(&self.name))
            .take(3)
            .map(ToString::to_string)
            .collect();
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

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}`{}`", kind::prefix(self.kind), self.name)?;
        self.namespace
            .as_ref()
            .map_or(Ok(()), |namespace| write!(f, " in namespace `{namespace}`"))
    }
}

/// Source and namespace of an object.
fn place(object: ObjectView<'_>) -> (String, String) {
    (object.source.to_owned(), object.namespace().to_owned())
}

/// Several proxies of one name: they differ in namespace, or in the source they were seen in.
fn ambiguous(name: &str, found: &[ProxyRef]) -> String {
    if found
        .iter()
        .any(|proxy| proxy.namespace != found[0].namespace)
    {
        return format!(
            "several proxies are named `{name}`: say which namespace, as in `{}`",
            found[0]
        );
    }
    format!(
        "several sources have a proxy named `{name}`: say which, as in `{}:{}`",
        found[0].source, found[0]
    )
}

/// `kubernetes://apis/apps/v1/namespaces/tools/deployments/curl`
fn owner(dump: &str) -> Option<String> {
    let dump = Dump::index(dump, &[]).ok()?;
    let owner = dump
        .section(Section::Bootstrap)?
        .at(["bootstrap", "node", "metadata", "OWNER"])?;
    owner.string().map(std::borrow::Cow::into_owned)
}

/// The only proxy of a source that has a document of that shape, when there is just one: then
/// nobody need name it.
pub fn only_proxy(snapshot: &Snapshot, shape: Shape) -> Option<ProxyRef> {
    let mut proxies = snapshot.proxies_with(shape).map(|(proxy, _)| proxy);
    let first = proxies.next()?;
    proxies.all(|p| p == first).then_some(first)
}

#[cfg(test)]
mod tests;
