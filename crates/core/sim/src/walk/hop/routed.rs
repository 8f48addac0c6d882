//! From a route to where it leads.

use std::net::IpAddr;
use std::rc::Rc;

use super::{Crossing, Way, answered, object, share};
use crate::DecisionRecord;
use crate::request::Request;
use crate::route::{RouteDecision, RouteEffect, RouteOutcome, RouteTarget};
use crate::state::RequestState;
use crate::trace::{End, StepOutcome, TraceStage};
use crate::walk::hop::cluster::Outgoing;

/// One way that a route may lead: chance and weights are dealt out.
pub(super) struct Leaf<'r, 't, 'a> {
    pub(super) share: f64,
    pub(super) routed: &'r RouteOutcome<'t, 'a>,
    /// Which of its clusters.
    pub(super) branch: Option<usize>,
}

impl<'r, 't, 'a> Leaf<'r, 't, 'a> {
    pub(super) fn decision(&self) -> Option<&'r RouteDecision<'t, 'a>> {
        if let RouteOutcome::Route(decision) = self.routed {
            Some(decision)
        } else {
            None
        }
    }

    /// The cluster it leads to.
    pub(super) fn cluster(&self) -> Option<&'r str> {
        match &self.decision()?.target {
            RouteTarget::Clusters(branches) => self.branch.map(|number| &*branches[number].cluster),
            RouteTarget::Redirect(..) | RouteTarget::DirectResponse(..) => None,
        }
    }

    fn weight(&self) -> Option<u64> {
        match (&self.decision()?.target, self.branch) {
            (RouteTarget::Clusters(branches), Some(number)) if branches.len() > 1 => {
                Some(branches[number].weight)
            }
            _ => None,
        }
    }
}

/// Every way that a route may lead.
pub(super) fn leaves<'r, 't, 'a>(routed: &'r RouteOutcome<'t, 'a>) -> Vec<Leaf<'r, 't, 'a>> {
    match routed {
        RouteOutcome::Branches(branches) => {
            let part = |(part, routed): &'r (crate::route::RequestShare, RouteOutcome<'t, 'a>)| {
                let part = share(part.of, part.total);
                leaves(routed).into_iter().map(move |leaf| Leaf {
                    share: leaf.share * part,
                    ..leaf
                })
            };
            branches.iter().flat_map(part).collect()
        }
        RouteOutcome::Route(decision) => match &decision.target {
            RouteTarget::Clusters(branches) if !branches.is_empty() => {
                let total = branches.iter().map(|branch| branch.weight).sum();
                let leaf = |(number, branch): (usize, &crate::route::RouteBranch<'_, '_>)| Leaf {
                    share: share(branch.weight, total),
                    routed,
                    branch: Some(number),
                };
                branches.iter().enumerate().map(leaf).collect()
            }
            _ => vec![Leaf {
                share: 1.0,
                routed,
                branch: None,
            }],
        },
        _ => vec![Leaf {
            share: 1.0,
            routed,
            branch: None,
        }],
    }
}

impl<'a> Crossing<'_, 'a> {
    /// A step for the route that was found.
    pub(super) fn routed(
        &mut self,
        routed: &RouteOutcome<'_, 'a>,
        request: &Request,
        record: DecisionRecord,
        at: usize,
    ) {
        match routed {
            RouteOutcome::Route(decision) => {
                let host = decision.virtual_host;
                self.note(|hop| hop.virtual_host = Some(host.name.to_string()));
                self.hop.route =
                    (!decision.route.name.is_empty()).then(|| decision.route.name.to_string());
                self.step(
                    TraceStage::Route,
                    StepOutcome::GoesOn,
                    || words(decision),
                    record,
                    Some(decision.route.raw.offset()),
                );
                self.object(|| {
                    object::of(decision.route.raw)
                        .or_else(|| object::of_host(without_port(&host.name)))
                });
            }
            RouteOutcome::RequireTls { virtual_host, .. } => {
                self.note(|hop| hop.virtual_host = Some(virtual_host.name.to_string()));
                let words = || "the client is sent to https".to_owned();
                self.step(
                    TraceStage::Route,
                    StepOutcome::Ended,
                    words,
                    record,
                    Some(virtual_host.raw.offset()),
                );
            }
            RouteOutcome::NoRoute { virtual_host } => {
                self.note(|hop| hop.virtual_host = virtual_host.map(|v| v.name.to_string()));
                let words = || format!("none for {}{}", request.authority, request.path);
                self.step(
                    TraceStage::Route,
                    StepOutcome::Ended,
                    words,
                    record,
                    Some(virtual_host.map_or(at, |host| host.raw.offset())),
                );
            }
            RouteOutcome::Undecided {
                virtual_host,
                fact,
                route,
            } => {
                self.note(|hop| hop.virtual_host = virtual_host.map(|v| v.name.to_string()));
                let at = route
                    .map(|route| route.raw.offset())
                    .or(virtual_host.map(|host| host.raw.offset()))
                    .unwrap_or(at);
                self.step(
                    TraceStage::Route,
                    StepOutcome::Undecided,
                    || format!("it depends on {fact}"),
                    record,
                    Some(at),
                );
            }
            RouteOutcome::Branches(branches) => {
                self.step(
                    TraceStage::Route,
                    StepOutcome::GoesOn,
                    || "chance decides".to_owned(),
                    record,
                    Some(at),
                );
                for (_, routed) in branches {
                    self.routed(routed, request, DecisionRecord::dropping(), at);
                }
            }
        }
    }

    /// The clusters that a request may go to, with weights where there are several.
    pub(super) fn note_clusters(&mut self, leaves: &[Leaf<'_, '_, 'a>]) {
        let named = leaves
            .iter()
            .filter_map(|leaf| Some((leaf.cluster()?.to_owned(), leaf.weight())));
        self.hop.clusters.extend(named);
    }

    /// Behind the filters: every way that a route leads.
    pub(super) fn route_all(
        &mut self,
        routed: &RouteOutcome<'_, 'a>,
        state: &RequestState<'_>,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let mut ways = Vec::new();
        for leaf in leaves(routed) {
            let more = self.route_on(&leaf, state, original);
            ways.extend(more.into_iter().map(|way| Way {
                weight: way.weight.map(|w| w * leaf.share),
                ..way
            }));
        }
        ways
    }

    /// Behind the filters: one way that a route leads.
    pub(super) fn route_on(
        &mut self,
        leaf: &Leaf<'_, '_, 'a>,
        state: &RequestState<'_>,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let request = &*state.request;
        if let Some((answer, location)) = leaf.routed.answer(request) {
            let because = match (leaf.routed, location) {
                (_, Some(location)) => format!("the client is sent to {location}"),
                (RouteOutcome::NoRoute { virtual_host: None }, _) => {
                    format!("no virtual host is for {}", request.authority)
                }
                (RouteOutcome::NoRoute { .. }, _) => {
                    format!("no route matches {} {}", request.method, request.path)
                }
                _ => "the route answers by itself".to_owned(),
            };
            return vec![Way::end(answered(&answer, because))];
        }
        match leaf.routed {
            RouteOutcome::Route(decision) => self.forwarded(decision, leaf.branch, state, original),
            RouteOutcome::Undecided { fact, .. } => vec![Way::end(End::undecided(fact))],
            RouteOutcome::Branches(_)
            | RouteOutcome::NoRoute { .. }
            | RouteOutcome::RequireTls { .. } => Vec::new(),
        }
    }

    /// To a cluster, with the headers, path and authority that the route gives it.
    fn forwarded(
        &mut self,
        decision: &RouteDecision<'_, 'a>,
        branch: Option<usize>,
        state: &RequestState<'_>,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let (RouteTarget::Clusters(branches), Some(number)) = (&decision.target, branch) else {
            return Vec::new();
        };
        let branch = &branches[number];
        let code = match &decision.route.action {
            RouteEffect::Route(action) => action.cluster_not_found_response_code,
            _ => 503,
        };
        let mut outgoing = Outgoing::http(&state.request, original, code);
        // Behind the server's proxy is only the application.
        if !self.inbound {
            outgoing.change(decision, branch, state);
        }
        let ways = self.cluster(&branch.cluster, &outgoing);
        let cluster: Rc<str> = branch.cluster.as_ref().into();
        ways.into_iter()
            .map(|way| Way {
                cluster: Some(Rc::clone(&cluster)),
                ..way
            })
            .collect()
    }
}

/// Virtual host and route, and what it says of timeouts and the like.
fn words(decision: &RouteDecision<'_, '_>) -> String {
    let route = decision.route;
    let name = if route.name.is_empty() {
        route.route_match.describe()
    } else {
        route.name.to_string()
    };
    let mut words = format!("{} › {name}", decision.virtual_host.name);
    if let RouteEffect::Route(action) = &route.action {
        let facts: Vec<_> = action
            .facts
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if !facts.is_empty() {
            words = format!("{words} ({})", facts.join(", "));
        }
        if !action.mirrors.is_empty() {
            words = format!("{words}, mirrored to {}", action.mirrors.join(", "));
        }
    }
    words
}

/// istiod names virtual hosts `catalog.shop.svc.cluster.local:8080`.
fn without_port(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(host, _)| host)
}
