//! Exit codes, and how a failure is told.

use std::io;
use std::process::ExitCode;

use meshladder_collect::CollectError;

use crate::{out, progress};

/// istioctl's code for "any other error", which `proxy-status` and `proxy-config` keep.
pub(crate) const ISTIOCTL_ERROR: u8 = 1;
/// Something is wrong with what was asked about.
pub(crate) const FINDINGS: u8 = 1;
/// Wrong usage.
pub(crate) const USAGE: u8 = 2;
/// What was asked could not be read.
pub(crate) const UNREADABLE: u8 = 3;
/// No right to what was asked.
pub(crate) const NOT_ALLOWED: u8 = 4;
/// A missing fact could change the answer.
pub(crate) const UNDECIDED: u8 = 5;
/// The user pressed Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;
/// istioctl's code for flags it cannot parse.
pub(crate) const ISTIOCTL_USAGE: u8 = 64;

/// Our own fault.
const OUR_BUG: u8 = 70;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    hint: Option<String>,
}

/// What a command returns: the exit code, or why it could not go on.
pub(crate) type Outcome = Result<u8, Failure>;

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
        }
    }

    /// With another exit code.
    pub(crate) fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// With a code of ours where istioctl's are not kept: there 1 means findings.
    pub(crate) fn with_our_code(self) -> Self {
        if self.code == ISTIOCTL_ERROR {
            self.with_code(UNREADABLE)
        } else {
            self
        }
    }

    /// In other words.
    pub(crate) fn with_message(mut self, message: String) -> Self {
        self.message = message;
        self
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Tells it on stderr, after these words, where something else goes on; gives its exit code.
    pub(crate) fn tell(&self, before: &str) -> u8 {
        progress::stop();
        if self.code != 0 {
            out::error(&format!("{before}{}", self.message), self.hint.as_deref());
        }
        self.code
    }

    /// What to try next, on a line of its own.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // Whoever read our output has had enough: that is no failure.
        let code = if error.kind() == io::ErrorKind::BrokenPipe {
            0
        } else {
            UNREADABLE
        };
        Self::new(code, format!("cannot write the output: {error}"))
    }
}

impl From<CollectError> for Failure {
    fn from(error: CollectError) -> Self {
        let code = match error {
            CollectError::NoCluster => USAGE,
            CollectError::Unauthorized { .. } => NOT_ALLOWED,
            CollectError::Interrupted => INTERRUPTED,
            _ => UNREADABLE,
        };
        Self::new(code, error.to_string()).hint(error.hint())
    }
}

/// After a panic, whose message is on stderr already.
pub(crate) fn our_bug() -> ExitCode {
    out::error(
        "this is a bug of meshladder, not of your mesh",
        Some("please report it with the message above"),
    );
    ExitCode::from(OUR_BUG)
}

/// Tells a failure on stderr and gives the process's exit code.
pub(crate) fn report(outcome: Outcome) -> ExitCode {
    progress::stop();
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => ExitCode::from(failure.tell("")),
    }
}
