//! The `http` routes of a VirtualService, as its objects say them: which one a request takes, and
//! which none can take.

use crate::rules::Case;
use meshladder_mesh::Object;
use meshladder_mesh::selector::has_labels;
use meshladder_sim::Tri;
use meshladder_sim::matcher::{StringMatcher, query_parameter};
use meshladder_text::tree::{Node, Value};

/// A request as matches see it.
#[derive(Clone, Debug)]
pub(super) struct RouteCall<'a> {
    /// Path and query.
    pub(super) path: &'a str,
    pub(super) method: &'a str,
    pub(super) authority: String,
    pub(super) scheme: &'a str,
    pub(super) headers: &'a [(String, String)],
    pub(super) port: u16,
    /// The calling pod; none for a gateway.
    pub(super) client: Option<&'a Object>,
    /// Whether letter case is overlooked everywhere: to see what is missed by that alone.
    pub(super) ignores_case: bool,
}

/// What a request takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Taken<'m> {
    /// The route at this place.
    Route(usize, &'m Node),
    /// None of them.
    Nothing,
    /// It cannot be told.
    Unknown,
}

impl<'a> RouteCall<'a> {
    /// The request that was asked about, made by a pod.
    pub(super) fn of(case: &'a Case<'_>, client: Option<&'a Object>) -> Self {
        let call = case.call;
        let host = call
            .headers
            .iter()
            .find(|(name, _)| name == "host")
            .map(|(_, value)| value.clone());
        Self {
            path: &call.to.path,
            method: &call.method,
            authority: host.unwrap_or_else(|| call.to.authority()),
            scheme: call.to.scheme.word(),
            headers: &call.headers,
            port: call.to.port,
            client,
            ignores_case: false,
        }
    }

    /// The first route that matches.
    pub(super) fn takes<'m>(&self, service: &'m Object) -> Taken<'m> {
        for (place, route) in service.spec_list("http").iter().enumerate() {
            match self.fits(route) {
                Tri::Yes => return Taken::Route(place, route),
                Tri::No => {}
                Tri::Unknown(_) => return Taken::Unknown,
            }
        }
        Taken::Nothing
    }

    /// Whether a route matches. "Match conditions to be satisfied for the rule to be activated. All
    /// conditions inside a single match block have AND semantics, while the list of match blocks
    /// have OR semantics."
    pub(super) fn fits(&self, route: &Node) -> Tri {
        match blocks(route) {
            [] => Tri::Yes,
            blocks => Tri::any(blocks.iter().map(|block| self.fits_block(block))),
        }
    }

    fn fits_block(&self, block: &Node) -> Tri {
        Tri::all(block.members().iter().map(|member| {
            let value = &member.value;
            match &*member.key {
                "uri" => {
                    let ignore = self.ignores_case || is_true(block.get("ignoreUriCase"));
                    string(value, ignore, self.path.split(['?', '#']).next())
                }
                "scheme" => string(value, self.ignores_case, Some(self.scheme)),
                "method" => string(value, self.ignores_case, Some(self.method)),
                "authority" => string(value, self.ignores_case, Some(&self.authority)),
                "headers" => Tri::all(
                    value
                        .members()
                        .iter()
                        .map(|m| self.header(&m.key, &m.value)),
                ),
                "withoutHeaders" => Tri::all(
                    value
                        .members()
                        .iter()
                        .map(|m| self.header(&m.key, &m.value).negate()),
                ),
                "queryParams" => Tri::all(value.members().iter().map(|m| {
                    string(
                        &m.value,
                        self.ignores_case,
                        query_parameter(self.path, &m.key),
                    )
                })),
                "port" => (value.to_json() == self.port.to_string()).into(),
                "sourceLabels" => self
                    .client
                    .is_some_and(|pod| has_labels(value, pod.labels()))
                    .into(),
                "sourceNamespace" => (value.str().is_none_or(str::is_empty)
                    || self
                        .client
                        .is_some_and(|pod| Some(pod.id.namespace.as_str()) == value.str()))
                .into(),
                // A gateway's own matches are not told apart here.
                "gateways" if self.client.is_some() => (value.items().is_empty()
                    || value.items().iter().any(|g| g.str() == Some("mesh")))
                .into(),
                _ => Tri::Yes,
            }
        }))
    }

    fn header(&self, name: &str, condition: &Node) -> Tri {
        let name = name.to_ascii_lowercase();
        let value = match name.as_str() {
            ":authority" | "host" => Some(self.authority.as_str()),
            ":method" => Some(self.method),
            ":path" => Some(self.path),
            _ => self
                .headers
                .iter()
                .find(|(header, _)| *header == name)
                .map(|(_, value)| value.as_str()),
        };
        string(condition, self.ignores_case, value)
    }
}

/// The first of the earlier routes that take every request which the route at `place` would take.
pub(super) fn shadow(routes: &[Node], place: usize) -> Option<usize> {
    shadowing(&routes[..place], &routes[place])
}

/// The first of the routes that take every request which `route` would take.
pub(super) fn shadowing(routes: &[Node], route: &Node) -> Option<usize> {
    let earlier = |block: Option<&Node>| {
        routes.iter().position(|route| {
            // What a delegate leaves unmatched goes on to the next route.
            route.get("delegate").is_none()
                && match blocks(route) {
                    [] => true,
                    all => all.iter().any(|wide| is_wider(wide, block)),
                }
        })
    };
    match blocks(route) {
        [] => earlier(None),
        blocks => blocks
            .iter()
            .map(|block| earlier(Some(block)))
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .min(),
    }
}

/// Whether a route, or one of the matches it is made of, takes every request.
pub(super) fn is_catch_all(route: &Node) -> bool {
    let takes_all = |block: &Node| is_wider(block, None);
    blocks(route).is_empty() || blocks(route).iter().any(takes_all)
}

fn blocks(route: &Node) -> &[Node] {
    route.get("match").map_or(&[], Node::items)
}

/// Whether every request that fits `narrow` (none: every request) fits `wide`.
fn is_wider(wide: &Node, narrow: Option<&Node>) -> bool {
    let ignores = |block: &Node| is_true(block.get("ignoreUriCase"));
    wide.members().iter().all(|condition| {
        let other = narrow.and_then(|narrow| narrow.get(&condition.key));
        match &*condition.key {
            "name" | "statPrefix" | "ignoreUriCase" => true,
            "uri" => is_wider_path(
                &condition.value,
                ignores(wide),
                other,
                narrow.is_some_and(ignores),
            ),
            "headers" | "withoutHeaders" | "queryParams" | "sourceLabels" => {
                condition.value.members().iter().all(|wanted| {
                    let told = other.and_then(|other| other.get(&wanted.key));
                    told.is_some_and(|told| told.to_json() == wanted.value.to_json())
                })
            }
            "gateways" => {
                let has = |gateway: &Node| {
                    condition
                        .value
                        .items()
                        .iter()
                        .any(|g| g.str() == gateway.str())
                };
                other
                    .is_some_and(|other| !other.items().is_empty() && other.items().iter().all(has))
            }
            _ => other.is_some_and(|other| other.to_json() == condition.value.to_json()),
        }
    })
}

fn is_wider_path(
    wide: &Node,
    wide_ignores: bool,
    narrow: Option<&Node>,
    narrow_ignores: bool,
) -> bool {
    let lower = |text: &str| {
        if wide_ignores {
            text.to_ascii_lowercase()
        } else {
            text.to_owned()
        }
    };
    let same_case = wide_ignores || !narrow_ignores;
    let exact = narrow.and_then(|narrow| narrow.str_at("exact"));
    let prefix = narrow.and_then(|narrow| narrow.str_at("prefix"));
    match (
        wide.str_at("prefix"),
        wide.str_at("exact"),
        wide.str_at("regex"),
    ) {
        // Every path starts like this.
        (Some("/" | ""), ..) => true,
        (Some(start), ..) => {
            same_case
                && exact
                    .or(prefix)
                    .is_some_and(|text| lower(text).starts_with(&lower(start)))
        }
        (_, Some(all), _) => same_case && exact.is_some_and(|text| lower(text) == lower(all)),
        (.., Some(".*" | "/.*" | "^/.*" | "^.*$" | "^/.*$")) => true,
        (.., Some(pattern)) => {
            let is_same = narrow.and_then(|narrow| narrow.str_at("regex")) == Some(pattern);
            let takes = |text: &str| StringMatcher::regex(pattern).matches(text) == Tri::Yes;
            is_same || (!narrow_ignores && exact.is_some_and(takes))
        }
        _ => true,
    }
}

/// "exact", "prefix" or "regex"; none of them asks only that it is there.
fn string(condition: &Node, ignore_case: bool, value: Option<&str>) -> Tri {
    let Some(value) = value else { return Tri::No };
    let matcher = match (
        condition.str_at("exact"),
        condition.str_at("prefix"),
        condition.str_at("regex"),
    ) {
        (Some(text), ..) => StringMatcher::exact(text),
        (_, Some(text), _) => StringMatcher::prefix(text),
        (.., Some(text)) => StringMatcher::regex(text),
        _ => return Tri::Yes,
    };
    matcher.ignoring_case(ignore_case).matches(value)
}

fn is_true(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.value == Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_text::yaml;

    fn routes(text: &str) -> Vec<Node> {
        yaml::load(text)
            .documents
            .first()
            .expect("it is YAML")
            .items()
            .to_vec()
    }

    #[test]
    fn a_route_that_an_earlier_one_takes_all_from_is_shadowed() {
        for (text, expected) in [
            ("[{}, {match: [{uri: {prefix: /v2}}]}]", Some(0)),
            (
                "[{match: [{uri: {prefix: /}}]}, {match: [{uri: {prefix: /v2}}]}]",
                Some(0),
            ),
            ("[{match: [{uri: {prefix: /}}]}, {}]", Some(0)),
            (
                "[{match: [{uri: {regex: '.*'}}]}, {match: [{uri: {exact: /a}}]}]",
                Some(0),
            ),
            (
                "[{match: [{uri: {prefix: /v2}}]}, {match: [{uri: {exact: /v2/a}}]}]",
                Some(0),
            ),
            (
                "[{match: [{uri: {prefix: /v2}}]}, {match: [{uri: {exact: /v1}}, {uri: {exact: /v2}}]}]",
                None,
            ),
            (
                "[{match: [{uri: {prefix: /v2}, headers: {a: {exact: b}}}]}, {match: [{uri: {prefix: /v2}}]}]",
                None,
            ),
            (
                "[{match: [{headers: {a: {exact: b}}}]}, {match: [{uri: {prefix: /v2}, headers: {a: {exact: b}}}]}]",
                Some(0),
            ),
            ("[{match: [{uri: {prefix: /v2}}]}, {}]", None),
            (
                "[{match: [{method: {exact: GET}}]}, {match: [{method: {exact: PUT}}]}]",
                None,
            ),
            (
                "[{match: [{port: 80}]}, {match: [{port: 80, uri: {exact: /a}}]}]",
                Some(0),
            ),
            (
                "[{match: [{uri: {prefix: /A}}]}, {match: [{uri: {prefix: /a}, ignoreUriCase: true}]}]",
                None,
            ),
            (
                "[{delegate: {name: a}}, {match: [{uri: {prefix: /v2}}]}]",
                None,
            ),
            (
                "[{match: [{sourceLabels: {app: a}}]}, {match: [{uri: {prefix: /}}]}]",
                None,
            ),
        ] {
            let routes = routes(text);
            assert_eq!(shadow(&routes, routes.len() - 1), expected, "{text}");
        }
    }

    #[test]
    fn a_call_takes_the_first_route_that_fits() {
        let headers = [("x-user".to_owned(), "eve".to_owned())];
        let call = RouteCall {
            path: "/v2/items?debug=1",
            method: "GET",
            authority: "cart:8080".to_owned(),
            scheme: "http",
            headers: &headers,
            port: 8080,
            client: None,
            ignores_case: false,
        };
        for (text, expected) in [
            ("{}", Tri::Yes),
            ("{match: [{uri: {prefix: /v2}}]}", Tri::Yes),
            ("{match: [{uri: {exact: /v2/items}}]}", Tri::Yes),
            ("{match: [{uri: {exact: /V2/items}}]}", Tri::No),
            (
                "{match: [{uri: {exact: /V2/items}, ignoreUriCase: true}]}",
                Tri::Yes,
            ),
            ("{match: [{headers: {x-user: {exact: eve}}}]}", Tri::Yes),
            ("{match: [{headers: {x-user: {}}}]}", Tri::Yes),
            ("{match: [{headers: {x-other: {}}}]}", Tri::No),
            ("{match: [{withoutHeaders: {x-user: {}}}]}", Tri::No),
            ("{match: [{queryParams: {debug: {exact: '1'}}}]}", Tri::Yes),
            ("{match: [{port: 80}]}", Tri::No),
            ("{match: [{port: 80}, {port: 8080}]}", Tri::Yes),
            ("{match: [{method: {regex: 'P.*|GET'}}]}", Tri::Yes),
        ] {
            let route = yaml::load(text)
                .documents
                .into_iter()
                .next()
                .expect("it is YAML");
            assert_eq!(call.fits(&route), expected, "{text}");
        }
    }
}
