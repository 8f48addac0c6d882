//! What a route does: forward, redirect or answer.

use std::borrow::Cow;

use super::fraction::Dice;
use super::rewrite::Rewrites;
use super::{Redirect, Route, WeightedCluster, WeightedClusters, facts};
use crate::matcher::unmodelled;
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
            "direct_response" => {
                let status = value
                    .get("status")
                    .and_then(Raw::number)
                    .and_then(|n| u16::try_from(n).ok());
                let body = value.at(["body", "inline_string"]).and_then(Raw::string);
                Self::DirectResponse(status.unwrap_or_default(), body.map(Into::into))
            }
            "non_forwarding_action" => Self::NonForwarding,
            "filter_action" => Self::Unmodelled(unmodelled("a route's filter_action")),
            _ => return None,
        })
    }

    /// Where it leads a request, or the fact that is missing to tell.
    pub(super) fn target<'t>(
        &'t self,
        route: &Route<'_>,
        dice: Dice,
        request: &Request,
    ) -> Result<RouteTarget<'t, 'a>, Box<str>> {
        Ok(match self {
            Self::Route(action) => RouteTarget::Clusters(action.cluster.branches(dice, request)?),
            Self::Redirect(redirect) => RouteTarget::Redirect(
                redirect.response_code,
                redirect.location(&route.route_match, request)?,
            ),
            Self::DirectResponse(status, body) => {
                // "See RFC 7231 7.1.2": an answer that creates or moves says where.
                let has_location = *status == 201 || (300..400).contains(status);
                let location =
                    has_location.then(|| Redirect::default().location(&route.route_match, request));
                RouteTarget::DirectResponse(*status, body.as_deref(), location.transpose()?)
            }
            Self::NonForwarding => RouteTarget::Clusters(vec![RouteBranch::to("")]),
            Self::Unmodelled(fact) => return Err(fact.clone()),
        })
    }
}

impl<'a> RouteAction<'a> {
    fn compile(raw: Raw<'a>, runtime: &Runtime<'_>) -> Self {
        let mut action = Self {
            cluster: ClusterSpecifier::Unmodelled(unmodelled("a route without a cluster")),
            cluster_not_found_response_code: 503,
            mirrors: Vec::new(),
            facts: Vec::new(),
            upgrades: Vec::new(),
            rewrites: Rewrites::default(),
        };
        for (key, value) in raw.members() {
            let text = || value.string().unwrap_or_default();
            match &*key {
                "cluster" => action.cluster = ClusterSpecifier::Cluster(text().into()),
                "cluster_header" => {
                    action.cluster = ClusterSpecifier::Header(text().to_ascii_lowercase().into());
                }
                "weighted_clusters" => {
                    action.cluster =
                        ClusterSpecifier::Weighted(WeightedClusters::compile(value, runtime));
                }
                "cluster_specifier_plugin" | "inline_cluster_specifier_plugin" => {
                    action.cluster =
                        ClusterSpecifier::Unmodelled(unmodelled("a cluster specifier plugin"));
                }
                "cluster_not_found_response_code" => {
                    action.cluster_not_found_response_code = not_found_code(&text())
                }
                "request_mirror_policies" => {
                    action.mirrors = value.elements().map(mirror).collect()
                }
                "upgrade_configs" => {
                    action.upgrades = value.elements().map(upgrade::config).collect()
                }
                other => {
                    if !action.rewrites.read(other, value) {
                        action.facts.extend(facts::read(other, value));
                    }
                }
            }
        }
        action
    }
}

impl<'a> ClusterSpecifier<'a> {
    fn branches<'t>(
        &'t self,
        dice: Dice,
        request: &Request,
    ) -> Result<Vec<RouteBranch<'t, 'a>>, Box<str>> {
        Ok(match self {
            Self::Cluster(name) => vec![RouteBranch::to(&**name)],
            Self::Header(header) => vec![RouteBranch::to(cluster_of_header(header, request)?)],
            Self::Weighted(clusters) => clusters.branches(dice, request)?,
            Self::Unmodelled(fact) => return Err(fact.clone()),
        })
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
        let answer = |status: u16| Answer::new(request, status, &[], "direct_response");
        match self {
            Self::Clusters(_) => None,
            Self::Redirect(status, location) => Some((answer(*status), Some(location.clone()))),
            Self::DirectResponse(status, body, location) => Some((
                answer(*status).with_body(body.unwrap_or_default()),
                location.clone(),
            )),
        }
    }
}

/// "Envoy will determine the cluster to route to by reading the value of the HTTP header … If the
/// header is not found or the referenced cluster does not exist": no cluster.
pub(super) fn cluster_of_header(header: &str, request: &Request) -> Result<String, Box<str>> {
    match request.values(header).next() {
        Some(value) => Ok(value.to_owned()),
        None => request.missing(header).map_or(Ok(String::new()), Err),
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
    let header = || {
        policy
            .string_at("cluster_header")
            .map(|name| format!("the cluster in header {name}").into())
    };
    policy
        .string_at("cluster")
        .or_else(header)
        .unwrap_or_default()
        .into()
}
