//! Why a source could not be opened, or a bundle not be written.

use std::io;

use meshladder_capture::snapshot::Problem;

use crate::names::size;

/// Nothing can be answered: what is wrong, where and why. [`CollectError::hint`] says what to try.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The operating system refused.
    #[error("cannot read {origin}: {}", plain(.why))]
    Unreadable {
        /// The file or directory.
        origin: String,
        /// What the operating system said.
        why: io::Error,
    },
    /// A pipe, a socket, a device.
    #[error("{origin} is {what}, not a file or a directory")]
    NotAFile {
        /// The file.
        origin: String,
        /// What it is.
        what: &'static str,
    },
    /// There is nothing in it.
    #[error("{origin} is empty")]
    Empty {
        /// The file or directory.
        origin: String,
    },
    /// Its content is nothing that is known.
    #[error("{origin} is {what}")]
    Unknown {
        /// The file.
        origin: String,
        /// What it seems to be.
        what: String,
    },
    /// None of its files is anything that is known.
    #[error("nothing in {origin} is a Kubernetes object or anything Envoy or istiod writes{}", beside(.archive.as_ref()))]
    NothingKnown {
        /// The directory or archive.
        origin: String,
        /// An archive that lies in it.
        archive: Option<String>,
    },
    /// An archive or a compressed file of which nothing could be read.
    #[error("{origin} cannot be unpacked: {why}")]
    Damaged {
        /// The file.
        origin: String,
        /// What is wrong.
        why: String,
    },
    /// It would take more memory or disk than allowed.
    #[error("{origin} is larger than {}{}", size(*.max), after_colon(.why.as_ref()))]
    TooLarge {
        /// The source.
        origin: String,
        /// The limit in bytes.
        max: u64,
        /// What is too much, when more is known than the sum.
        why: Option<String>,
    },
    /// Something else where a log was meant.
    #[error("{origin} is {what}, not a log")]
    NoLog {
        /// The file or directory.
        origin: String,
        /// What it is.
        what: &'static str,
    },
    /// Standard input can be read only once.
    #[error("`-` is given more than once")]
    StdinTwice,
    /// `bundle verify` on something else.
    #[error("{origin} is not a bundle, but {form}")]
    NotABundle {
        /// The file or directory.
        origin: String,
        /// What it is.
        form: &'static str,
    },
    /// The bundle could not be written.
    #[error("cannot write {path}: {}", plain(.why))]
    Unwritable {
        /// The file or directory.
        path: String,
        /// What the operating system said.
        why: io::Error,
    },
    /// Something else has the bundle's name.
    #[error("{path} exists and is {what}")]
    InTheWay {
        /// The file or directory.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// The name tells no format.
    #[error("cannot tell from the name {path} how to write it")]
    NoFormat {
        /// The name.
        path: String,
    },
    /// Neither a kubeconfig nor a pod around us.
    #[error("no source to read: no -s, no kubeconfig, and not inside a cluster")]
    NoCluster,
    /// A kubeconfig that cannot be used.
    #[error("cannot use the kubeconfig {origin}: {why}")]
    Kubeconfig {
        /// The file or files.
        origin: String,
        /// What is wrong.
        why: String,
    },
    /// A context that is in no kubeconfig.
    #[error("{}", no_context(.name, .origin, .known))]
    NoContext {
        /// The context; empty when none is set.
        name: String,
        /// The file or files.
        origin: String,
        /// The contexts in it.
        known: Vec<String>,
    },
    /// Credentials that cannot be read or are of no kind that is known.
    #[error("cannot use the credentials of context {context}: {why}")]
    Credentials {
        /// The context.
        context: String,
        /// What is wrong.
        why: String,
    },
    /// The API server does not answer.
    #[error("cannot reach the API server {server} of context {context}: {why}")]
    Unreachable {
        /// Its URL.
        server: String,
        /// The context.
        context: String,
        /// What happened.
        why: String,
    },
    /// The API server does not know us.
    #[error("the API server {server} does not accept the credentials of context {context}: {why}")]
    Unauthorized {
        /// Its URL.
        server: String,
        /// The context.
        context: String,
        /// What it said.
        why: String,
    },
    /// The user pressed Ctrl-C before there was anything to keep.
    #[error("interrupted")]
    Interrupted,
}

impl CollectError {
    /// What to try, as a line of its own.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { why, .. } if why.kind() == io::ErrorKind::PermissionDenied => {
                "run as a user who may read it, or copy what you need"
            }
            Self::Unreadable { .. } => "check the path",
            Self::NotAFile { .. } => {
                "to read from a pipe, give `-` and redirect it to standard input"
            }
            Self::Empty { .. } => "check that the command that wrote it succeeded",
            Self::Unknown { .. } | Self::NothingKnown { .. } => {
                "give a bundle, an istioctl bug-report, Kubernetes YAML or JSON, or what Envoy's /config_dump, /clusters \
                 or /stats prints"
            }
            Self::Damaged { .. } => "copy or download it again",
            Self::TooLarge { .. } => "if it is really that large, raise --max-size",
            Self::NoLog { .. } => "name a bundle with -s, and its logs are read",
            Self::StdinTwice => "write one of them to a file first",
            Self::NotABundle { .. } => "make a bundle of it with `meshladder bundle pack`",
            Self::Unwritable { .. } => {
                "check that the directory exists, may be written to and has space left"
            }
            Self::InTheWay { .. } => "choose another name, or remove it first",
            Self::NoFormat { .. } => {
                "end it in .tar, .tar.gz or .tar.zst; a directory has no extension"
            }
            Self::NoCluster => {
                "name a source with -s: a bundle, a bug-report, a directory, a config dump; or a cluster with --kubeconfig"
            }
            Self::Kubeconfig { .. } => "check the file, or name another with --kubeconfig",
            Self::NoContext { .. } => {
                "name one with --context, or choose one with `kubectl config use-context`"
            }
            Self::Credentials { why, .. } if why.contains("expired") => {
                "log in again, so that the kubeconfig gets a new token, or name another context with --context"
            }
            Self::Credentials { .. } => {
                "check that `kubectl get namespaces` works with this context"
            }
            Self::Unreachable { why, .. } if why.contains("certificate") => {
                "check that certificate-authority in the kubeconfig is the server's, and tls-server-name its name"
            }
            Self::Unreachable { .. } => {
                "check the address, the network and a proxy in between; --request-timeout waits longer"
            }
            Self::Unauthorized { why, .. } if why.contains("cannot impersonate") => {
                "ask for the right to impersonate, or leave --as out"
            }
            Self::Interrupted => {
                "`meshladder snapshot FILE` keeps what was read when it is interrupted"
            }
            Self::Unauthorized { .. } => "log in again, or name another context with --context",
        }
    }
}

/// The message without Rust's `(os error 2)`, and in lower case like all of ours.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_lowercase().chain(letters).collect())
        .unwrap_or_default()
}

/// Problems that left nothing of use: how many, and the first three.
pub(crate) fn some_of(problems: &[Problem]) -> String {
    let first: Vec<String> = problems.iter().take(3).map(Problem::to_string).collect();
    let first = first.join("\n  ");
    match problems.len() {
        0 | 1 => first,
        count @ (2 | 3) => format!("{count} problems:\n  {first}"),
        count => format!("{count} problems, the first three:\n  {first}"),
    }
}

fn after_colon(why: Option<&String>) -> String {
    why.map(|why| format!(": {why}")).unwrap_or_default()
}

fn no_context(name: &str, origin: &str, known: &[String]) -> String {
    let what = if name.is_empty() {
        "no current context is set".to_owned()
    } else {
        format!("no context `{name}`")
    };
    let known = if known.is_empty() {
        "it has none".to_owned()
    } else {
        format!("it has {}", known.join(", "))
    };
    format!("{what} in {origin}; {known}")
}

fn beside(archive: Option<&String>) -> String {
    archive
        .map(|name| format!("; it holds the archive {name}, which must be given by its own name"))
        .unwrap_or_default()
}
