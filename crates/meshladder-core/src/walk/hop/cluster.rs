//! Behind the filters: clusters, endpoints and the wire.

use std::net::IpAddr;

use super::{Crossing, Forward, Next, Way, answered};
use crate::envoy::clusters::Address;
use crate::sim::Answer;
use crate::sim::cluster::{Cluster, Health, Mode, Protocol, Selected};
use crate::sim::request::{Request, Tls};
use crate::sim::route::{Action, RouteDecision, Target};
use crate::sim::tls::Transport;
use crate::sim::trace::{End, EndpointFact, Kind};

impl<'a> Crossing<'_, 'a> {
    pub(super) fn clusters(
        &mut self,
        decision: &RouteDecision<'_, 'a>,
        request: &Request,
        original: Option<(IpAddr, u16)>,
    ) -> Vec<Way> {
        let Target::Clusters(branches) = &decision.target else { return Vec::new() };
        let total: u64 = branches.iter().map(|branch| branch.weight).sum();
        let code = if let Action::Route(action) = &decision.route.action {
            action.cluster_not_found_response_code
        } else {
            503
        };
        let mut ways = Vec::new();
        for branch in branches {
            let rewritten = decision.rewritten(branch, request);
            let mut forwarded = request.clone();
            if let (Ok(path), Ok(authority)) = (rewritten.path, rewritten.authority) {
                (forwarded.path, forwarded.authority) = (path, authority);
            }
            #[expect(clippy::cast_precision_loss, reason = "weights are small numbers")]
            let share = if total == 0 { 1.0 } else { branch.weight as f64 / total as f64 };
            let more = self.cluster(&branch.cluster, &forwarded, original, false, code, true);
            ways.extend(more.into_iter().map(|way| Way {
                weight: way.weight.map(|w| w * share),
                cluster: Some(branch.cluster.to_string()),
                ..way
            }));
        }
        ways
    }

    pub(super) fn cluster(
        &mut self,
        name: &str,
        request: &Request,
        original: Option<(IpAddr, u16)>,
        is_tcp: bool,
        code: u16,
        is_http: bool,
    ) -> Vec<Way> {
        let proxy = self.proxy;
        let Some(cluster) = proxy.clusters.find(name) else {
            let end = if is_http {
                answered(
                    &Answer::new(request, code, &["NC"], "cluster_not_found"),
                    format!("there is no cluster {name}"),
                )
            } else {
                End::new(Kind::NoCluster, 0, "", format!("there is no cluster {name}")).flag("NC")
            };
            return vec![Way::end(end)];
        };
        let mut record = self.record();
        let selected = cluster.select(original, &mut record);
        self.facts(cluster);
        match selected {
            Selected::None(why) => {
                self.step("endpoint", format!("none: {why}"), record, Some(cluster.at));
                let end = if is_http {
                    answered(&Answer::new(request, 503, &["UH"], "no_healthy_upstream"), format!("{name}: {why}"))
                } else {
                    End::new(Kind::NoEndpoints, 0, "", format!("{name}: {why}")).flag("UH")
                };
                vec![Way::end(end)]
            }
            Selected::Unknown(fact) => vec![Way::end(End::undecided(&fact))],
            Selected::Original(ip, port) => {
                self.step("endpoint", format!("{ip}:{port}, where the client wanted to go"), record, Some(cluster.at));
                vec![self.forward(cluster, None, (ip, port), request, is_tcp, 1.0)]
            }
            Selected::Endpoints { picks, lost } => {
                self.step("endpoint", format!("{} of {}", picks.len(), name), record, Some(cluster.at));
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a cluster has far fewer endpoints than a float has digits"
                )]
                let share = (1.0 - f64::from(lost) / 100.0) / picks.len().max(1) as f64;
                let mut ways: Vec<_> = Vec::new();
                for pick in picks {
                    let Address::Socket(host, port) = &pick.endpoint.address else {
                        ways.push(Way::end(End::new(
                            Kind::Forwarded,
                            200,
                            "via_upstream",
                            "it reaches a local socket",
                        )));
                        continue;
                    };
                    let (Ok(ip), Ok(port)) = (host.parse(), u16::try_from(*port)) else { continue };
                    ways.push(self.forward(cluster, Some(pick.endpoint), (ip, port), request, is_tcp, share));
                }
                if lost > 0 {
                    let answer = Answer::new(request, 503, &["UH"], "no_healthy_upstream");
                    let end = answered(&answer, format!("{name}: too few endpoints are healthy"));
                    ways.push(Way { weight: Some(f64::from(lost) / 100.0), ..Way::end(end) });
                }
                ways
            }
        }
    }

    pub(super) fn facts(&mut self, cluster: &Cluster<'a>) {
        for endpoint in &cluster.endpoints {
            let health = match &endpoint.health {
                Health::Healthy => "HEALTHY".to_owned(),
                Health::Degraded => "DEGRADED".to_owned(),
                Health::Unhealthy(why) if why.contains("outlier") => "EJECTED".to_owned(),
                Health::Unhealthy(_) => "UNHEALTHY".to_owned(),
            };
            let (cluster, address) = (cluster.name.to_string(), endpoint.address.to_string());
            self.hop.endpoints.push(EndpointFact { cluster, address, health });
        }
    }

    pub(super) fn forward(
        &mut self,
        cluster: &Cluster<'a>,
        endpoint: Option<&crate::sim::cluster::Endpoint<'a>>,
        destination: (IpAddr, u16),
        request: &Request,
        is_tcp: bool,
        weight: f64,
    ) -> Way {
        let way = |next| Way {
            weight: Some(weight),
            cluster: None,
            endpoint: Some(format!("{}:{}", destination.0, destination.1)),
            flags: Vec::new(),
            next,
        };
        if self.inbound {
            return way(Next::End(End::new(Kind::Forwarded, 200, "via_upstream", "it reaches the application")));
        }
        let transport = match cluster.transport(endpoint) {
            Ok(transport) => transport,
            Err(fact) => return way(Next::End(End::undecided(&fact))),
        };
        let mode = Mode::of(transport);
        self.hop.tls = mode.map_or("none", Mode::word);
        let mut next = request.clone();
        next.connection.destination = destination;
        next.connection.source = request.connection.source;
        if let Transport::Tls(context) = transport {
            next.connection.tls = Some(Tls {
                sni: context.sni.as_ref().map(ToString::to_string),
                alpn: protocols(cluster, context.alpn.iter().map(ToString::to_string), self.says_http && !is_tcp),
                peer: context.has_certificate.then(|| self.proxy.identity.iter().cloned().collect()),
            });
            next.connection.plain_http = None;
        }
        way(Next::Forward(Box::new(Forward { request: next, is_tcp })))
    }
}

/// "the `istio.alpn` HTTP filter overrides to `istio-http/1.0`, `istio-http/1.1`, `istio-h2` (then the plain ones)"
fn protocols(cluster: &Cluster<'_>, own: impl Iterator<Item = String>, says_http: bool) -> Vec<String> {
    let spoken: &[&str] = match cluster.protocol() {
        _ if !says_http => &[],
        Protocol::Http2 => &["istio-h2", "h2"],
        _ => &["istio-http/1.1", "http/1.1"],
    };
    if spoken.is_empty() { own.collect() } else { spoken.iter().map(ToString::to_string).collect() }
}
