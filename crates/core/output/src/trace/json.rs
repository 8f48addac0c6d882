//! A trace as JSON v1: an outward shape of its own, which may grow and keeps its names.

use std::collections::BTreeMap;

use crate::json::{self, Style};
use meshladder_capture::snapshot::{DocId, Document, Snapshot};
use meshladder_sim::MatchCandidate;
use meshladder_sim::trace::{At, Branch, End, Hop, Log, Step, Trace};
use meshladder_text::json::{Raw, escape, pointer_to};
use meshladder_text::place::Place;

/// The trace as pretty JSON. `request` is what was asked, as a JSON object; evidence is looked up
/// in `snapshot`.
pub fn to_json(trace: &Trace, request: &str, snapshot: &Snapshot) -> String {
    let text = to_compact_json(trace, request, snapshot);
    let mut pretty = String::new();
    // An object was just written, and a String takes everything.
    if let Ok(raw) = Raw::of(&text) {
        let _ = json::write(
            &mut pretty,
            raw,
            Style {
                indent: 2,
                ..Style::PRETTY
            },
        );
    }
    pretty
}

/// The same on one line.
pub fn to_compact_json(trace: &Trace, request: &str, snapshot: &Snapshot) -> String {
    // A large document is read anew each time it is opened, and most steps are about the same two.
    let mut open: BTreeMap<DocId, Option<Document>> = BTreeMap::new();
    compact(trace, request, &mut |at| {
        let document = open
            .entry(at.doc.clone())
            .or_insert_with(|| snapshot.open(&at.doc).ok());
        evidence(at, document.as_ref())
    })
}

fn compact(trace: &Trace, request: &str, evidence: &mut dyn FnMut(&At) -> String) -> String {
    let hops: Vec<_> = trace
        .hops
        .iter()
        .map(|hop| hop_json(hop, evidence))
        .collect();
    let branches: Vec<_> = trace.branches.iter().map(branch_json).collect();
    format!(
        "{{\"apiVersion\":\"meshladder.dev/v1\",\"kind\":\"Trace\",\"request\":{request},\"hops\":[{}],\"outcome\":{{{},\"branches\":[{}]}}}}",
        hops.join(","),
        end_fields(&trace.outcome),
        branches.join(",")
    )
}

fn end_fields(end: &End) -> String {
    format!(
        "\"kind\":\"{}\",\"code\":{},\"flags\":{},\"details\":{},\"by\":{},\"because\":{}",
        end.kind.word(),
        end.code,
        list(&end.flags),
        escape(&end.details),
        optional(end.by.as_deref()),
        escape(&end.because)
    )
}

fn branch_json(branch: &Branch) -> String {
    let weight = branch.weight.map_or("null".to_owned(), |w| {
        format!("{}", (w * 1e6).round() / 1e6)
    });
    let (cluster, endpoint) = (
        optional(branch.cluster.as_deref()),
        optional(branch.endpoint.as_deref()),
    );
    format!(
        "{{\"weight\":{weight},\"cluster\":{cluster},\"endpoint\":{endpoint},{}}}",
        end_fields(&branch.end)
    )
}

fn hop_json(hop: &Hop, evidence: &mut dyn FnMut(&At) -> String) -> String {
    let clusters: Vec<_> = hop
        .clusters
        .iter()
        .map(|(name, weight)| {
            let weight = weight.map_or("null".to_owned(), |w| w.to_string());
            format!("{{\"name\":{},\"weight\":{weight}}}", escape(name))
        })
        .collect();
    let endpoints: Vec<_> = hop
        .endpoints
        .iter()
        .map(|e| {
            let (address, health, cluster) =
                (escape(&e.address), escape(&e.health), escape(&e.cluster));
            format!("{{\"address\":{address},\"health\":{health},\"cluster\":{cluster}}}")
        })
        .collect();
    let steps: Vec<_> = hop
        .steps
        .iter()
        .map(|step| step_json(step, evidence))
        .collect();
    format!(
        "{{\"proxy\":{},\"direction\":\"{}\",\"listener\":{},\"filterChain\":{},\"routeConfig\":{},\"virtualHost\":{},\"route\":{},\"clusters\":[{}],\"endpoints\":[{}],\"tls\":\"{}\",\"log\":{},\"steps\":[{}]}}",
        escape(&hop.proxy),
        hop.direction,
        optional(hop.listener.as_deref()),
        optional(hop.filter_chain.as_deref()),
        optional(hop.route_config.as_deref()),
        optional(hop.virtual_host.as_deref()),
        optional(hop.route.as_deref()),
        clusters.join(","),
        endpoints.join(","),
        hop.tls,
        log_json(&hop.log),
        steps.join(",")
    )
}

fn log_json(log: &Log) -> String {
    format!(
        "{{\"code\":{},\"flags\":{},\"details\":{},\"cluster\":{},\"route\":{}}}",
        log.code,
        list(&log.flags),
        escape(&log.details),
        optional(log.cluster.as_deref()),
        optional(log.route.as_deref())
    )
}

fn step_json(step: &Step, evidence: &mut dyn FnMut(&At) -> String) -> String {
    let considered: Vec<_> = step.considered.iter().map(considered_json).collect();
    let found: Vec<_> = step.evidence.iter().map(evidence).collect();
    format!(
        "{{\"stage\":\"{}\",\"chosen\":{},\"object\":{},\"considered\":[{}],\"evidence\":[{}]}}",
        step.stage,
        escape(&step.chosen),
        optional(step.object.as_deref()),
        considered.join(","),
        found.join(",")
    )
}

fn considered_json(candidate: &MatchCandidate) -> String {
    let (what, why) = (escape(&candidate.what), escape(&candidate.why));
    format!(
        "{{\"what\":{what},\"matched\":\"{}\",\"why\":{why}}}",
        candidate.matched.word()
    )
}

/// Pointer and line of a place; only the document's id when it can no longer be read.
fn evidence(at: &At, document: Option<&Document>) -> String {
    let doc = escape(at.doc.as_str());
    let Some(document) = document else {
        return format!("{{\"doc\":{doc}}}");
    };
    let pointer = pointer_to(&document.text, at.offset).unwrap_or_default();
    let line = Place::of(&document.text, at.offset).line;
    format!(
        "{{\"doc\":{doc},\"pointer\":{},\"line\":{line}}}",
        escape(&pointer)
    )
}

fn list(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| escape(word)).collect();
    format!("[{}]", words.join(","))
}

fn optional(text: Option<&str>) -> String {
    text.map_or("null".to_owned(), escape)
}
