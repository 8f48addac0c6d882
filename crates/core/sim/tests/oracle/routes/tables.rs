//! Route tables with many overlaps.

use serde_json::{Value, json};

use super::matchers::{gallery, route_match};
use crate::harness::Random;

/// Clusters that exist, without endpoints.
pub(super) const CLUSTERS: &[&str] = &["c0", "c1", "c2", "c3"];

const LABELS: &[&str] = &["a", "b", "test", "x-y"];

/// A `RouteConfiguration`.
pub(super) fn generate(random: &mut Random) -> Value {
    let mut domains = domains(random);
    let hosts = random.below(20) + 1;
    let mut virtual_hosts = Vec::new();
    for n in 0..hosts {
        let take = (random.below(3) + 1).min(domains.len());
        let own: Vec<_> = domains.drain(..take).collect();
        if own.is_empty() {
            break;
        }
        virtual_hosts.push(virtual_host(random, n, &own));
    }
    virtual_hosts.push(gallery(random));
    let mut table =
        json!({"name": "table", "virtual_hosts": virtual_hosts, "validate_clusters": false});
    for (key, percent) in [
        ("ignore_port_in_host_matching", 40),
        ("ignore_path_parameters_in_path_matching", 25),
    ] {
        if random.chance(percent) {
            table[key] = json!(true);
        }
    }
    if random.chance(10) {
        table["vhost_header"] = json!("X-A");
    }
    table["most_specific_header_mutations_wins"] = json!(random.chance(30));
    change_headers(random, "table", &mut table);
    table
}

/// Different domains of all kinds, shuffled.
fn domains(random: &mut Random) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for _ in 0..60 {
        let mut name: Vec<_> = (0..=random.below(3)).map(|_| random.word(LABELS)).collect();
        let shape = random.below(8);
        if shape == 0 {
            name.push("");
        }
        let mut domain = name.join(".");
        match shape {
            1 => domain = format!("*.{domain}"),
            2 => domain = format!("*{}", &domain[1..]),
            3 => domain = format!("{domain}.*"),
            4 => domain.push('*'),
            5 => domain.push_str(":8080"),
            6 => domain = domain.to_uppercase(),
            _ => {}
        }
        if domain != "*" && !all.iter().any(|known| known.eq_ignore_ascii_case(&domain)) {
            all.push(domain);
        }
    }
    if random.chance(60) {
        let at = random.below(all.len());
        all.insert(at.min(5), "*".to_owned());
    }
    all
}

fn virtual_host(random: &mut Random, n: usize, domains: &[String]) -> Value {
    let routes: Vec<_> = (0..=random.below(10)).map(|r| route(random, r)).collect();
    let mut host = json!({"name": format!("v{n}"), "domains": domains, "routes": routes});
    if random.chance(8) {
        host["require_tls"] = json!("ALL");
    }
    change_headers(random, "host", &mut host);
    host
}

fn route(random: &mut Random, n: usize) -> Value {
    let mut route = json!({"name": format!("r{n}"), "match": route_match(random)});
    let is_template = route["match"].get("path_match_policy").is_some();
    match random.below(10) {
        0 => route["redirect"] = redirect(random, is_template),
        1 => {
            let status = *random.pick(&[200, 201, 204, 302, 404, 418, 503]);
            route["direct_response"] =
                json!({"status": status, "body": {"inline_string": "hello"}});
        }
        2 if random.chance(20) => route["non_forwarding_action"] = json!({}),
        _ => route["route"] = action(random, is_template),
    }
    change_headers(random, "route", &mut route);
    route
}

fn redirect(random: &mut Random, is_template: bool) -> Value {
    let mut redirect = json!({"strip_query": random.chance(30)});
    match random.below(3) {
        0 => redirect["https_redirect"] = json!(true),
        1 => redirect["scheme_redirect"] = json!(random.word(&["http", "https", "ftp"])),
        _ => {}
    }
    match random.below(4) {
        0 => redirect["path_redirect"] = json!(random.word(&["/new", "/new?r=1", "new"])),
        1 if !is_template => redirect["prefix_rewrite"] = json!(random.word(&["/new", "/", "new"])),
        2 if !is_template => redirect["regex_rewrite"] = rewrite(random),
        _ => {}
    }
    if random.chance(30) {
        redirect["host_redirect"] = json!("other.test");
    }
    if random.chance(30) {
        redirect["port_redirect"] = json!(random.pick(&[80, 8443]));
    }
    let codes = [
        "MOVED_PERMANENTLY",
        "FOUND",
        "SEE_OTHER",
        "TEMPORARY_REDIRECT",
        "PERMANENT_REDIRECT",
    ];
    redirect["response_code"] = json!(random.word(&codes));
    redirect
}

fn rewrite(random: &mut Random) -> Value {
    let (pattern, substitution) = *random.pick(&[
        ("/foo", "/new"),
        ("o", "0"),
        ("(/[^/]*)(.*)", r"\2\1"),
        ("^/(.*)$", r"/x/\1\\"),
        ("(a)|(b)", r"<\1\2>"),
        ("x*", "-"),
        (".*", ""),
        (r"\w+", r"[\0]"),
    ]);
    json!({"pattern": {"regex": pattern}, "substitution": substitution})
}

fn action(random: &mut Random, is_template: bool) -> Value {
    let mut action = json!({});
    match random.below(10) {
        0..=5 => action["cluster"] = json!(name(random)),
        6 => action["cluster_header"] = json!("X-Cluster"),
        _ => action["weighted_clusters"] = weighted(random),
    }
    let codes = ["SERVICE_UNAVAILABLE", "NOT_FOUND", "INTERNAL_SERVER_ERROR"];
    if random.chance(20) {
        action["cluster_not_found_response_code"] = json!(random.word(&codes));
    }
    match random.below(6) {
        0 if !is_template => {
            action["prefix_rewrite"] = json!(random.word(&["/new", "/", "/new/", "new"]));
        }
        1 => action["regex_rewrite"] = rewrite(random),
        _ => {}
    }
    match random.below(8) {
        0 => action["host_rewrite_literal"] = json!("rewritten.test"),
        1 => action["host_rewrite_header"] = json!("X-B"),
        2 => {
            let rewrite = json!({"pattern": {"regex": "^/([^/]*).*$"}, "substitution": r"\1.test"});
            action["host_rewrite_path_regex"] = rewrite;
        }
        _ => {}
    }
    if random.chance(10) {
        action["upgrade_configs"] =
            json!([{"upgrade_type": "WebSocket", "enabled": random.chance(60)}]);
    }
    action
}

fn weighted(random: &mut Random) -> Value {
    let clusters: Vec<_> = (0..=random.below(3))
        .map(|n| {
            // The sum must not be 0.
            let weight = if n == 0 {
                random.below(5) + 1
            } else {
                random.below(6)
            };
            let mut entry = if random.chance(85) {
                json!({"name": name(random)})
            } else {
                json!({"cluster_header": "x-cluster"})
            };
            entry["weight"] = json!(weight);
            if random.chance(20) {
                entry["host_rewrite_literal"] = json!("entry.test");
            }
            change_headers(random, "entry", &mut entry);
            entry
        })
        .collect();
    let mut weighted = json!({"clusters": clusters});
    if random.chance(70) {
        weighted["header_name"] = json!("X-Number");
    }
    // The runtime must not take all weights away.
    if random.chance(20) && weighted["clusters"][0]["name"] != "c0" {
        weighted["runtime_key_prefix"] = json!("weights");
    }
    weighted
}

fn name(random: &mut Random) -> &'static str {
    if random.chance(10) {
        "nope"
    } else {
        random.word(CLUSTERS)
    }
}

/// Sometimes has a message change the header `x-added`.
fn change_headers(random: &mut Random, level: &str, message: &mut Value) {
    let actions = [
        "APPEND_IF_EXISTS_OR_ADD",
        "ADD_IF_ABSENT",
        "OVERWRITE_IF_EXISTS_OR_ADD",
        "OVERWRITE_IF_EXISTS",
    ];
    if random.chance(15) {
        let value = if random.chance(10) { "100%%" } else { level };
        let header = json!({"key": "X-Added", "value": value});
        message["request_headers_to_add"] =
            json!([{"header": header, "append_action": random.word(&actions)}]);
    }
    if random.chance(5) {
        message["request_headers_to_remove"] = json!(["X-Added"]);
    }
}
