//! What commands that ask Prometheus share.

use meshladder_collect::prometheus::{Access, AskError, Client};
use meshladder_core::prometheus::answer::Answer;

use crate::args::prometheus::Server;
use crate::exit::{Failure, NOT_ALLOWED, UNREADABLE, USAGE};
use crate::out;

/// The server that the flags name; none is named without `--prometheus`.
pub(super) fn client(server: &Server) -> Result<Client, Failure> {
    let hint = "name it with --prometheus URL, such as http://127.0.0.1:9090";
    let url = server.prometheus.as_deref().ok_or_else(|| Failure::new(USAGE, "which Prometheus?").hint(hint))?;
    let access = Access {
        headers: server.headers.clone(),
        token: server.bearer_token_file.clone(),
        tenant: server.tenant.clone(),
        cacert: server.cacert.clone(),
        cert: server.cert.clone(),
        key: server.key.clone(),
        timeout: Some(server.timeout),
    };
    Ok(Client::at(url, &access)?)
}

/// Asks; what the server warns of is told, each warning once.
pub(super) fn ask(client: &Client, query: &str, warned: &mut Vec<String>) -> Result<Answer, Failure> {
    let answer = client.query(query)?;
    for warning in &answer.warnings {
        if !warned.contains(warning) {
            out::warn(&format!("Prometheus says: {warning}"));
            warned.push(warning.clone());
        }
    }
    Ok(answer)
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        let code = match error {
            AskError::Url { .. } | AskError::File { .. } | AskError::Header { .. } | AskError::Query { .. } => USAGE,
            AskError::Denied { .. } => NOT_ALLOWED,
            _ => UNREADABLE,
        };
        Self::new(code, error.to_string()).hint(error.hint())
    }
}
