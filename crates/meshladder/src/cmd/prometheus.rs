//! What commands that ask Prometheus share.

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, Need};
use meshladder_collect::live::{Purpose, Session, Wish};
use meshladder_collect::prometheus::{AskError, Client, Credentials};
use meshladder_judge::prometheus::answer::PrometheusAnswer;
use meshladder_judge::prometheus::place::{self, PrometheusService, ServiceAddress};
use meshladder_mesh::Mesh;

use super::live;
use crate::args::prometheus::PrometheusFlags;
use crate::args::{Global, TextOrJson};
use crate::exit::{Failure, INTERRUPTED, NOT_ALLOWED, Outcome, UNREADABLE, USAGE};
use crate::out;

/// Where to look when nobody says where it is.
const AUTO: &str = "auto";

/// The server that the flags name: at a URL, or in the cluster. A session that is open already is
/// taken for it.
pub(super) fn client(
    global: &Global,
    server: &PrometheusFlags,
    session: Option<Session>,
) -> Result<Client, Failure> {
    let hint = "name it with --prometheus URL, such as http://127.0.0.1:9090, or --prometheus auto to look in the cluster";
    let text = server
        .prometheus
        .as_deref()
        .ok_or_else(|| Failure::new(USAGE, "which Prometheus?").hint(hint))?;
    let access = Credentials {
        headers: server.headers.clone(),
        token: server.bearer_token_file.clone(),
        tenant: server.tenant.clone(),
        cacert: server.cacert.clone(),
        cert: server.cert.clone(),
        key: server.key.clone(),
        timeout: Some(server.timeout),
    };
    let named = ServiceAddress::parse(text);
    if named.is_none() && text != AUTO {
        return Ok(Client::at(text, &access)?);
    }
    let mut session = session.map_or_else(|| live::connect_for(global, server.timeout), Ok)?;
    let place = match named.as_ref().and_then(ServiceAddress::place) {
        Some(place) => place,
        None => look(global, &mut session, named.as_ref())?,
    };
    Ok(Client::through(session, &place, &access)?)
}

/// Runs a command for every context that is named, one after the other, where each cluster has its
/// own Prometheus to ask. One that fails takes nothing from the others; the greatest exit code
/// counts.
pub(super) fn in_each_context(
    global: &Global,
    server: &PrometheusFlags,
    output: TextOrJson,
    run: impl Fn(&Global) -> Outcome,
) -> Outcome {
    let is_inside = |text: &str| text == AUTO || ServiceAddress::parse(text).is_some();
    let contexts = &global.cluster.context;
    if contexts.len() < 2 || !server.prometheus.as_deref().is_some_and(is_inside) {
        return run(global);
    }
    let mut worst = 0;
    for (number, context) in contexts.iter().enumerate() {
        let mut one = global.clone();
        one.cluster.context = vec![context.clone()];
        if output == TextOrJson::Text {
            let gap = if number == 0 { "" } else { "\n" };
            out::text(&format!("{gap}context {context}\n\n"))?;
        }
        let code = match run(&one) {
            Err(failure) if [USAGE, INTERRUPTED].contains(&failure.code()) => return Err(failure),
            Err(failure) => failure.tell(&format!("context {context}: ")),
            Ok(code) => code,
        };
        worst = worst.max(code);
    }
    Ok(worst)
}

/// The context, where one is named.
pub(super) fn context(global: &Global) -> Option<&str> {
    global.cluster.context.first().map(String::as_str)
}

/// Looks among the Services: in the namespace that is named, or in all that may be listed.
fn look(
    global: &Global,
    session: &mut Session,
    named: Option<&ServiceAddress>,
) -> Result<PrometheusService, Failure> {
    let wish = Wish {
        only: named.map(|named| named.namespace.clone()),
        ..live::wish(global, Purpose::Flags, None)
    };
    let snapshot = session.objects(&wish)?;
    let coverage = snapshot.coverage(&Need::Objects(Kind::Service));
    if let Coverage::Denied(why) = &coverage {
        let hint = "with its port nothing is looked up: --prometheus service/NAMESPACE/NAME:PORT";
        return Err(
            Failure::new(NOT_ALLOWED, format!("cannot look for Prometheus: {why}")).hint(hint),
        );
    }
    let mesh = Mesh::build(&snapshot);
    if let Some(named) = named {
        return place::of_service(&mesh, named).map_err(|why| Failure::new(UNREADABLE, why));
    }
    let mut found = place::find(&mesh).into_iter();
    let Some(first) = found.next() else {
        let missing = coverage
            .why()
            .map(|why| format!(" ({why})"))
            .unwrap_or_default();
        let hint = "name it: --prometheus service/NAMESPACE/NAME:PORT, or a URL";
        return Err(Failure::new(
            UNREADABLE,
            format!("no Service looks like Prometheus{missing}"),
        )
        .hint(hint));
    };
    let others: Vec<String> = found.map(|place| place.to_string()).collect();
    let beside = if others.is_empty() {
        String::new()
    } else {
        format!("; there are also {}", others.join(", "))
    };
    out::note(&format!("asking {first}{beside}"));
    Ok(first)
}

/// Asks; what the server warns of is told, each warning once.
pub(super) fn ask(
    client: &Client,
    query: &str,
    warned: &mut Vec<String>,
) -> Result<PrometheusAnswer, Failure> {
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
            AskError::Url { .. }
            | AskError::File { .. }
            | AskError::Header { .. }
            | AskError::Query { .. } => USAGE,
            AskError::Denied { .. } | AskError::Refused { .. } => NOT_ALLOWED,
            _ => UNREADABLE,
        };
        Self::new(code, error.to_string()).hint(error.hint())
    }
}
