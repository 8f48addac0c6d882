//! See the page beside this file.

use crate::finding::{Fix, Rung, Severity, Subject};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML1021",
    name: "request-malformed",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "the request is one that proxies can read",
    needs: Inputs::NONE.and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &[],
    docs: include_str!("request_malformed.md"),
    check: Check::Request(check),
};

/// How Envoy's codecs and the checks of a request's form call what they refuse, and what it means.
const FORMS: [(&str, &str); 12] = [
    (
        "headers_too_large",
        "its headers are larger than proxies take (60 KiB)",
    ),
    (
        "header_list_size_too_large",
        "its headers are larger than proxies take (60 KiB)",
    ),
    (
        "too_many_headers",
        "it has more headers than proxies take (100)",
    ),
    ("unexpected_underscore", "a header's name has an underscore"),
    (
        "content_length_and_chunked_not_allowed",
        "it has both a content-length and chunks",
    ),
    (
        "invalid_transfer_encoding",
        "its transfer-encoding is none that there is",
    ),
    (
        "invalid_characters",
        "it has characters that HTTP does not allow",
    ),
    ("invalid_url", "its URL is none"),
    ("missing_host_header", "it has no Host"),
    ("absolute_path_rejected", "its path is a whole URL"),
    (
        "path_normalization_failed",
        "its path cannot be brought into its usual form",
    ),
    (
        "https_url_on_plaintext_connection",
        "its URL says https on a connection in plain text",
    ),
];

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let told = accounts::of(facts, case).into_iter().find_map(|told| {
        let (_, what) = FORMS
            .iter()
            .find(|(details, _)| told.details.contains(details))?;
        Some((told, *what))
    });
    let Some((told, what)) = told.filter(|(told, _)| told.line.is_some() && told.code >= 400)
    else {
        return;
    };
    let at = told
        .pod
        .map_or_else(|| case.host.clone(), |pod| pod.workload().to_string());
    let message = format!(
        "the proxy of {at} refuses {} with {}: {what}",
        accounts::call(case),
        told.code
    );
    let details = told.details.to_owned();
    let finding = out.find(Subject::Request, message, told.proof);
    finding
        .hits
        .extend(told.pod.map(meshladder_mesh::PodFacts::reference));
    finding.fix(Fix::advice(format!(
        "change the request; `meshladder explain {details}` says more"
    )));
}
