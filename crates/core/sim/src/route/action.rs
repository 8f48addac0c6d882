//! What a route does: forward, redirect or answer.

use std::borrow::Cow;

use super::fraction::Dice;
use super::rewrite::Rewrites;
use super::{Redirect, Route, WeightedCluster, WeightedClusters, facts};
use crate::matcher::unmodelled;
use crate::message;
use crate::runtime::Runtime;
use crate::{Answer, Request, upgrade};
use meshladder_text::json::Raw;

/// A compiled action.
#[derive(Clone, Debug)]
pub enum RouteEffect<'a> {
    /// `route`
    Route(Box<RouteAction<'a>>),
    /// `redirect`
    Redirect(Box<Redirect>),
    /// `direct_response`: status and body.
    DirectResponse(u16, Option<Box<str>>),
    /// `non_forwarding_action`: in a proxy it leads to no cluster.
    NonForwarding,
    /// Another one: the fact that is missing.
    Unmodelled(Box<str>),
}

/// A compiled `RouteAction`.
#[derive(Clone, Debug)]
pub struct RouteAction<'a> {
    /// Where to.
    pub cluster: ClusterSpecifier<'a>,
    /// The status when that cluster does not exist.
    pub cluster_not_found_response_code: u16,
    /// Clusters that get a copy of the request.
    pub mirrors: Vec<Box<str>>,
    /// Timeouts, retries and the like, for display: name and value.
    pub facts: Vec<(&'static str, Box<str>)>,
    /// `upgrade_configs`: type in lower case, and whether it is enabled.
    pub upgrades: Vec<(Box<str>, bool)>,
    pub(super) rewrites: Rewrites,
}

/// How the cluster is found.
#[derive(Clone, Debug)]
pub enum ClusterSpecifier<'a> {
    /// `cluster`
    Cluster(Box<str>),
    /// `cluster_header`, in lower case.
    Header(Box<str>),
    /// `weighted_clusters`
    Weighted(WeightedClusters<'a>),
    /// Another way: the fact that is missing.
    Unmodelled(Box<str>),
}

/// Where a route leads a request.
#[derive(Clone, Debug)]
pub enum RouteTarget<'t, 'a> {
    /// To one of these clusters, by weight.
    Clusters(Vec<RouteBranch<'t, 'a>>),
    /// Elsewhere: status and `location`.
    Redirect(u16, String),
    /// To an answer: status, body and `location`, which Envoy adds to 201 and 3xx.
    DirectResponse(u16, Option<&'t str>, Option<String>),
}

/// One cluster that a request may go to.
#[derive(Clone, Debug)]
pub struct RouteBranch<'t, 'a> {
    /// Its name; empty when a header should name it and does not.
    pub cluster: Cow<'t, str>,
    /// How many of the target's summed weights.
    pub weight: u64,
    /// The entry of the weighted clusters it comes from.
    pub entry: Option<&'t WeightedCluster<'a>>,
}

impl<'a> RouteEffect<'a> {
    /// Compiles the member of a `Route` when it is an action.
    pub(super) fn compile(key: &str, value: Raw<'a>, runtime: &Runtime<'_>) -> Option<Self> {
        Some(match key {
            "route" => Self::Route(Box::new(RouteAction::compile(value, runtime))),
            "redirect" => Self::Redirect(Box::new(Redirect::compile(value))),
            "direct_response" => Self::direct_response(value),
            "non_forwarding_action" => Self::NonForwarding,
            "filter_action" => Self::Unmodelled(unmodelled("a route's filter_action")),
            _ => return None,
        })
    }

    /// `DirectResponseAction`
    fn direct_response(action: Raw<'_>) -> Self {
        let status = u16::try_from(message::number(action, "status")).unwrap_or_default();
        let body = action.at(["body", "inline_string"]).and_then(Raw::string);
        Self::DirectResponse(status, body.map(Box::from))
    }

    /// Where it leads a request, or the fact that is missing to tell.
    pub(super) fn target<'t>(
        &'t self,
        route: &Route<'_>,
        dice: Dice,
        request: &Request,
    ) -> Result<RouteTarget<'t, 'a>, Box<str>> {
        match self {
            Self::Route(action) => {
                let branches = action.cluster.branches(dice, request)?;
                Ok(RouteTarget::Clusters(branches))
            }
            Self::Redirect(redirect) => {
                let location = redirect.location(&route.route_match, request)?;
                Ok(RouteTarget::Redirect(redirect.response_code, location))
            }
            Self::DirectResponse(status, body) => {
                // "See RFC 7231 7.1.2": an answer that creates or moves says where.
                let location = match status {
                    201 | 300..400 => {
                        Some(Redirect::default().location(&route.route_match, request)?)
                    }
                    _ => None,
                };
                Ok(RouteTarget::DirectResponse(
                    *status,
                    body.as_deref(),
                    location,
                ))
            }
            // A proxy that gets such a route has no cluster for it.
            Self::NonForwarding => Ok(RouteTarget::Clusters(vec![RouteBranch::to("")])),
            Self::Unmodelled(fact) => Err(fact.clone()),
        }
    }
}

impl<'a> RouteAction<'a> {
    fn compile(raw: Raw<'a>, runtime: &Runtime<'_>) -> Self {
        let mut action = Self {
            cluster: ClusterSpecifier::Unmodelled(unmodelled("a route without a cluster")),
            // "The HTTP status code to use when configured cluster is not found. The default response
            // code is 503 Service Unavailable."
            cluster_not_found_response_code: 503,
            mirrors: Vec::new(),
            facts: Vec::new(),
            upgrades: Vec::new(),
            rewrites: Rewrites::default(),
        };
        for (key, value) in raw.members() {
            action.read(&key, value, runtime);
        }
        action
    }

    /// Takes in a member of the `RouteAction`.
    fn read(&mut self, key: &str, value: Raw<'a>, runtime: &Runtime<'_>) {
        match key {
            "cluster_not_found_response_code" => {
                self.cluster_not_found_response_code =
                    not_found_code(&value.string().unwrap_or_default());
            }
            "request_mirror_policies" => self.mirrors = value.elements().map(mirror).collect(),
            "upgrade_configs" => {
                self.upgrades = value.elements().map(upgrade::config).collect();
            }
            other => {
                if let Some(cluster) = ClusterSpecifier::compile(other, value, runtime) {
                    self.cluster = cluster;
                } else if !self.rewrites.read(other, value) {
                    self.facts.extend(facts::read(other, value));
                }
            }
        }
    }
}

impl<'a> ClusterSpecifier<'a> {
    /// Compiles the member of a `RouteAction` when it is the one that says which cluster.
    fn compile(key: &str, value: Raw<'a>, runtime: &Runtime<'_>) -> Option<Self> {
        Some(match key {
            "cluster" => Self::Cluster(value.string().unwrap_or_default().into()),
            "cluster_header" => {
                let header = value.string().unwrap_or_default();
                Self::Header(header.to_ascii_lowercase().into())
            }
            "weighted_clusters" => Self::Weighted(WeightedClusters::compile(value, runtime)),
            "cluster_specifier_plugin" | "inline_cluster_specifier_plugin" => {
                Self::Unmodelled(unmodelled("a cluster specifier plugin"))
            }
            _ => return None,
        })
    }

    fn branches<'t>(
        &'t self,
        dice: Dice,
        request: &Request,
    ) -> Result<Vec<RouteBranch<'t, 'a>>, Box<str>> {
        match self {
            Self::Cluster(name) => Ok(vec![RouteBranch::to(&**name)]),
            Self::Header(header) => {
                let cluster = cluster_of_header(header, request)?;
                Ok(vec![RouteBranch::to(cluster)])
            }
            Self::Weighted(clusters) => clusters.branches(dice, request),
            Self::Unmodelled(fact) => Err(fact.clone()),
        }
    }
}

impl<'t> RouteBranch<'t, '_> {
    fn to(cluster: impl Into<Cow<'t, str>>) -> Self {
        Self {
            cluster: cluster.into(),
            weight: 1,
            entry: None,
        }
    }
}

impl RouteTarget<'_, '_> {
    /// What the proxy answers on its own.
    pub(super) fn answer(&self, request: &Request) -> Option<(Answer, Option<String>)> {
        let (status, body, location) = match self {
            Self::Clusters(_) => return None,
            Self::Redirect(status, location) => (*status, None, Some(location.clone())),
            Self::DirectResponse(status, body, location) => (*status, *body, location.clone()),
        };
        let answer = Answer::new(request, status, &[], "direct_response");
        Some((answer.with_body(body.unwrap_or_default()), location))
    }
}

/// "Envoy will determine the cluster to route to by reading the value of the HTTP header … If the
/// header is not found or the referenced cluster does not exist": no cluster.
pub(super) fn cluster_of_header(header: &str, request: &Request) -> Result<String, Box<str>> {
    if let Some(value) = request.values(header).next() {
        return Ok(value.to_owned());
    }
    match request.missing(header) {
        Some(fact) => Err(fact),
        None => Ok(String::new()),
    }
}

fn not_found_code(name: &str) -> u16 {
    match name {
        "NOT_FOUND" => 404,
        "INTERNAL_SERVER_ERROR" => 500,
        _ => 503,
    }
}

fn mirror(policy: Raw<'_>) -> Box<str> {
    if let Some(cluster) = policy.string_at("cluster") {
        return cluster.into();
    }
    match policy.string_at("cluster_header") {
        Some(header) => format!("the cluster in header {header}").into(),
        None => Box::default(),
    }
}
