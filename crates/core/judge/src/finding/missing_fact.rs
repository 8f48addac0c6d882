//! A fact that was missing and could change the answer.

use std::fmt;

use meshladder_capture::snapshot::{Coverage, Need};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingFact {
    /// A kind of fact of which there is nothing, or not all.
    Unread(Need, Coverage),
    /// What a rule would have said, had it not broken.
    Rule {
        /// Its code.
        code: &'static str,
        /// Its name.
        name: &'static str,
    },
    /// Anything else that nobody could tell, in words.
    Other(String),
}

impl MissingFact {
    /// Whether it is missing because whoever asked may not read it.
    pub fn is_refused(&self) -> bool {
        match self {
            Self::Unread(need, coverage) => coverage.lacks_right(need),
            Self::Rule { .. } | Self::Other(_) => false,
        }
    }

    /// The fact alone, and why it is missing where that has a name.
    pub(crate) fn parts(&self) -> (String, Option<String>) {
        match self {
            Self::Unread(need, coverage) => (need.to_string(), Some(coverage.lack_reason(need))),
            Self::Rule { code, name } => (format!("what the rule {code} ({name}) says"), None),
            Self::Other(words) => (words.clone(), None),
        }
    }
}

/// `pods (denied: …)`
impl fmt::Display for MissingFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (fact, Some(reason)) => write!(f, "{fact} ({reason})"),
            (fact, None) => f.write_str(&fact),
        }
    }
}

impl From<String> for MissingFact {
    fn from(words: String) -> Self {
        Self::Other(words)
    }
}

impl From<&str> for MissingFact {
    fn from(words: &str) -> Self {
        Self::Other(words.to_owned())
    }
}
