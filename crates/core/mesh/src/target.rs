//! Which proxy a user means: `pod.namespace`, `deploy/cart -n shop`, `shop/cart-1`.

use std::collections::BTreeSet;

use crate::selector;
use crate::views::pod::preference;
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
        let (source, text) = match text.split_once(':') {
            Some((source, rest)) => (Some(source.to_owned()), rest),
            None => (None, text),
        };
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
        if self.kind != Kind::Pod {
            let mut pods = self.pods(snapshot);
            pods.retain(|pod| self.is_in_source(&pod.source));
            return pods;
        }
        let mut candidates = Vec::new();
        for (source, _) in snapshot.sources() {
            if self.is_in_source(source) {
                candidates.push(ProxyRef {
                    source: source.to_owned(),
                    namespace: self.namespace.clone().unwrap_or_default(),
                    pod: self.name.clone(),
                });
            }
        }
        candidates
    }

    fn is_in_source(&self, source: &str) -> bool {
        match &self.source {
            Some(own) => own == source,
            None => true,
        }
    }

    fn is_in_namespace(&self, namespace: &str) -> bool {
        match &self.namespace {
            Some(own) => own == namespace,
            None => true,
        }
    }

    /// Finds the target's proxies among those that have a document of that shape.
    ///
    /// # Errors
    /// When there is none, with what to try instead.
    pub fn resolve(&self, snapshot: &Snapshot, shape: Shape) -> Result<ProxyChoice, String> {
        let mut proxies = BTreeSet::new();
        for (proxy, _) in snapshot.proxies_with(shape) {
            if self.is_in_source(&proxy.source) {
                proxies.insert(proxy);
            }
        }
        let mut choices = if self.kind == Kind::Pod {
            self.named_among(&proxies)
        } else {
            self.pods(snapshot)
        };
        choices.retain(|pod| proxies.contains(pod));
        if choices.is_empty() {
            return Err(self.not_found(&proxies, shape));
        }
        // Any pod of a workload will do; of pods with one name only one is meant.
        if self.kind == Kind::Pod && choices.len() > 1 {
            return Err(ambiguous(&self.name, &choices));
        }
        Ok(ProxyChoice {
            proxy: choices.remove(0),
            others: choices,
        })
    }

    fn named_among(&self, proxies: &BTreeSet<ProxyRef>) -> Vec<ProxyRef> {
        let mut named = Vec::new();
        for proxy in proxies {
            if proxy.pod == self.name && self.is_in_namespace(&proxy.namespace) {
                named.push(proxy.clone());
            }
        }
        named
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
            if !object.is(Kind::Pod) {
                return;
            }
            let labels = object.node.at(["metadata", "labels"]);
            let here = place(object);
            if selectors
                .iter()
                .any(|(there, s)| *there == here && selector::accepts(s, labels))
            {
                let (source, namespace) = here;
                pods.push((
                    preference(object.node),
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
            && self.is_in_namespace(object.namespace())
    }

    /// Without objects: istiod puts the owner into each proxy's node metadata.
    fn pods_by_own_word(&self, snapshot: &Snapshot) -> Vec<ProxyRef> {
        let mut pods = Vec::new();
        for (proxy, id) in snapshot.proxies_with(Shape::ConfigDump) {
            // A dump is large: those of other namespaces are not opened.
            if !self.is_in_namespace(&proxy.namespace) {
                continue;
            }
            let Ok(doc) = snapshot.open(id) else {
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
        let mut similar = Vec::new();
        for proxy in proxies {
            if proxy.pod.contains(&self.name) && similar.len() < 3 {
                similar.push(proxy.to_string());
            }
        }
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
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace `{namespace}`"),
            None => Ok(()),
        }
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
