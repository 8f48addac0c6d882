//! Inside an HTTP connection manager: path, route, filters.

use std::net::IpAddr;

use super::{Crossing, Way, answered, because_answered, by, policy_in};
use crate::doc::json::Raw;
use crate::sim::cluster::Selected;
use crate::sim::filters::{Environment, FilterChain, Overrides, Upstream, Verdict};
use crate::sim::path::{BeforeRouting, Entered};
use crate::sim::request::Request;
use crate::sim::route::{RouteTable, Routed, Target};
use crate::sim::state::{Caller, State};
use crate::sim::trace::{DryRun, End};
use crate::sim::{Answer, Record};

impl<'a> Crossing<'_, 'a> {
    pub(super) fn http(
        &mut self,
        manager: Raw<'a>,
        request: &Request,
        caller: Caller,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let proxy = self.proxy;
        let before = BeforeRouting::compile(manager, &proxy.runtime);
        let entered = match before.enter(request) {
            Entered::Request(request) => request,
            Entered::Answered { answer, location } => {
                let because = location
                    .map_or("the connection manager answers".to_owned(), |l| format!("the client is sent to {l}"));
                return vec![Way::end(answered(&answer, because))];
            }
        };
        let config = manager.get("route_config").or_else(|| {
            let name = manager.at(["rds", "route_config_name"])?.string()?;
            proxy.route_config(&name)
        });
        let Some(config) = config else {
            let answer = Answer::new(&entered, 404, &["NR"], "route_not_found");
            return vec![Way::end(answered(&answer, "the proxy does not have the route configuration".to_owned()))];
        };
        let table = RouteTable::compile(config, &proxy.runtime);
        self.hop.route_config = Some(table.name.to_string());
        let mut record = self.record();
        let mut state = State { caller, ..State::new(&entered) };
        let routed = table.route(&state, &mut record);
        self.routed(&routed, &entered, record, table.raw.offset());
        let chain = FilterChain::compile(manager, &proxy.runtime, &|name| proxy.extension(name));
        self.says_http = chain.filters().iter().any(|filter| filter.name == "istio.alpn");
        self.filters(&chain, &routed, &mut state, original)
    }

    pub(super) fn routed(&mut self, routed: &Routed<'_, 'a>, request: &Request, record: Record, at: usize) {
        match routed {
            Routed::Route(decision) => {
                self.hop.virtual_host = Some(decision.virtual_host.name.to_string());
                self.hop.route = (!decision.route.name.is_empty()).then(|| decision.route.name.to_string());
                let chosen = format!("{} › {}", decision.virtual_host.name, decision.route.name);
                self.step("route", chosen, record, Some(decision.route.raw.offset()));
                self.object(decision.route.istio_config.as_ref().map(|config| format!("VirtualService {config}")));
            }
            Routed::RequireTls { virtual_host, .. } => {
                self.hop.virtual_host = Some(virtual_host.name.to_string());
                self.step("route", "the client is sent to https", record, Some(virtual_host.raw.offset()));
            }
            Routed::NoRoute { virtual_host } => {
                self.hop.virtual_host = virtual_host.map(|v| v.name.to_string());
                self.step("route", format!("none for {}{}", request.authority, request.path), record, Some(at));
            }
            Routed::Undecided { virtual_host, fact, .. } => {
                self.hop.virtual_host = virtual_host.map(|v| v.name.to_string());
                self.step("route", format!("it depends on {fact}"), record, Some(at));
            }
            Routed::Branches(_) => self.step("route", "chance decides", record, Some(at)),
        }
    }

    pub(super) fn filters(
        &mut self,
        chain: &FilterChain<'a>,
        routed: &Routed<'_, 'a>,
        state: &mut State<'_>,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let decision = if let Routed::Route(decision) = routed { Some(decision) } else { None };
        let branch = decision.and_then(|d| if let Target::Clusters(all) = &d.target { all.first() } else { None });
        if let Some(Target::Clusters(branches)) = decision.map(|decision| &decision.target) {
            let weight = |weight: u64| (branches.len() > 1).then_some(weight);
            self.hop.clusters = branches.iter().map(|b| (b.cluster.to_string(), weight(b.weight))).collect();
        }
        let scopes = decision.map(|decision| decision.scopes(branch)).unwrap_or_default();
        let overrides = Overrides::compile(&scopes, &self.proxy.runtime);
        let cluster = decision.and_then(|d| match &d.target {
            Target::Clusters(branches) if branches.len() == 1 => Some(branches[0].cluster.to_string()),
            _ => None,
        });
        let clusters = &self.proxy.clusters;
        let upstream = |name: &str| match clusters.find(name) {
            None => Upstream::Missing,
            Some(cluster) => match cluster.select(None, &mut Record::dropping()) {
                Selected::Endpoints { .. } | Selected::Original(..) => Upstream::Usable,
                Selected::None(_) => Upstream::Unhealthy,
                Selected::Unknown(fact) => Upstream::Unknown(fact),
            },
        };
        let Some(now) = self.now else { return vec![Way::end(End::undecided("when the Snapshot was taken"))] };
        let environment = Environment { now, upstream: &upstream, cluster: cluster.as_deref() };
        let mut record = self.record();
        let walk = chain.evaluate(&overrides, state, &environment, &mut record);
        let mut denied_by = None;
        for step in &walk.steps {
            if let Verdict::Rbac(outcome) | Verdict::Answered(_, Some(outcome)) = &step.verdict {
                self.hop.dry_run.extend(DryRun::of(outcome));
            }
            let word = match &step.verdict {
                Verdict::Passed(why) => format!("{}: {why}", step.filter),
                Verdict::Rbac(_) => format!("{}: lets it pass", step.filter),
                Verdict::Skipped(_) => continue,
                Verdict::Answered(answer, _) => {
                    denied_by = policy_in(&answer.details).map(str::to_owned);
                    format!("{}: answers {} {}", step.filter, answer.code, answer.details)
                }
                Verdict::Branches(_) => format!("{}: chance or load decides", step.filter),
                Verdict::Undecided(fact) => format!("{}: it depends on {fact}", step.filter),
            };
            self.step("filter", word, Record::dropping(), Some(step.at));
        }
        if self.keep
            && let Some(step) = self.hop.steps.last_mut()
        {
            step.considered.extend(record.considered);
        }
        if let Some(fact) = &walk.undecided {
            return vec![Way::end(End::undecided(fact))];
        }
        let mut ways = Vec::new();
        for branch in &walk.branches {
            if let Some(answer) = &branch.answer {
                let mut end = answered(answer, because_answered(answer));
                if let Some(policy) = &denied_by {
                    end = end.by(by(Some(policy)));
                }
                ways.push(Way { weight: branch.weight, flags: branch.flags.clone(), ..Way::end(end) });
                continue;
            }
            let more = self.route_on(routed, &state.request, original);
            ways.extend(more.into_iter().map(|way| Way {
                weight: way.weight.zip(branch.weight).map(|(a, b)| a * b),
                flags: branch.flags.clone(),
                ..way
            }));
        }
        ways
    }

    /// Behind the filters: where the route leads.
    pub(super) fn route_on(
        &mut self,
        routed: &Routed<'_, 'a>,
        request: &Request,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        if let Some((answer, location)) = routed.answer(request) {
            let because = match (routed, location) {
                (_, Some(location)) => format!("the client is sent to {location}"),
                (Routed::NoRoute { virtual_host: None }, _) => format!("no virtual host is for {}", request.authority),
                (Routed::NoRoute { .. }, _) => format!("no route matches {} {}", request.method, request.path),
                _ => "the route answers by itself".to_owned(),
            };
            return vec![Way::end(answered(&answer, because))];
        }
        match routed {
            Routed::Route(decision) => self.clusters(decision, request, original),
            Routed::Undecided { fact, .. } => vec![Way::end(End::undecided(fact))],
            Routed::Branches(branches) => branches
                .iter()
                .flat_map(|(share, routed)| {
                    #[expect(clippy::cast_precision_loss, reason = "fractions are of at most a million")]
                    let part = share.of as f64 / share.total.max(1) as f64;
                    let ways = self.route_on(routed, request, original);
                    ways.into_iter()
                        .map(move |way| Way { weight: way.weight.map(|w| w * part), ..way })
                        .collect::<Vec<_>>()
                })
                .collect(),
            Routed::NoRoute { .. } | Routed::RequireTls { .. } => Vec::new(),
        }
    }
}
