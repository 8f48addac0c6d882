//! The network filters of a chain: a connection manager, or bytes to a cluster.

use std::net::IpAddr;
use std::rc::Rc;

use super::{Crossing, Next, Way, because_of, by, share};
use crate::network::{NetworkFilter, NetworkOutcome, Tcp};
use crate::rbac::{RbacDecision, details};
use crate::request::Request;
use crate::state::{Peer, RequestState};
use crate::trace::{DryRun, End, EndKind, StepOutcome, TraceStage};
use crate::walk::hop::cluster::Outgoing;
use crate::walk::proxy::Inside;
use crate::{DecisionRecord, Tri};

/// The policy that closes a connection, when one has a name.
type Denial = Option<Box<str>>;

impl<'a> Crossing<'_, 'a> {
    pub(super) fn network(
        &mut self,
        inside: &Inside<'a>,
        request: &Request,
        caller: Peer,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let sni = request
            .connection
            .tls
            .as_ref()
            .and_then(|tls| tls.sni.as_deref())
            .unwrap_or_default();
        let mut denial: Option<Denial> = None;
        let (mut record, mut rules) = (self.record(), self.record());
        let mut dry_run = Vec::new();
        let allows = |filter: &NetworkFilter<'_>| {
            let number = inside
                .filters
                .filters
                .iter()
                .position(|other| other.at == filter.at);
            let Some(policies) = number.and_then(|number| inside.policies[number].as_ref()) else {
                return Tri::Yes;
            };
            let mut state = RequestState {
                caller: caller.clone(),
                ..RequestState::tcp(request)
            };
            let outcome = policies.evaluate(&mut state, &mut rules);
            dry_run.extend(DryRun::of(&outcome));
            match outcome.enforced {
                Some(RbacDecision::Denied { policy, .. }) => {
                    denial.get_or_insert(policy);
                    Tri::No
                }
                Some(RbacDecision::Undecided { fact }) => Tri::Unknown(fact),
                Some(RbacDecision::Allowed { .. }) | None => Tri::Yes,
            }
        };
        let outcome = inside.filters.evaluate(sni, allows, &mut record);
        record.considered.extend(rules.considered);
        self.hop.dry_run.append(&mut dry_run);
        let denial = denial.flatten();
        match outcome {
            NetworkOutcome::Http(filter) => {
                self.step(
                    TraceStage::Network,
                    StepOutcome::GoesOn,
                    || filter.name.to_string(),
                    record,
                    Some(filter.at),
                );
                match &inside.manager {
                    Some(manager) => self.http(manager, request, caller, original),
                    None => vec![Way::end(End::undecided(
                        "the connection manager's configuration",
                    ))],
                }
            }
            NetworkOutcome::Tcp(tcp) => {
                self.tcp(&tcp, denial.as_deref(), record, request, original)
            }
            NetworkOutcome::Denied(filter) => {
                self.step(
                    TraceStage::Network,
                    StepOutcome::Ended,
                    || format!("{}: closes the connection", filter.name),
                    record,
                    Some(filter.at),
                );
                self.object(|| denial.as_deref().map(|policy| by(Some(policy))));
                vec![Way::end(denied(denial.as_deref()))]
            }
            NetworkOutcome::Answered(filter) => {
                self.step(
                    TraceStage::Network,
                    StepOutcome::Answered,
                    || format!("{}: answers by itself", filter.name),
                    record,
                    Some(filter.at),
                );
                vec![Way::end(End::new(
                    EndKind::Answered,
                    0,
                    "",
                    format!("the filter {} answers by itself", filter.name),
                ))]
            }
            NetworkOutcome::Nothing => {
                self.step(
                    TraceStage::Network,
                    StepOutcome::Ended,
                    || "none".to_owned(),
                    record,
                    None,
                );
                vec![Way::end(End::new(
                    EndKind::Reset,
                    0,
                    "",
                    "no network filter takes the connection",
                ))]
            }
            NetworkOutcome::Undecided(fact) => {
                self.step(
                    TraceStage::Network,
                    StepOutcome::Undecided,
                    || format!("it depends on {fact}"),
                    record,
                    None,
                );
                vec![Way::end(End::undecided(&fact))]
            }
        }
    }

    fn tcp(
        &mut self,
        tcp: &Tcp<'_, 'a>,
        denial: Option<&str>,
        record: DecisionRecord,
        request: &Request,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        self.step(
            TraceStage::Network,
            StepOutcome::GoesOn,
            || tcp.filter.name.to_string(),
            record,
            Some(tcp.filter.at),
        );
        let weight = |b: &crate::network::TcpBranch<'_>| (b.total > b.weight).then_some(b.weight);
        self.hop.clusters = tcp
            .branches
            .iter()
            .map(|b| (b.cluster.to_string(), weight(b)))
            .collect();
        let refused = tcp.denied.map(|_| denied(denial));
        if refused.is_some() {
            self.object(|| denial.map(|policy| by(Some(policy))));
        }
        let mut ways = Vec::new();
        for branch in &tcp.branches {
            let outgoing = Outgoing::tcp(request, original);
            let cluster: Rc<str> = branch.cluster.as_ref().into();
            let part = share(branch.weight, branch.total);
            ways.extend(
                self.cluster(&branch.cluster, &outgoing)
                    .into_iter()
                    .map(|way| {
                        let goes_on = match &way.next {
                            Next::Forward(_) => true,
                            Next::End(end) => end.kind == EndKind::Forwarded,
                        };
                        let next = match &refused {
                            Some(end) if goes_on => Next::End(end.clone()),
                            _ => way.next,
                        };
                        let cluster = Some(Rc::clone(&cluster));
                        Way {
                            weight: way.weight.map(|w| w * part),
                            cluster,
                            next,
                            ..way
                        }
                    }),
            );
        }
        ways
    }
}

/// A connection that network RBAC closes.
fn denied(policy: Option<&str>) -> End {
    End::new(EndKind::Denied, 0, details(policy), because_of(policy)).by(by(policy))
}
