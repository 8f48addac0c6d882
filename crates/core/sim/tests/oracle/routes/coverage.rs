//! Which matchers decided, for and against.

use std::collections::HashMap;

use meshladder_sim::Tri;
use meshladder_sim::answer::is_grpc;
use meshladder_sim::matcher::without_query_and_fragment;
use serde_json::Value;

use super::expected::{Expected, Model};
use super::requests::Sent;
use crate::harness::Coverage;

/// The kinds of conditions of each route, by virtual host and route name, in the order of their
/// lists.
pub(super) struct Labels(HashMap<(String, String), RouteLabels>);

struct RouteLabels {
    path: String,
    headers: Vec<String>,
    query: Vec<String>,
    cookies: Vec<String>,
    grpc: Option<String>,
}

impl Labels {
    pub(super) fn of(table: &Value) -> Self {
        let mut labels = HashMap::new();
        for host in table["virtual_hosts"].as_array().into_iter().flatten() {
            for route in host["routes"].as_array().into_iter().flatten() {
                let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
                labels.insert((name(host), name(route)), RouteLabels::of(&route["match"]));
            }
        }
        Self(labels)
    }

    /// Counts what decided about this request.
    pub(super) fn count(
        &self,
        model: &Model<'_>,
        sent: &Sent,
        expected: &Expected,
        coverage: &mut Coverage,
    ) {
        for outcome in &expected.outcomes {
            let kind = match (&*outcome.details, &*outcome.vhost) {
                ("route_not_found", "") => "no virtual host".to_owned(),
                ("direct_response", _) if outcome.route.is_empty() => "require_tls".to_owned(),
                ("direct_response", _) if outcome.location.is_empty() => {
                    "direct_response".to_owned()
                }
                ("direct_response", _) => "redirect".to_owned(),
                (details, _) => details.to_owned(),
            };
            coverage.hit(&format!("outcome {kind}"), true);
        }
        if expected.outcomes.len() > 1 {
            coverage.hit("outcome by chance", true);
        }
        for fact in &expected.undecided {
            coverage.hit(&format!("undecided for want of {fact}"), true);
        }
        let Some(request) = model.entered(sent) else {
            return;
        };
        let considered: Vec<_> = expected
            .considered
            .iter()
            .map(|c| (c.at, &c.matched))
            .collect();
        for host in &model.table.virtual_hosts {
            for route in &host.routes {
                let Some((_, matched)) =
                    considered.iter().find(|(at, _)| *at == route.raw.offset())
                else {
                    continue;
                };
                let Some(labels) = self.0.get(&(host.name.to_string(), route.name.to_string()))
                else {
                    continue;
                };
                let m = &route.route_match;
                let headers = m.headers.iter().map(|header| header.matches(&request));
                let query = m
                    .query_parameters
                    .iter()
                    .map(|query| query.matches(&request.path));
                let cookies = m.cookies.iter().map(|cookie| cookie.matches(&request));
                let all: Vec<_> = labels
                    .headers
                    .iter()
                    .zip(headers)
                    .chain(labels.query.iter().zip(query))
                    .chain(labels.cookies.iter().zip(cookies))
                    .chain(
                        labels
                            .grpc
                            .iter()
                            .map(|label| (label, is_grpc(&request).into())),
                    )
                    .collect();
                // What decided is the one thing that failed, or all that matched.
                let path = m
                    .path
                    .as_ref()
                    .map(|path| path.matches(without_query_and_fragment(&request.path)));
                let failed: Vec<_> = all.iter().filter(|(_, m)| *m == Tri::No).collect();
                match (matched, &failed[..], path == Some(Tri::Yes)) {
                    (Tri::Yes, ..) => {
                        coverage.hit(&labels.path, true);
                        for (label, _) in &all {
                            coverage.hit(label, true);
                        }
                    }
                    (Tri::No, [], false) => coverage.hit(&labels.path, false),
                    (Tri::No, [(label, _)], true) => coverage.hit(label, false),
                    _ => {}
                }
            }
        }
    }
}

impl RouteLabels {
    fn of(m: &Value) -> Self {
        let list = |key: &str, label: &dyn Fn(&Value) -> String| {
            m[key]
                .as_array()
                .map(|list| list.iter().map(label).collect())
                .unwrap_or_default()
        };
        Self {
            path: path(m),
            headers: list("headers", &header),
            query: list("query_parameters", &|query| {
                format!("query {}", specifier(query))
            }),
            grpc: m.get("grpc").map(|_| "grpc".to_owned()),
            cookies: list("cookies", &|cookie| {
                format!("cookie {}{}", specifier(cookie), inverted(cookie))
            }),
        }
    }
}

fn path(m: &Value) -> String {
    let kinds = [
        "prefix",
        "path",
        "path_separated_prefix",
        "safe_regex",
        "path_match_policy",
        "connect_matcher",
    ];
    let kind = kinds
        .into_iter()
        .find(|kind| m.get(kind).is_some())
        .unwrap_or_default();
    let case = if m["case_sensitive"] == false && m[kind].is_string() {
        " any case"
    } else {
        ""
    };
    format!("path {kind}{case}")
}

fn header(header: &Value) -> String {
    let missing = if header["treat_missing_header_as_empty"] == true {
        " missing as empty"
    } else {
        ""
    };
    format!("header {}{}{missing}", specifier(header), inverted(header))
}

fn inverted(matcher: &Value) -> &'static str {
    if matcher["invert_match"] == true {
        " inverted"
    } else {
        ""
    }
}

fn specifier(matcher: &Value) -> String {
    let string = &matcher["string_match"];
    if let Some(kind) = ["exact", "prefix", "suffix", "contains", "safe_regex"]
        .iter()
        .find(|kind| string.get(kind).is_some())
    {
        let case = if string["ignore_case"] == true && *kind != "safe_regex" {
            " any case"
        } else {
            ""
        };
        return format!("{kind}{case}");
    }
    let kinds = [
        "present_match",
        "range_match",
        "exact_match",
        "prefix_match",
        "suffix_match",
        "contains_match",
        "safe_regex_match",
    ];
    let kind = kinds.iter().find(|kind| matcher.get(kind).is_some());
    kind.map_or_else(|| "no specifier".to_owned(), |kind| (*kind).to_owned())
}

const PATHS: &[&str] = &[
    "path prefix",
    "path prefix any case",
    "path path",
    "path path any case",
    "path path_separated_prefix",
    "path path_separated_prefix any case",
    "path safe_regex",
    "path path_match_policy",
    "path connect_matcher",
    "grpc",
];

const STRINGS: &[&str] = &[
    "exact",
    "exact any case",
    "prefix",
    "prefix any case",
    "suffix",
    "suffix any case",
    "contains",
    "contains any case",
    "safe_regex",
];

const OLD: &[&str] = &[
    "present_match",
    "range_match",
    "exact_match",
    "prefix_match",
    "suffix_match",
    "contains_match",
    "safe_regex_match",
    "no specifier",
];

const OUTCOMES: &[&str] = &[
    "outcome no virtual host",
    "outcome route_not_found",
    "outcome require_tls",
    "outcome direct_response",
    "outcome redirect",
    "outcome no_healthy_upstream",
    "outcome cluster_not_found",
    "outcome upgrade_failed",
    "outcome by chance",
    "outcome path_normalization_failed",
    "outcome low_version",
    "outcome http.invalid_authority",
];

/// Prints the table, and fails when something was never met.
pub(super) fn conclude(coverage: Coverage) {
    let mut names: Vec<String> = PATHS.iter().map(|&name| name.to_owned()).collect();
    for string in STRINGS {
        names.push(format!("header {string}"));
        names.push(format!("header {string} inverted"));
        names.push(format!("query {string}"));
        names.push(format!("cookie {string}"));
    }
    for old in OLD {
        for suffix in ["", " inverted", " missing as empty"] {
            names.push(format!("header {old}{suffix}"));
        }
    }
    // With `missing as empty` a header is always present.
    let one_sided = [
        "header no specifier missing as empty",
        "header present_match missing as empty",
    ];
    names.retain(|name| !one_sided.contains(&&**name));
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    coverage.conclude("routes", &names, OUTCOMES);
}
