//! What kinds of fact there are, and how much of each a Snapshot holds.

use std::fmt;

/// A kind of fact: the one vocabulary that rules, collection and coverage share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Kubernetes objects of one kind, by plural and group: `pods`,
    /// `virtualservices.networking.istio.io`.
    Objects(String),
    /// A file or folder of the bundle layout that is not objects: `proxies/`, `istiod/`,
    /// `logs/shop/`. The empty path is the whole source.
    Part(String),
}

/// How much of a kind of fact there is. "There are none" and "we may not look" are different
/// answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of it.
    Complete,
    /// Some of it, and why not all.
    Partial(String),
    /// None of it: refused, and by what.
    Denied(String),
    /// Nobody asked for it.
    NotAsked,
}

impl Coverage {
    /// That a fact is missing, and why: `pods (denied: …)`.
    pub fn lack(&self, need: &Need) -> String {
        format!("{need} ({})", self.lack_reason(need))
    }

    /// Why a fact is missing: `denied: …`.
    pub fn lack_reason(&self, need: &Need) -> String {
        match self.reason(need) {
            Some(reason) => format!("{}: {reason}", self.word()),
            // In files it is not there; of a cluster it was not wanted.
            None => "not in what was read".to_owned(),
        }
    }

    /// Whether it is missing for want of a right. A manifest carries reasons as words, those of
    /// our own collector or of an API server, so this is the one place that reads them.
    pub fn lacks_right(&self, need: &Need) -> bool {
        self.reason(need)
            .is_some_and(|reason| reason.contains(NO_RIGHT))
    }

    /// The reason in few words, which are the same for all that lacks for it.
    fn reason(&self, need: &Need) -> Option<String> {
        let why = self.why()?;
        let why = refusal(why).unwrap_or_else(|| why.to_owned());
        let Need::Objects(kind) = need else {
            return Some(why);
        };
        let place = why
            .strip_prefix("no right to list ")
            .and_then(|rest| rest.strip_prefix(kind.as_str()));
        Some(
            match place.filter(|place| place.is_empty() || place.starts_with(' ')) {
                Some(place) => format!("no right to list them{place}"),
                None => why,
            },
        )
    }
}

const NO_RIGHT: &str = "no right to ";

/// An API server names what it refuses two times: `pods is forbidden: User "a" cannot list resource
/// "pods" in API group "" in the namespace "b"`.
fn refusal(why: &str) -> Option<String> {
    let (verb, rest) = why.split_once(" cannot ")?.1.split_once(" resource \"")?;
    let (resource, rest) = rest.split_once('"')?;
    let group = rest
        .strip_prefix(" in API group \"")
        .and_then(|rest| rest.split_once('"'))
        .map_or("", |(group, _)| group);
    let dot = if group.is_empty() { "" } else { "." };
    let place = rest
        .split_once(" in the namespace \"")
        .and_then(|(_, rest)| rest.split_once('"'));
    let place = place
        .map(|(namespace, _)| format!(" in namespace {namespace}"))
        .unwrap_or_default();
    Some(format!("no right to {verb} {resource}{dot}{group}{place}"))
}

impl Need {
    /// What a path of the bundle layout holds, such as a manifest names it: `k8s/pods.json` is the
    /// pods.
    pub fn of_path(path: &str) -> Self {
        match path
            .strip_prefix("k8s/")
            .and_then(|file| file.strip_suffix(".json"))
        {
            Some(kind) if !kind.contains('/') => Self::Objects(kind.to_owned()),
            _ => Self::Part(path.to_owned()),
        }
    }

    /// Its file or folder in the bundle layout; the inverse of [`Self::of_path`].
    pub fn path(&self) -> String {
        match self {
            Self::Objects(kind) => format!("k8s/{kind}.json"),
            Self::Part(path) => path.clone(),
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
        ends.into_iter()
            .map(move |end| Self::Part(path[..end].to_owned()))
    }
}

impl Coverage {
    /// The word JSON carries.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial(_) => "partial",
            Self::Denied(_) => "denied",
            Self::NotAsked => "not-asked",
        }
    }

    /// Reads the word; the inverse of [`Self::word`].
    pub fn from_word(word: &str, why: &str) -> Option<Self> {
        Some(match word {
            "complete" => Self::Complete,
            "partial" => Self::Partial(why.to_owned()),
            "denied" => Self::Denied(why.to_owned()),
            "not-asked" => Self::NotAsked,
            _ => return None,
        })
    }

    /// The reason, when there is one.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Partial(why) | Self::Denied(why) => Some(why),
            Self::Complete | Self::NotAsked => None,
        }
    }

    /// The coverage of two sources taken together. A source that was never asked takes nothing
    /// away: a bundle and a file of YAML beside it are as complete as the bundle.
    pub(super) fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::NotAsked, one) | (one, Self::NotAsked) => one,
            (Self::Complete, Self::Complete) => Self::Complete,
            (Self::Denied(why), Self::Denied(_)) => Self::Denied(why),
            (Self::Partial(why) | Self::Denied(why), _)
            | (_, Self::Partial(why) | Self::Denied(why)) => Self::Partial(why),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objects(kind) => f.write_str(kind),
            Self::Part(path) if path.is_empty() => f.write_str("everything"),
            Self::Part(path) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_layout_and_a_need_are_the_same_thing() {
        for (path, need) in [
            ("k8s/pods.json", Need::Objects("pods".to_owned())),
            (
                "k8s/gateways.networking.istio.io.json",
                Need::Objects("gateways.networking.istio.io".to_owned()),
            ),
            (
                "k8s/manifests/pods.json",
                Need::Part("k8s/manifests/pods.json".to_owned()),
            ),
            ("proxies/", Need::Part("proxies/".to_owned())),
            ("", Need::Part(String::new())),
        ] {
            assert_eq!((Need::of_path(path), need.path()), (need, path.to_owned()));
        }
    }

    #[test]
    fn what_is_refused_is_named_once() {
        for (need, why, told) in [
            (
                "k8s/pods.json",
                r#"pods is forbidden: User "a" cannot list resource "pods" in API group "" in the namespace "b""#,
                "pods (denied: no right to list them in namespace b)",
            ),
            (
                "k8s/sidecars.networking.istio.io.json",
                r#"x is forbidden: User "a" cannot list resource "sidecars" in API group "networking.istio.io" at the cluster scope"#,
                "sidecars.networking.istio.io (denied: no right to list them)",
            ),
            (
                "k8s/pods.json",
                "no right to list podsets",
                "pods (denied: no right to list podsets)",
            ),
            (
                "istiod/",
                r#"forbidden: User "a" cannot create resource "pods/portforward" in the namespace "istio-system""#,
                "istiod/ (denied: no right to create pods/portforward in namespace istio-system)",
            ),
            (
                "logs/",
                "the disk is full",
                "logs/ (denied: the disk is full)",
            ),
        ] {
            assert_eq!(
                Coverage::Denied(why.to_owned()).lack(&Need::of_path(need)),
                told
            );
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

    #[test]
    fn two_sources_are_as_complete_as_the_worse_one_that_was_asked() {
        let denied = || Coverage::Denied("no".to_owned());
        assert_eq!(
            Coverage::Complete.with(Coverage::NotAsked),
            Coverage::Complete
        );
        assert_eq!(Coverage::NotAsked.with(denied()), denied());
        assert_eq!(
            Coverage::Complete.with(denied()),
            Coverage::Partial("no".to_owned())
        );
        assert_eq!(denied().with(denied()), denied());
    }
}
