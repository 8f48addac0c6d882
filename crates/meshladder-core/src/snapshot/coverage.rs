//! What kinds of fact there are, and how much of each a Snapshot holds.

use std::fmt;

/// A kind of fact: the one vocabulary that rules, collection and coverage share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Kubernetes objects of one kind, by plural and group: `pods`, `virtualservices.networking.istio.io`.
    Objects(String),
    /// A file or folder of the bundle layout that is not objects: `proxies/`, `istiod/`, `logs/shop/`.
    Part(String),
}

/// How much of a kind of fact there is. "There are none" and "we may not look" are different answers.
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
    /// The word JSON carries.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial(_) => "partial",
            Self::Denied(_) => "denied",
            Self::NotAsked => "not-asked",
        }
    }

    /// The reason, when there is one.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Partial(why) | Self::Denied(why) => Some(why),
            Self::Complete | Self::NotAsked => None,
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objects(kind) => f.write_str(kind),
            Self::Part(path) => f.write_str(path),
        }
    }
}
