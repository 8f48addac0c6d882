//! A trace as JSON v1: an outward shape of its own, which may grow and keeps its names.

use std::collections::BTreeMap;

use crate::json::{API_VERSION, to_line, to_pretty};
use crate::question::RequestJson;
use meshladder_capture::snapshot::{DocId, Document, Snapshot};
use meshladder_sim::MatchCandidate;
use meshladder_sim::trace::{At, Branch, End, Hop, Log, Step, Trace};
use meshladder_sim::walk::Call;
use meshladder_text::json::pointer_to;
use meshladder_text::place::Place;
use serde::Serialize;

/// The trace of a call as pretty JSON; evidence is looked up in `snapshot`.
pub fn to_json(trace: &Trace, call: &Call, snapshot: &Snapshot) -> String {
    to_pretty(&TraceJson::new(trace, call, snapshot), 2)
}

/// The trace of a call as JSON on one line.
pub fn to_compact_json(trace: &Trace, call: &Call, snapshot: &Snapshot) -> String {
    to_line(&TraceJson::new(trace, call, snapshot))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceJson<'a> {
    api_version: &'static str,
    kind: &'static str,
    request: RequestJson<'a>,
    hops: Vec<HopJson<'a>>,
    outcome: OutcomeJson<'a>,
}

#[derive(Serialize)]
struct OutcomeJson<'a> {
    #[serde(flatten)]
    end: EndJson<'a>,
    branches: Vec<BranchJson<'a>>,
}

impl<'a> TraceJson<'a> {
    fn new(trace: &'a Trace, call: &'a Call, snapshot: &Snapshot) -> Self {
        let mut documents = OpenDocuments {
            snapshot,
            open: BTreeMap::new(),
        };
        let mut hops = Vec::new();
        for hop in &trace.hops {
            hops.push(HopJson::new(hop, &mut documents));
        }
        Self {
            api_version: API_VERSION,
            kind: "Trace",
            request: RequestJson::from(call),
            hops,
            outcome: OutcomeJson {
                end: EndJson::from(&trace.outcome),
                branches: trace.branches.iter().map(BranchJson::from).collect(),
            },
        }
    }
}

#[derive(Serialize)]
struct EndJson<'a> {
    #[serde(rename = "inCluster", skip_serializing_if = "Option::is_none")]
    in_cluster: Option<&'a str>,
    kind: &'static str,
    code: u16,
    flags: &'a [&'static str],
    details: &'a str,
    by: Option<&'a str>,
    because: &'a str,
}

impl<'a> From<&'a End> for EndJson<'a> {
    fn from(end: &'a End) -> Self {
        Self {
            in_cluster: end.in_cluster.as_deref(),
            kind: end.kind.word(),
            code: end.code,
            flags: &end.flags,
            details: &end.details,
            by: end.by.as_deref(),
            because: &end.because,
        }
    }
}

#[derive(Serialize)]
struct BranchJson<'a> {
    weight: Option<f64>,
    cluster: Option<&'a str>,
    endpoint: Option<String>,
    #[serde(flatten)]
    end: EndJson<'a>,
}

impl<'a> From<&'a Branch> for BranchJson<'a> {
    fn from(branch: &'a Branch) -> Self {
        Self {
            weight: branch.weight.map(super::millionths),
            cluster: branch.cluster.as_deref(),
            endpoint: branch.endpoint.map(|(ip, port)| format!("{ip}:{port}")),
            end: EndJson::from(&branch.end),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HopJson<'a> {
    #[serde(rename = "cluster", skip_serializing_if = "Option::is_none")]
    in_cluster: Option<&'a str>,
    proxy: String,
    /// `ztunnel`, which knows connections and no requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy_type: Option<&'static str>,
    direction: &'static str,
    listener: Option<&'a str>,
    filter_chain: Option<&'a str>,
    route_config: Option<&'a str>,
    virtual_host: Option<&'a str>,
    route: Option<&'a str>,
    clusters: Vec<WeightedClusterJson<'a>>,
    endpoints: Vec<EndpointJson<'a>>,
    tls: &'static str,
    log: LogJson<'a>,
    steps: Vec<StepJson<'a>>,
}

#[derive(Serialize)]
struct WeightedClusterJson<'a> {
    name: &'a str,
    weight: Option<u64>,
}

#[derive(Serialize)]
struct EndpointJson<'a> {
    address: &'a str,
    health: &'a str,
    cluster: &'a str,
}

impl<'a> HopJson<'a> {
    fn new(hop: &'a Hop, documents: &mut OpenDocuments<'_>) -> Self {
        let mut clusters = Vec::new();
        for (name, weight) in &hop.clusters {
            clusters.push(WeightedClusterJson {
                name,
                weight: *weight,
            });
        }
        let mut endpoints = Vec::new();
        for endpoint in &hop.endpoints {
            endpoints.push(EndpointJson {
                address: &endpoint.address,
                health: endpoint.health.word(),
                cluster: &endpoint.cluster,
            });
        }
        let mut steps = Vec::new();
        for step in &hop.steps {
            steps.push(StepJson::new(step, documents));
        }
        Self {
            in_cluster: hop.in_cluster.as_deref(),
            proxy: hop.proxy.namespaced_name(),
            proxy_type: hop.is_ztunnel.then_some("ztunnel"),
            direction: hop.direction.word(),
            listener: hop.listener.as_deref(),
            filter_chain: hop.filter_chain.as_deref(),
            route_config: hop.route_config.as_deref(),
            virtual_host: hop.virtual_host.as_deref(),
            route: hop.route.as_deref(),
            clusters,
            endpoints,
            tls: hop.tls.word(),
            log: LogJson::from(&hop.log),
            steps,
        }
    }
}

#[derive(Serialize)]
struct LogJson<'a> {
    code: u16,
    flags: &'a [&'static str],
    details: &'a str,
    cluster: Option<&'a str>,
    route: Option<&'a str>,
}

impl<'a> From<&'a Log> for LogJson<'a> {
    fn from(log: &'a Log) -> Self {
        Self {
            code: log.code,
            flags: &log.flags,
            details: &log.details,
            cluster: log.cluster.as_deref(),
            route: log.route.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct StepJson<'a> {
    stage: &'static str,
    chosen: &'a str,
    object: Option<&'a str>,
    considered: Vec<CandidateJson<'a>>,
    evidence: Vec<PlaceJson<'a>>,
}

impl<'a> StepJson<'a> {
    fn new(step: &'a Step, documents: &mut OpenDocuments<'_>) -> Self {
        let mut evidence = Vec::new();
        for at in &step.evidence {
            evidence.push(documents.place(at));
        }
        Self {
            stage: step.stage.word(),
            chosen: &step.chosen,
            object: step.object.as_deref(),
            considered: step.considered.iter().map(CandidateJson::from).collect(),
            evidence,
        }
    }
}

#[derive(Serialize)]
struct CandidateJson<'a> {
    what: String,
    matched: &'static str,
    why: &'a str,
}

impl<'a> From<&'a MatchCandidate> for CandidateJson<'a> {
    fn from(candidate: &'a MatchCandidate) -> Self {
        Self {
            what: candidate.what.to_string(),
            matched: candidate.matched.word(),
            why: &candidate.why,
        }
    }
}

/// Pointer and line of a place; only the document's id when it can no longer be read.
#[derive(Serialize)]
struct PlaceJson<'a> {
    doc: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

/// The documents that steps name. A large one is read anew each time it is opened, and most steps
/// are about the same two.
struct OpenDocuments<'s> {
    snapshot: &'s Snapshot,
    open: BTreeMap<DocId, Option<Document>>,
}

impl OpenDocuments<'_> {
    fn place<'a>(&mut self, at: &'a At) -> PlaceJson<'a> {
        let document = self
            .open
            .entry(at.doc.clone())
            .or_insert_with(|| self.snapshot.open(&at.doc).ok())
            .as_ref();
        PlaceJson {
            doc: at.doc.as_str(),
            pointer: document
                .map(|document| pointer_to(&document.text, at.offset).unwrap_or_default()),
            line: document.map(|document| Place::of(&document.text, at.offset).line),
        }
    }
}
