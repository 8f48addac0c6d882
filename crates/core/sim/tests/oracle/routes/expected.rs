//! What the evaluator says Envoy will answer.

use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_sim::path::{PreparedRequest, RequestPreparation};
use meshladder_sim::route::{
    RouteBranch, RouteDecision, RouteEffect, RouteOutcome, RouteTable, RouteTarget,
};
use meshladder_sim::runtime::Runtime;
use meshladder_sim::upgrade::Upgrades;
use meshladder_sim::{Answer as LocalReply, DecisionRecord, MatchCandidate, Request, RequestState};

use super::requests::Sent;
use super::tables::CLUSTERS;
use crate::harness::Answer;

/// An answer of Envoy, or one we expect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Observed {
    pub(super) status: u16,
    pub(super) vhost: String,
    pub(super) route: String,
    pub(super) cluster: String,
    pub(super) flags: String,
    pub(super) details: String,
    pub(super) location: String,
    pub(super) path: String,
    pub(super) authority: String,
    pub(super) grpc_status: String,
    /// The request header `x-added` as it is forwarded.
    pub(super) added: String,
}

/// What may be answered: one of these.
#[derive(Debug, Default)]
pub(super) struct Expected {
    pub(super) outcomes: Vec<Observed>,
    pub(super) considered: Vec<MatchCandidate>,
    /// Facts that are missing to tell.
    pub(super) undecided: Vec<String>,
}

/// One listener, as the evaluator reads it from Envoy's own dump.
pub(super) struct Model<'a> {
    before: RequestPreparation,
    upgrades: Upgrades,
    pub(super) table: RouteTable<'a>,
    port: u16,
}

impl Observed {
    pub(super) fn of(answer: &Answer) -> Self {
        let header = |name: &str| answer.header(name).to_owned();
        let mut observed = Self {
            status: answer.status,
            vhost: header("x-o-vhost"),
            route: header("x-o-route"),
            cluster: header("x-o-cluster"),
            flags: header("x-o-flags"),
            details: header("x-o-details"),
            location: header("location"),
            path: header("x-o-path"),
            authority: header("x-o-authority"),
            grpc_status: header("grpc-status"),
            added: header("x-o-added"),
        };
        // Answers from before routing have a virtual host or none, depending on how far Envoy got.
        if BEFORE_ROUTING.contains(&&*observed.details) {
            observed = observed.without_routing();
        }
        observed.without_path_of_redirect()
    }

    /// A redirect rewrites the path before it builds the location from it; the location is enough.
    fn without_path_of_redirect(self) -> Self {
        let path = if self.location.is_empty() {
            self.path
        } else {
            String::new()
        };
        Self { path, ..self }
    }

    fn without_routing(self) -> Self {
        let Self {
            status,
            flags,
            details,
            location,
            grpc_status,
            ..
        } = self;
        Self {
            status,
            flags,
            details,
            location,
            grpc_status,
            ..Self::default()
        }
    }
}

const BEFORE_ROUTING: &[&str] = &[
    "path_normalization_failed",
    "low_version",
    "http.invalid_authority",
    "absolute_path_rejected",
    "missing_host_header",
];

impl<'a> Model<'a> {
    pub(super) fn compile(dump: &'a str, listener: &str, port: u16) -> Self {
        let dump = Dump::index(dump, &[Section::Listeners]).expect("a config dump");
        let bootstrap = dump
            .section(Section::Bootstrap)
            .and_then(|section| section.get("bootstrap"));
        let runtime = bootstrap.map(Runtime::compile).unwrap_or_default();
        let raw = dump
            .resources
            .iter()
            .find(|resource| resource.name == listener)
            .and_then(|resource| resource.raw);
        let chain = raw
            .and_then(|listener| listener.list("filter_chains").next())
            .expect("a filter chain");
        let filter = chain.list("filters").next().expect("a filter");
        let manager = filter.get("typed_config").expect("a configuration");
        Self {
            before: RequestPreparation::compile(manager, &runtime),
            upgrades: Upgrades::compile(manager),
            table: RouteTable::compile(
                manager.get("route_config").expect("an inline route table"),
                &runtime,
            ),
            port,
        }
    }

    pub(super) fn expect(&self, sent: &Sent) -> Expected {
        let request = sent.request(self.port);
        let request = match self.before.enter(&request) {
            PreparedRequest::Request(request) => request.into_owned(),
            PreparedRequest::Answered { answer, location } => {
                let outcome = local(&answer, location).without_routing();
                return Expected {
                    outcomes: vec![outcome],
                    ..Expected::default()
                };
            }
        };
        let mut record = DecisionRecord::keeping();
        let routed = self.table.route(&RequestState::new(&request), &mut record);
        let mut expected = Expected {
            considered: record.considered,
            ..Expected::default()
        };
        self.outcomes(&routed, &request, &mut expected);
        expected
    }

    /// The request as the routes saw it.
    pub(super) fn entered(&self, sent: &Sent) -> Option<Request> {
        match self.before.enter(&sent.request(self.port)) {
            PreparedRequest::Request(request) => Some(request.into_owned()),
            PreparedRequest::Answered { .. } => None,
        }
    }

    fn outcomes(&self, routed: &RouteOutcome<'_, '_>, request: &Request, expected: &mut Expected) {
        let vhost = match routed {
            RouteOutcome::Branches(branches) => {
                for (_, routed) in branches {
                    self.outcomes(routed, request, expected);
                }
                return;
            }
            RouteOutcome::Undecided { fact, .. } => {
                expected.undecided.push(fact.to_string());
                return;
            }
            RouteOutcome::NoRoute { virtual_host } => *virtual_host,
            RouteOutcome::RequireTls { virtual_host, .. } => Some(*virtual_host),
            RouteOutcome::Route(decision) => Some(decision.virtual_host),
        };
        let vhost = vhost.map_or("", |host| &host.name).to_owned();
        let route = if let RouteOutcome::Route(decision) = routed {
            decision.route.name.to_string()
        } else {
            String::new()
        };
        let (path, authority) = (request.path.clone(), request.authority.clone());
        let added = first_added(request);
        let around = Observed {
            vhost,
            route,
            path,
            authority,
            added,
            ..Observed::default()
        };
        let own = |answer: LocalReply, location| {
            let Observed {
                status,
                flags,
                details,
                location,
                grpc_status,
                ..
            } = local(&answer, location);
            Observed {
                status,
                flags,
                details,
                location,
                grpc_status,
                ..around.clone()
            }
        };
        if let Some(refused) = self.upgrades.refusal(request, routed) {
            let clusters = if let RouteOutcome::Route(decision) = routed {
                forwarded(decision, request)
            } else {
                Vec::new()
            };
            let refused = own(refused, None);
            let with = |sent: &Forwarded| Observed {
                cluster: sent.cluster.clone(),
                ..refused.clone()
            };
            expected.outcomes.extend(clusters.iter().map(with));
            if clusters.is_empty() {
                expected.outcomes.push(refused);
            }
        } else if let Some((answer, location)) = routed.answer(request) {
            expected
                .outcomes
                .push(own(answer, location).without_path_of_redirect());
        } else if let RouteOutcome::Route(decision) = routed {
            expected
                .outcomes
                .extend(forwarded(decision, request).into_iter().map(|sent| {
                    let Forwarded {
                        answer,
                        cluster,
                        path,
                        authority,
                        added,
                    } = sent;
                    Observed {
                        cluster,
                        path,
                        authority,
                        added,
                        ..own(answer, None)
                    }
                }));
        }
    }
}

/// What reaches a cluster, and what becomes of it there.
struct Forwarded {
    answer: LocalReply,
    cluster: String,
    path: String,
    authority: String,
    added: String,
}

/// One for each cluster that it may be.
fn forwarded(decision: &RouteDecision<'_, '_>, request: &Request) -> Vec<Forwarded> {
    let RouteTarget::Clusters(branches) = &decision.target else {
        return Vec::new();
    };
    branches
        .iter()
        .map(|branch| to_branch(decision, branch, request))
        .collect()
}

fn to_branch<'a>(
    decision: &RouteDecision<'_, 'a>,
    branch: &RouteBranch<'_, 'a>,
    request: &Request,
) -> Forwarded {
    if !CLUSTERS.contains(&&*branch.cluster) {
        let code = match &decision.route.action {
            RouteEffect::Route(action) => action.cluster_not_found_response_code,
            _ => 503,
        };
        return Forwarded {
            answer: LocalReply::new(request, code, &["NC"], "cluster_not_found"),
            cluster: String::new(),
            path: request.path.clone(),
            authority: request.authority.clone(),
            added: first_added(request),
        };
    }
    // Headers are changed first, and the rewrites see them changed.
    let mut state = RequestState::new(request);
    assert_eq!(
        decision.change_headers(branch, &mut state),
        [],
        "the oracle asks for nothing that is not modelled"
    );
    let rewritten = decision.rewritten(branch, &state.request);
    let known = |text: Result<String, Box<str>>| {
        text.expect("the oracle asks for nothing that is not modelled")
    };
    Forwarded {
        answer: LocalReply::new(request, 503, &["UH"], "no_healthy_upstream"),
        cluster: branch.cluster.to_string(),
        path: known(rewritten.path),
        authority: known(rewritten.authority),
        added: first_added(&state.request),
    }
}

/// All that `%REQ(X-ADDED)%` shows.
fn first_added(request: &Request) -> String {
    request
        .values("x-added")
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn local(answer: &LocalReply, location: Option<String>) -> Observed {
    let flags = if answer.flags.is_empty() {
        "-".to_owned()
    } else {
        answer.flags.join(",")
    };
    Observed {
        status: answer.code,
        flags,
        details: answer.details.clone(),
        location: location.unwrap_or_default(),
        grpc_status: answer
            .grpc_status
            .map(|status| status.to_string())
            .unwrap_or_default(),
        ..Observed::default()
    }
}
