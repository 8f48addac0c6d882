//! What happens to one request: each stage of Envoy as a function that returns its reason.
//!
//! Nothing here guesses. What is not modelled, or not known of the request, answers
//! [`Tri::Unknown`] with the missing fact, and a decision that depends on it is undecided.

pub mod answer;
pub mod chain;
pub mod cluster;
pub mod filters;
pub mod inspect;
pub mod jwt;
pub mod listener;
pub mod matcher;
mod message;
mod mutation;
pub mod network;
pub mod path;
pub mod rbac;
pub mod request;
pub mod route;
pub mod runtime;
pub mod state;
pub mod tls;
pub mod trace;
pub mod upgrade;
pub mod walk;

pub use answer::Answer;
use meshladder_text::cidr;
pub use meshladder_text::tri::Tri;
pub use request::Request;
pub use state::RequestState;

/// One candidate of a decision: what it is, whether it matched, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchCandidate {
    /// The candidate as a user would name it.
    pub what: CandidateName,
    /// Whether it matched.
    pub matched: Tri,
    /// The one thing that decided, as in `header x-canary is absent`.
    pub why: String,
    /// Where it stands: a byte offset in the config dump.
    pub at: usize,
}

/// What a candidate is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateName {
    /// A policy of an RBAC filter.
    Policy {
        /// Its name in the filter.
        name: String,
        /// In how many conditions it fails; none where it matches or may match.
        failures: usize,
    },
    /// Anything else: a filter chain's name, `prefix /api`.
    Other(String),
}

impl std::fmt::Display for CandidateName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Policy { name, .. } => write!(f, "policy {name}"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl From<String> for CandidateName {
    fn from(name: String) -> Self {
        Self::Other(name)
    }
}

/// Where losers and reasons are kept. Rehearsing many requests keeps none, and pays nothing for
/// them.
#[derive(Debug, Default)]
pub struct DecisionRecord {
    keep: bool,
    /// Every candidate that was looked at, in order.
    pub considered: Vec<MatchCandidate>,
}

impl DecisionRecord {
    /// A record that keeps everything.
    pub fn keeping() -> Self {
        Self {
            keep: true,
            considered: Vec::new(),
        }
    }

    /// A record that keeps nothing.
    pub fn dropping() -> Self {
        Self::default()
    }

    /// Whether somebody will read it. Texts are only made when it is.
    pub fn is_kept(&self) -> bool {
        self.keep
    }

    /// Adds a candidate. Asked for only after [`Self::is_kept`], since a candidate has texts.
    pub(crate) fn push(&mut self, candidate: MatchCandidate) {
        debug_assert!(self.keep, "nobody reads this record");
        self.considered.push(candidate);
    }

    /// Adds a candidate; `make` is only called when somebody will read it.
    pub fn add(&mut self, make: impl FnOnce() -> MatchCandidate) {
        if self.keep {
            self.considered.push(make());
        }
    }
}
