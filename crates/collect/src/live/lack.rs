//! Why something could not be had from a cluster.

use meshladder_capture::snapshot::{Coverage, DocId, redact};

/// See the module. What was read before is still of use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// No right to it.
    Refused(String),
    /// Not known who asks.
    Stranger(String),
    /// Our own credentials are of no use, before anybody is asked: a token that is over and cannot
    /// be renewed.
    Keyless(String),
    /// There is no such thing.
    Absent,
    /// There is no such pod, or no longer.
    Gone(String),
    /// A continue token is too old.
    Expired,
    /// `--request-timeout` is over.
    Late(String),
    /// Nothing at all comes back from there.
    Unreachable(String),
    /// A forwarded connection ended without an answer, and nobody said why.
    Cut(String),
    /// Anything else that went wrong.
    Failed(String),
    /// `--timeout` is over.
    OutOfTime,
    /// The user has had enough.
    Stopped,
}

impl Lack {
    /// A failure, in words that hold no secret: what a server or a credential plugin says may hold
    /// one.
    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self::Failed(clean(why))
    }

    /// In words.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Refused(why)
            | Self::Stranger(why)
            | Self::Keyless(why)
            | Self::Late(why)
            | Self::Unreachable(why)
            | Self::Cut(why)
            | Self::Failed(why)
            | Self::Gone(why) => why.clone(),
            Self::Absent => "there is no such thing".to_owned(),
            Self::Expired => "the list changed faster than it could be read".to_owned(),
            Self::OutOfTime => "--timeout was over before it could be read".to_owned(),
            Self::Stopped => "interrupted before it could be read".to_owned(),
        }
    }

    /// What it means for a kind of fact. Only a refusal is a refusal; with anything else another
    /// try may succeed.
    pub(crate) fn coverage(&self) -> Coverage {
        match self {
            Self::Refused(why) | Self::Stranger(why) | Self::Keyless(why) => {
                Coverage::Denied(why.clone())
            }
            // What is gone by the time it is asked is no longer part of the mesh.
            Self::Absent | Self::Gone(_) => Coverage::Partial(self.why()),
            other => Coverage::Lost(other.why()),
        }
    }
}

/// One line without secrets.
pub(crate) fn clean(text: impl Into<String>) -> String {
    const MAX: usize = 300;
    let mut bytes = text.into().into_bytes();
    redact(&DocId::new("other/message.log"), &mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = line
        .char_indices()
        .nth(MAX)
        .map_or(line.len(), |(at, _)| at);
    line[..cut].to_owned()
}
