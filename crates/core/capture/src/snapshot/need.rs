//! What kinds of fact there are: the one vocabulary that rules, collection and coverage share.

use std::cmp::Ordering;
use std::fmt;

use crate::Kind;

/// A kind of fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// Kubernetes objects of one kind.
    Objects(Kind),
    /// Kubernetes objects of a kind that nothing here reads but a bundle may hold, by plural and
    /// group: `rollouts.argoproj.io`.
    OtherObjects(String),
    /// What else a bundle holds.
    Part(Part),
    /// A file or folder of a part: `logs/shop/`.
    Path(String),
}

/// A part of a bundle that is not objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The whole source.
    Everything,
    /// What istiods say of themselves and of proxies.
    Istiod,
    /// What containers logged.
    Logs,
    /// What proxies say of themselves.
    Proxies,
    /// What ztunnels say of themselves.
    Ztunnels,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inputs {
    kinds: &'static [Kind],
    parts: &'static [Part],
}

impl Part {
    const ALL: [Self; 5] = [
        Self::Everything,
        Self::Istiod,
        Self::Logs,
        Self::Proxies,
        Self::Ztunnels,
    ];

    /// Its folder in the bundle layout.
    pub fn path(self) -> &'static str {
        match self {
            Self::Everything => "",
            Self::Istiod => "istiod/",
            Self::Logs => "logs/",
            Self::Proxies => "proxies/",
            Self::Ztunnels => "ztunnels/",
        }
    }
}

impl Inputs {
    /// Nothing.
    pub const NONE: Self = Self::of(&[]);

    /// Objects of these kinds.
    pub const fn of(kinds: &'static [Kind]) -> Self {
        Self { kinds, parts: &[] }
    }

    /// And these parts of a bundle.
    #[must_use]
    pub const fn and(self, parts: &'static [Part]) -> Self {
        Self { parts, ..self }
    }

    /// The kinds of object.
    pub fn kinds(&self) -> &'static [Kind] {
        self.kinds
    }

    /// The parts of a bundle that are not objects.
    pub fn parts(&self) -> &'static [Part] {
        self.parts
    }

    /// All of it.
    pub fn iter(&self) -> impl Iterator<Item = Need> + use<> {
        let objects = self.kinds.iter().map(|kind| Need::Objects(*kind));
        objects.chain(self.parts.iter().map(|part| Need::Part(*part)))
    }
}

impl Need {
    /// What a path of the bundle layout holds, such as a manifest names it: `k8s/pods.json` is the
    /// pods.
    pub fn of_path(path: &str) -> Self {
        let objects = path
            .strip_prefix("k8s/")
            .and_then(|file| file.strip_suffix(".json"));
        if let Some(name) = objects.filter(|name| !name.contains('/')) {
            return Kind::named(name)
                .map_or_else(|| Self::OtherObjects(name.to_owned()), Self::Objects);
        }
        let part = Part::ALL.into_iter().find(|part| part.path() == path);
        part.map_or_else(|| Self::Path(path.to_owned()), Self::Part)
    }

    /// Its file or folder in the bundle layout; the inverse of [`Self::of_path`].
    pub fn path(&self) -> String {
        match self {
            Self::Objects(kind) => kind.path().to_owned(),
            Self::OtherObjects(name) => format!("k8s/{name}.json"),
            Self::Part(part) => part.path().to_owned(),
            Self::Path(path) => path.clone(),
        }
    }

    /// The plural and the group of the objects that it is, if it is objects.
    pub fn objects(&self) -> Option<&str> {
        match self {
            Self::Objects(kind) => Some(kind.name()),
            Self::OtherObjects(name) => Some(name),
            Self::Part(_) | Self::Path(_) => None,
        }
    }

    /// The folders it lies in, the innermost first, without the source as a whole.
    pub(super) fn folders(&self) -> impl Iterator<Item = Self> {
        let path = self.path();
        let inside = path.trim_end_matches('/').len();
        let ends: Vec<usize> = path[..inside]
            .rmatch_indices('/')
            .map(|(at, _)| at + 1)
            .collect();
        ends.into_iter().map(move |end| Self::of_path(&path[..end]))
    }

    /// Objects come first, then both in the order of their names.
    fn order(&self) -> (bool, &str) {
        match self {
            Self::Objects(kind) => (false, kind.name()),
            Self::OtherObjects(name) => (false, name),
            Self::Part(part) => (true, part.path()),
            Self::Path(path) => (true, path),
        }
    }
}

impl Ord for Need {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Need {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<Kind> for Need {
    fn from(kind: Kind) -> Self {
        Self::Objects(kind)
    }
}

impl From<Part> for Need {
    fn from(part: Part) -> Self {
        Self::Part(part)
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.order().1 {
            "" => f.write_str("everything"),
            name => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_layout_and_a_need_are_the_same_thing() {
        for (path, need) in [
            ("k8s/pods.json", Need::Objects(Kind::Pod)),
            (
                "k8s/gateways.networking.istio.io.json",
                Need::Objects(Kind::Gateway),
            ),
            (
                "k8s/rollouts.argoproj.io.json",
                Need::OtherObjects("rollouts.argoproj.io".to_owned()),
            ),
            (
                "k8s/manifests/pods.json",
                Need::Path("k8s/manifests/pods.json".to_owned()),
            ),
            ("proxies/", Need::Part(Part::Proxies)),
            ("proxies/shop/", Need::Path("proxies/shop/".to_owned())),
            ("", Need::Part(Part::Everything)),
        ] {
            assert_eq!((Need::of_path(path), need.path()), (need, path.to_owned()));
        }
    }

    #[test]
    fn folders_are_named_from_the_inside() {
        let folders = |path: &str| {
            Need::of_path(path)
                .folders()
                .map(|need| need.path())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            folders("proxies/shop/cart-1/certs.json"),
            ["proxies/shop/cart-1/", "proxies/shop/", "proxies/"]
        );
        assert_eq!(folders("k8s/pods.json"), ["k8s/"]);
        assert_eq!(folders("proxies/shop/"), ["proxies/"]);
        assert!(folders("proxies/").is_empty() && folders("").is_empty());
    }
}
