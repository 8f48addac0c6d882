//! `proxy-config route`.

use std::borrow::Cow;

use super::Table;
use meshladder_capture::envoy::dump::{Dump, Resource, ResourceState, Section};
use meshladder_capture::envoy::name::istio_config;
use meshladder_text::json::Raw;

mod domains;
mod path;

pub(super) use path::{describe_match, weighted};

/// The route configurations a listing shows: dynamic ones, then static ones. istioctl only orders
/// names that are both numbers, which is no order at all; here numbers come first, in order, and
/// the others stay as Envoy has them.
pub fn select<'d, 'a>(dump: &'d Dump<'a>, name: Option<&str>, wide: bool) -> Vec<&'d Resource<'a>> {
    let shown = |r: &&Resource<'_>| {
        (wide || r.state != ResourceState::Error) && name.is_none_or(|name| r.name == name)
    };
    let mut routes: Vec<_> = dump.of(Section::Routes).filter(shown).collect();
    routes.sort_by_key(|r| {
        (
            r.state == ResourceState::Static,
            r.name.parse::<u64>().unwrap_or(u64::MAX),
        )
    });
    routes
}

/// The short table, a row a route.
pub fn table<'a>(configs: &[&Resource<'a>], named: bool, wide: bool) -> Table<'a> {
    const HEADER: [&str; 8] = [
        "NAME",
        "VHOST NAME",
        "DOMAINS",
        "MATCH",
        "VIRTUAL SERVICE",
        "CLUSTER",
        "STATE",
        "REJECTED",
    ];
    let columns = if wide { HEADER.len() } else { 5 };
    let mut table = Table::new(5, &HEADER[..columns]);
    for config in configs {
        let name: Cow<'a, str> = if named {
            format!("route/{}", config.name).into()
        } else {
            config.name.clone()
        };
        let rejected = config
            .error
            .as_ref()
            .map(|e| e.details.clone())
            .unwrap_or_default();
        for host in virtual_hosts(config.raw) {
            for route in host.routes {
                let row = [
                    name.clone(),
                    host.name.clone(),
                    host.domains.clone().into(),
                    route.matches.into(),
                    route.object.into(),
                    route.cluster.into(),
                    config.state.word().into(),
                    rejected.clone(),
                ];
                table.row(row.into_iter().take(columns));
            }
        }
    }
    table
}

/// The table of `--verbose=false`: how many virtual hosts each configuration has.
pub fn summary<'a>(configs: &[&Resource<'a>], named: bool) -> Table<'a> {
    let mut table = Table::new(5, &["NAME", "VIRTUAL HOSTS"]);
    for config in configs {
        let name: Cow<'a, str> = if named {
            format!("route/{}", config.name).into()
        } else {
            config.name.clone()
        };
        let count = config
            .raw
            .map_or(0, |raw| raw.list("virtual_hosts").count());
        table.row([name, count.to_string().into()]);
    }
    table
}

struct VirtualHostRows<'a> {
    name: Cow<'a, str>,
    domains: String,
    routes: Vec<RouteRow>,
}

struct RouteRow {
    matches: String,
    object: String,
    cluster: String,
}

fn virtual_hosts(config: Option<Raw<'_>>) -> impl Iterator<Item = VirtualHostRows<'_>> {
    config
        .into_iter()
        .flat_map(|raw| raw.list("virtual_hosts"))
        .map(|raw| {
            let mut host = VirtualHostRows {
                name: Cow::default(),
                domains: String::new(),
                routes: Vec::new(),
            };
            let mut any = false;
            raw.cursor().members(|key, value| match key {
                "name" => host.name = value.string().unwrap_or_default(),
                "domains" => host.domains = value.raw().map(domains::describe).unwrap_or_default(),
                "routes" => value.elements(|route| {
                    any = true;
                    host.routes.extend(route.raw().and_then(read_route));
                }),
                _ => {}
            });
            if !any {
                // Envoy answers 404 for a host that has no routes.
                host.routes.push(RouteRow {
                    matches: "/*".into(),
                    object: "404".into(),
                    cluster: String::new(),
                });
            }
            host
        })
}

/// None for routes to `PassthroughCluster`, which every sidecar has and nobody wrote.
fn read_route(raw: Raw<'_>) -> Option<RouteRow> {
    let mut route = RouteRow {
        matches: String::new(),
        object: String::new(),
        cluster: String::new(),
    };
    raw.cursor().members(|key, value| match key {
        "match" => route.matches = value.raw().map(describe_match).unwrap_or_default(),
        "metadata" => route.object = value.raw().and_then(istio_config).unwrap_or_default(),
        "route" => route.cluster = value.raw().map(path::describe_action).unwrap_or_default(),
        "redirect" => "redirect".clone_into(&mut route.cluster),
        "direct_response" => {
            let status = value
                .raw()
                .and_then(|d| d.get("status")?.number())
                .unwrap_or(0);
            route.cluster = format!("direct response {status}");
        }
        _ => {}
    });
    (route.cluster != "PassthroughCluster").then_some(route)
}
