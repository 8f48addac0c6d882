//! Behind the filters: clusters, endpoints and the wire.

use std::borrow::Cow;
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use super::{Crossing, Forward, Next, Sent, Way, answered, object};
use crate::cluster::{
    Cluster, Endpoint, EndpointPick, Health, HostSelection, Protocol, TlsMode, Tunnel,
};
use crate::request::{Request, Tls};
use crate::route::{RouteBranch, RouteDecision};
use crate::state::RequestState;
use crate::tls::Transport;
use crate::trace::{End, EndKind, EndpointFact, EndpointHealth, StepOutcome, TraceStage};
use crate::{Answer, DecisionRecord};

/// What goes to a cluster.
pub(super) struct Outgoing<'r> {
    request: Cow<'r, Request>,
    /// TLS on the connection to an endpoint, by the place of the TLS context that makes it.
    sent: RefCell<Vec<(Option<usize>, Rc<Sent>)>>,
    /// The address that the client wanted to reach, where a listener restored it.
    original: Option<(IpAddr, u16)>,
    /// The status when the cluster does not exist; none for bytes.
    not_found: Option<u16>,
    /// The fact that is missing to tell path or authority.
    unknown: Option<Box<str>>,
}

impl<'r> Outgoing<'r> {
    pub(super) fn tcp(request: &'r Request, original: Option<(IpAddr, u16)>) -> Self {
        Self {
            request: Cow::Borrowed(request),
            sent: RefCell::default(),
            original,
            not_found: None,
            unknown: None,
        }
    }

    pub(super) fn http(
        request: &'r Request,
        original: Option<(IpAddr, u16)>,
        not_found: u16,
    ) -> Self {
        Self {
            not_found: Some(not_found),
            ..Self::tcp(request, original)
        }
    }

    /// Changes headers, then authority and path, as a route says.
    pub(super) fn change(
        &mut self,
        decision: &RouteDecision<'_, '_>,
        branch: &RouteBranch<'_, '_>,
        state: &RequestState<'_>,
    ) {
        if decision.changes_headers(branch) {
            let mut state = state.clone();
            let unknown = decision.change_headers(branch, &mut state);
            let mut request = state.request.into_owned();
            for (name, fact) in unknown {
                request.headers.retain(|(other, _)| **other != *name);
                request.unknown_headers.push((name, fact));
            }
            self.request = Cow::Owned(request);
        }
        let rewritten = decision.rewritten(branch, &self.request);
        for (field, value) in [(true, rewritten.path), (false, rewritten.authority)] {
            let own = if field {
                &self.request.path
            } else {
                &self.request.authority
            };
            match value {
                Ok(value) if value == *own => {}
                Ok(value) if field => self.request.to_mut().path = value,
                Ok(value) => self.request.to_mut().authority = value,
                Err(fact) => self.unknown = Some(fact),
            }
        }
    }

    fn sent(&self, context: Option<usize>, tls: impl FnOnce() -> Option<Tls>) -> Rc<Sent> {
        let mut sent = self.sent.borrow_mut();
        if let Some((_, sent)) = sent.iter().find(|(other, _)| *other == context) {
            return Rc::clone(sent);
        }
        let mut request = self.request.clone().into_owned();
        if let Some(tls) = tls() {
            request.connection.tls = Some(tls);
            request.connection.plain_http = None;
        }
        let new = Rc::new(Sent {
            request,
            is_tcp: self.not_found.is_none(),
            unknown: self.unknown.clone(),
            tunnel: None,
        });
        sent.push((context, Rc::clone(&new)));
        new
    }

    /// What goes into a tunnel: the request as it is, and who the tunnel's certificate says sends
    /// it.
    fn tunnelled(&self, identity: &str) -> Rc<Sent> {
        Rc::new(Sent {
            request: self.request.clone().into_owned(),
            is_tcp: self.not_found.is_none(),
            unknown: self.unknown.clone(),
            tunnel: Some(identity.to_owned()),
        })
    }

    /// The end where the proxy itself gives up.
    fn failed(
        &self,
        kind: EndKind,
        code: u16,
        flag: &'static str,
        details: &str,
        because: String,
    ) -> End {
        match self.not_found {
            Some(_) => answered(&Answer::new(&self.request, code, &[flag], details), because),
            None => End::new(kind, 0, "", because).flag(flag),
        }
    }
}

impl<'a> Crossing<'_, 'a> {
    pub(super) fn cluster(&mut self, name: &str, outgoing: &Outgoing<'_>) -> Vec<Way> {
        let proxy = self.proxy;
        let Some(cluster) = proxy.clusters.find(name) else {
            let because = format!("there is no cluster {name}");
            self.step(
                TraceStage::Cluster,
                StepOutcome::Ended,
                || because.clone(),
                DecisionRecord::dropping(),
                None,
            );
            let code = outgoing.not_found.unwrap_or_default();
            return vec![Way::end(outgoing.failed(
                EndKind::NoCluster,
                code,
                "NC",
                "cluster_not_found",
                because,
            ))];
        };
        self.step(
            TraceStage::Cluster,
            StepOutcome::GoesOn,
            || words(cluster),
            DecisionRecord::dropping(),
            Some(cluster.at),
        );
        self.object(|| object::of_cluster(cluster));
        let mut record = self.record();
        let selected = cluster.select(outgoing.original, &mut record);
        self.facts(cluster);
        match selected {
            HostSelection::None(why) => {
                self.step(
                    TraceStage::Endpoint,
                    StepOutcome::Ended,
                    || format!("none: {why}"),
                    record,
                    Some(cluster.at),
                );
                let because = format!("{name}: {why}");
                vec![Way::end(outgoing.failed(
                    EndKind::NoEndpoints,
                    503,
                    "UH",
                    "no_healthy_upstream",
                    because,
                ))]
            }
            HostSelection::Unknown(fact) => {
                self.step(
                    TraceStage::Endpoint,
                    StepOutcome::Undecided,
                    || format!("it depends on {fact}"),
                    record,
                    Some(cluster.at),
                );
                vec![Way::end(End::undecided(&fact))]
            }
            HostSelection::Original(ip, port) => {
                let words = || format!("{ip}:{port}, where the client wanted to go");
                self.step(
                    TraceStage::Endpoint,
                    StepOutcome::GoesOn,
                    words,
                    record,
                    Some(cluster.at),
                );
                vec![self.forward(cluster, None, (ip, port), outgoing, 1.0)]
            }
            HostSelection::Endpoints { picks, lost } => {
                let words = || format!("{} of {}", picks.len(), cluster.endpoints.len());
                let at = picks
                    .first()
                    .and_then(|pick| pick.endpoint.at)
                    .unwrap_or(cluster.at);
                self.step(
                    TraceStage::Endpoint,
                    StepOutcome::GoesOn,
                    words,
                    record,
                    Some(at),
                );
                self.picked(cluster, &picks, lost, outgoing)
            }
        }
    }

    fn picked(
        &mut self,
        cluster: &Cluster<'a>,
        picks: &[EndpointPick<'_, 'a>],
        lost: u32,
        outgoing: &Outgoing<'_>,
    ) -> Vec<Way> {
        let lost = f64::from(lost) / 100.0;
        #[expect(
            clippy::cast_precision_loss,
            reason = "a cluster has far fewer endpoints than a float has digits"
        )]
        let share = (1.0 - lost) / picks.len().max(1) as f64;
        let mut ways = Vec::with_capacity(picks.len());
        for pick in picks {
            if let Some(tunnel) = pick.endpoint.tunnel() {
                ways.push(self.tunnel(tunnel, outgoing, share));
                continue;
            }
            ways.push(match pick.endpoint.socket() {
                Some(socket) => self.forward(cluster, Some(pick.endpoint), socket, outgoing, share),
                None => Way {
                    weight: Some(share),
                    ..Way::end(End::new(
                        EndKind::Forwarded,
                        200,
                        "via_upstream",
                        "it reaches a local socket",
                    ))
                },
            });
        }
        if lost > 0.0 {
            let because = format!("{}: too few endpoints are healthy", cluster.name);
            let end = outgoing.failed(
                EndKind::NoEndpoints,
                503,
                "UH",
                "no_healthy_upstream",
                because,
            );
            ways.push(Way {
                weight: Some(lost),
                ..Way::end(end)
            });
        }
        ways
    }

    fn facts(&mut self, cluster: &Cluster<'a>) {
        if self.detail < super::Detail::Steps {
            return;
        }
        for endpoint in &cluster.endpoints {
            let health = match &endpoint.health {
                Health::Healthy => EndpointHealth::Healthy,
                Health::Degraded => EndpointHealth::Degraded,
                Health::Ejected => EndpointHealth::Ejected,
                Health::Unhealthy(_) => EndpointHealth::Unhealthy,
            };
            let (cluster, address) = (cluster.name.to_string(), endpoint.address.to_string());
            self.hop.endpoints.push(EndpointFact {
                cluster,
                address,
                socket: endpoint.socket().or_else(|| endpoint.tunnel()?.to),
                health,
                elsewhere: self.elsewhere(endpoint),
            });
        }
    }

    fn forward(
        &mut self,
        cluster: &Cluster<'a>,
        endpoint: Option<&Endpoint<'a>>,
        destination: (IpAddr, u16),
        outgoing: &Outgoing<'_>,
        weight: f64,
    ) -> Way {
        let way = |next| Way {
            weight: Some(weight),
            cluster: None,
            endpoint: Some(destination),
            flags: Vec::new(),
            next,
        };
        if self.inbound {
            return way(Next::End(End::new(
                EndKind::Forwarded,
                200,
                "via_upstream",
                "it reaches the application",
            )));
        }
        let transport = match cluster.transport(endpoint) {
            Ok(transport) => transport,
            Err(fact) => return way(Next::End(End::undecided(&fact))),
        };
        self.note_transport(transport, cluster);
        let says_http = self.says_http && outgoing.not_found.is_some();
        let context = if let Transport::Tls(context) = transport {
            Some(context)
        } else {
            None
        };
        let sent = outgoing.sent(context.map(|context| context.at), || {
            let context = context?;
            Some(Tls {
                sni: context.sni.as_ref().map(ToString::to_string),
                alpn: protocols(
                    cluster,
                    context.alpn.iter().map(ToString::to_string),
                    says_http,
                ),
                peer: context
                    .has_certificate
                    .then(|| self.proxy.identity.iter().cloned().collect()),
            })
        });
        let elsewhere = endpoint
            .and_then(|endpoint| self.elsewhere(endpoint))
            .map(Into::into);
        way(Next::Forward(Forward {
            sent,
            destination,
            waypoint: None,
            elsewhere,
        }))
    }

    /// The id of an endpoint's cluster, where that is another than the proxy's own.
    fn elsewhere(&self, endpoint: &Endpoint<'a>) -> Option<String> {
        let own = self.proxy.cluster_id.as_deref()?;
        endpoint.cluster_id().filter(|id| id != own)
    }

    /// An endpoint that is reached through a tunnel.
    fn tunnel(&mut self, tunnel: Tunnel, outgoing: &Outgoing<'_>, weight: f64) -> Way {
        let Some(destination) = tunnel.to.or(outgoing.original) else {
            return Way::end(End::undecided("what a tunnel leads to"));
        };
        self.hop.tls = TlsMode::Istio;
        let identity = self.proxy.identity.clone().unwrap_or_default();
        Way {
            weight: Some(weight),
            cluster: None,
            endpoint: Some(destination),
            flags: Vec::new(),
            next: Next::Forward(Forward {
                sent: outgoing.tunnelled(&identity),
                destination,
                waypoint: tunnel.waypoint,
                elsewhere: None,
            }),
        }
    }

    /// How an endpoint is talked to; a step where that is new.
    fn note_transport(&mut self, transport: &Transport<'a>, cluster: &Cluster<'a>) {
        let mode = TlsMode::of(transport).unwrap_or_default();
        let is_noted = self.hop.tls == mode
            && self
                .hop
                .steps
                .iter()
                .any(|step| step.stage == TraceStage::Tls);
        self.hop.tls = mode;
        if !is_noted {
            let at = if let Transport::Tls(context) = transport {
                context.at
            } else {
                cluster.at
            };
            self.step(
                TraceStage::Tls,
                StepOutcome::GoesOn,
                || mode.word().to_owned(),
                DecisionRecord::dropping(),
                Some(at),
            );
        }
    }
}

/// The cluster, how it finds and picks endpoints, and the limits at which requests end with `UO`.
fn words(cluster: &Cluster<'_>) -> String {
    let limits = cluster.thresholds();
    let limit =
        |what: &str, limit: u64| (limit < 1_000_000).then(|| format!(", at most {limit} {what}"));
    let limits = [
        limit("connections", limits.connections),
        limit("pending requests", limits.pending_requests),
        limit("requests", limits.requests),
    ];
    let limits: String = limits.into_iter().flatten().collect();
    format!(
        "{} ({}, {}{limits})",
        cluster.name, cluster.discovery, cluster.lb_policy
    )
}

/// "the `istio.alpn` HTTP filter overrides to `istio-http/1.0`, `istio-http/1.1`, `istio-h2` (then
/// the plain ones)"
fn protocols(
    cluster: &Cluster<'_>,
    own: impl Iterator<Item = String>,
    says_http: bool,
) -> Vec<String> {
    let spoken: &[&str] = match cluster.protocol() {
        _ if !says_http => &[],
        Protocol::Http2 => &["istio-h2", "h2"],
        _ => &["istio-http/1.1", "http/1.1"],
    };
    if spoken.is_empty() {
        own.collect()
    } else {
        spoken.iter().map(ToString::to_string).collect()
    }
}
