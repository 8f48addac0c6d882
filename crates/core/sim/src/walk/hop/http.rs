//! Inside an HTTP connection manager: path, route, filters.

use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;

use super::routed::{Leaf, leaves};
use super::{Crossing, Way, answered, because_answered, by};
use crate::cluster::HostSelection;
use crate::filters::{FilterEnvironment, FilterVerdict, FilterWalk, Overrides, UpstreamState};
use crate::path::PreparedRequest;
use crate::rbac::policy_in;
use crate::request::Request;
use crate::route::{RouteOutcome, RouteTable};
use crate::state::{Peer, RequestState};
use crate::trace::{DryRun, End, StepOutcome, TraceStage};
use crate::walk::Detail;
use crate::walk::proxy::Manager;
use crate::{Answer, DecisionRecord};

impl<'a> Crossing<'_, 'a> {
    pub(super) fn http(
        &mut self,
        manager: &Manager<'a>,
        request: &Request,
        caller: Peer,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let entered = match manager.before.enter(request) {
            PreparedRequest::Request(request) => request,
            PreparedRequest::Answered { answer, location } => {
                let because = location.map_or("the connection manager answers".to_owned(), |l| {
                    format!("the client is sent to {l}")
                });
                self.step(
                    TraceStage::Path,
                    StepOutcome::Answered,
                    || because.clone(),
                    DecisionRecord::dropping(),
                    Some(manager.at),
                );
                return vec![Way::end(answered(&answer, because))];
            }
        };
        if (&entered.path, &entered.authority) != (&request.path, &request.authority) {
            let words = || format!("taken for {}{}", entered.authority, entered.path);
            self.step(
                TraceStage::Path,
                StepOutcome::GoesOn,
                words,
                DecisionRecord::dropping(),
                Some(manager.at),
            );
        }
        let Some(table) = &manager.table else {
            let because = "the proxy does not have the route configuration".to_owned();
            self.step(
                TraceStage::Route,
                StepOutcome::Ended,
                || format!("none: {because}"),
                DecisionRecord::dropping(),
                Some(manager.at),
            );
            return vec![Way::end(answered(
                &Answer::new(&entered, 404, &["NR"], "route_not_found"),
                because,
            ))];
        };
        self.note(|hop| hop.route_config = Some(table.name.to_string()));
        let mut record = self.record();
        let state = RequestState {
            caller,
            ..RequestState::new(&entered)
        };
        let routed = table.route(&state, &mut record);
        self.routed(&routed, &entered, record, table.raw.offset());
        self.says_http = manager.says_http;
        let leaves = leaves(&routed);
        self.note_clusters(&leaves);
        let mut ways = Vec::new();
        for leaf in &leaves {
            let more = self.filters(manager, table, leaf, state.clone(), original);
            ways.extend(more.into_iter().map(|way| Way {
                weight: way.weight.map(|w| w * leaf.share),
                ..way
            }));
        }
        ways
    }

    /// One way that the route may lead, through the filters and beyond.
    fn filters<'r>(
        &mut self,
        manager: &Manager<'a>,
        table: &RouteTable<'a>,
        leaf: &Leaf<'_, '_, 'a>,
        mut state: RequestState<'r>,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way>
    where
        'a: 'r,
    {
        if let Some(answer) = manager.upgrades.refusal(&state.request, leaf.routed) {
            self.step(
                TraceStage::Filter,
                StepOutcome::Answered,
                || "the upgrade is not allowed".to_owned(),
                DecisionRecord::dropping(),
                Some(manager.at),
            );
            return vec![Way::end(answered(
                &answer,
                "the upgrade is not allowed".to_owned(),
            ))];
        }
        let Some(now) = self.now else {
            return vec![Way::end(End::undecided("when the Snapshot was taken"))];
        };
        let decision = leaf.decision();
        state.route = decision.map(|decision| decision.route.raw);
        let overrides = decision
            .map(|decision| self.proxy.overrides(decision, leaf.branch))
            .unwrap_or_default();
        let proxy = self.proxy;
        let upstream = |name: &str| upstream(&proxy.clusters, name);
        let environment = FilterEnvironment {
            now,
            upstream: &upstream,
            cluster: leaf.cluster(),
        };
        let mut record = self.record();
        let walk = manager
            .filters
            .evaluate(&overrides, &mut state, &environment, &mut record);
        let denied_by = self.note_filters(&walk, record);
        if let Some(fact) = &walk.undecided {
            return vec![Way::end(End::undecided(fact))];
        }
        let again = match self.route_again(table, leaf, &overrides, &state) {
            Ok(again) => again,
            Err(fact) => return vec![Way::end(End::undecided(&fact))],
        };
        let mut ways = Vec::new();
        for branch in &walk.branches {
            if let Some(answer) = &branch.answer {
                let mut end = answered(answer, because_answered(answer));
                if let Some(policy) = &denied_by {
                    end = end.by(by(Some(policy)));
                }
                ways.push(Way {
                    weight: branch.weight,
                    flags: branch.flags.clone(),
                    ..Way::end(end)
                });
                continue;
            }
            let more = match &again {
                Some(routed) => self.route_all(routed, &state, original),
                None => self.route_on(leaf, &state, original),
            };
            ways.extend(more.into_iter().map(|way| Way {
                weight: way.weight.zip(branch.weight).map(|(a, b)| a * b),
                flags: branch.flags.clone(),
                ..way
            }));
        }
        ways
    }

    /// The route, looked up once more when a filter asked for it and it is now another.
    fn route_again<'t>(
        &mut self,
        table: &'t RouteTable<'a>,
        leaf: &Leaf<'_, '_, 'a>,
        overrides: &Rc<Overrides>,
        state: &RequestState<'_>,
    ) -> Result<Option<RouteOutcome<'t, 'a>>, Box<str>> {
        if !state.clears_route {
            return Ok(None);
        }
        let mut record = self.record();
        let routed = table.route(state, &mut record);
        let place =
            |leaf: &Leaf<'_, '_, 'a>| leaf.decision().map(|decision| decision.route.raw.offset());
        let now = leaves(&routed);
        if now.iter().all(|other| place(other) == place(leaf)) {
            return Ok(None);
        }
        // Filters behind the one that asked see the new route, and those before it the old one.
        let of = |leaf: &Leaf<'_, '_, 'a>| {
            leaf.decision()
                .map(|d| self.proxy.overrides(d, leaf.branch))
        };
        if !overrides.is_empty()
            || now
                .iter()
                .filter_map(of)
                .any(|overrides| !overrides.is_empty())
        {
            return Err(
                "which of two routes' filter settings count, since a filter has the route looked up again".into()
            );
        }
        self.hop.clusters.clear();
        self.routed(&routed, &state.request, record, table.raw.offset());
        self.note_clusters(&now);
        drop(now);
        Ok(Some(routed))
    }

    /// A step for each filter that did something; gives the policy that denies. Branches share most
    /// of them.
    fn note_filters(&mut self, walk: &FilterWalk<'_>, record: DecisionRecord) -> Option<String> {
        let denied_by = walk.steps.last().and_then(|step| match &step.verdict {
            FilterVerdict::Answered(answer, _) => policy_in(&answer.details).map(str::to_owned),
            _ => None,
        });
        for step in &walk.steps {
            if let FilterVerdict::Rbac(outcome) | FilterVerdict::Answered(_, Some(outcome)) =
                &step.verdict
            {
                self.hop
                    .dry_run
                    .extend(DryRun::of(outcome).filter(|dry| !self.hop.dry_run.contains(dry)));
            }
        }
        let mut last = None;
        let steps = if self.detail >= Detail::Steps {
            &walk.steps[..]
        } else {
            &[]
        };
        for step in steps {
            let outcome = match &step.verdict {
                FilterVerdict::Answered(..) => StepOutcome::Answered,
                FilterVerdict::Undecided(_) => StepOutcome::Undecided,
                _ => StepOutcome::GoesOn,
            };
            let (word, object): (Cow<'_, str>, _) = match &step.verdict {
                FilterVerdict::Skipped(_) => continue,
                FilterVerdict::Passed(why) => (why.clone(), None),
                FilterVerdict::Rbac(outcome) => (
                    "lets it pass".into(),
                    outcome.policy().map(|policy| by(Some(policy))),
                ),
                FilterVerdict::Answered(answer, _) => {
                    let policy = denied_by.as_deref().filter(|policy| *policy != "none");
                    let words = format!("answers {} {}", answer.code, answer.details);
                    (words.into(), policy.map(|policy| by(Some(policy))))
                }
                FilterVerdict::Branches(_) => ("chance or load decides".into(), None),
                FilterVerdict::Undecided(fact) => (format!("it depends on {fact}").into(), None),
            };
            let chosen = format!("{}: {word}", step.filter);
            if self
                .hop
                .steps
                .iter()
                .any(|other| other.stage == TraceStage::Filter && other.chosen == chosen)
            {
                continue;
            }
            self.step(
                TraceStage::Filter,
                outcome,
                || chosen,
                DecisionRecord::dropping(),
                Some(step.at),
            );
            self.object(|| object);
            last = self.hop.steps.len().checked_sub(1);
        }
        if let Some(step) = last {
            self.hop.steps[step].considered.extend(record.considered);
        }
        denied_by
    }
}

fn upstream(clusters: &crate::cluster::Clusters<'_>, name: &str) -> UpstreamState {
    match clusters.find(name) {
        None => UpstreamState::Missing,
        Some(cluster) => match cluster.select(None, &mut DecisionRecord::dropping()) {
            HostSelection::Endpoints { .. } | HostSelection::Original(..) => UpstreamState::Usable,
            HostSelection::None(_) => UpstreamState::Unhealthy,
            HostSelection::Unknown(fact) => UpstreamState::Unknown(fact),
        },
    }
}
