//! Why a question to Prometheus has no answer.

/// What is wrong, and where. [`AskError::hint`] says what to try.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The URL is none that can be asked.
    #[error("{url} cannot be asked: {why}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file for access cannot be used.
    #[error("cannot use {path}: {why}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A header is none.
    #[error("`{header}` is no header")]
    Header {
        /// Its name; the value may be a secret.
        header: String,
    },
    /// The query is not PromQL.
    #[error("not PromQL: {why}\n  {query}")]
    Query {
        /// The query.
        query: String,
        /// What the parser says.
        why: String,
    },
    /// The server did not answer in time.
    #[error("{url} did not answer within {seconds} s")]
    TimedOut {
        /// The server.
        url: String,
        /// How long it was given.
        seconds: u64,
    },
    /// There is no way to the server.
    #[error("cannot reach {url}: {why}")]
    Unreachable {
        /// The server.
        url: String,
        /// What happened.
        why: String,
    },
    /// The server wants to know who asks, or does not let them.
    #[error("{url} answers {status}{why}")]
    Denied {
        /// The server.
        url: String,
        /// 401 or 403.
        status: u16,
        /// Its words.
        why: String,
    },
    /// The API server does not let us through.
    #[error("no right to get services/proxy in namespace {namespace}")]
    Refused {
        /// The namespace of the Service.
        namespace: String,
    },
    /// The server answers with an error.
    #[error("{url} answers {status}{why}")]
    Status {
        /// The server.
        url: String,
        /// The status.
        status: u16,
        /// Its words.
        why: String,
    },
    /// What came is no answer to a query.
    #[error("{url} answers: {why}")]
    Answer {
        /// The server.
        url: String,
        /// What is wrong with it, or what the server says.
        why: String,
    },
}

impl AskError {
    /// What to try, as a line of its own.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Url { .. } => {
                "give the base URL, such as http://127.0.0.1:9090 (Mimir's ends in /prometheus), or service/NAMESPACE/NAME"
            }
            Self::File { .. } => "certificates and keys are PEM; a token is one line",
            Self::Header { .. } => "write it as `name: value`",
            Self::Query { .. } => {
                "see https://prometheus.io/docs/prometheus/latest/querying/basics/"
            }
            Self::TimedOut { .. } => {
                "raise --timeout, or ask for less: -n NAMESPACE, --service NAME"
            }
            Self::Unreachable { .. } => {
                "is it running? one inside the cluster: --prometheus service/NAMESPACE/NAME:PORT, or `auto` to look for it"
            }
            Self::Refused { .. } => {
                "`meshladder rbac --for flags` prints the rights it needs; --prometheus URL does without them"
            }
            Self::Denied { .. } => {
                "give --bearer-token-file, --header, --tenant (Mimir, Cortex), or --cert and --key"
            }
            Self::Status {
                status: 300..=399, ..
            } => "redirects are not followed: give the URL that it names",
            Self::Status { .. } | Self::Answer { .. } => {
                "is this the base URL of Prometheus' API? Mimir and Cortex want --tenant"
            }
        }
    }
}
