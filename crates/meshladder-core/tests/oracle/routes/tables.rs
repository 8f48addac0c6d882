//! Route tables with many overlaps.

use serde_json::{Map, Value, json};

use super::patterns;
use crate::harness::Random;

/// Clusters that exist, without endpoints.
pub(super) const CLUSTERS: &[&str] = &["c0", "c1", "c2", "c3"];

const LABELS: &[&str] = &["a", "b", "test", "x-y"];

/// Texts of path specifiers, templates aside.
pub(super) const PATHS: &[&str] =
    &["/", "/foo", "/Foo", "/foo/bar", "/foobar", "/a", "/a.b", "/a/b/c", "/bar", "/foo%2fbar", "/foo;x", "/b?q", "/é"];

const TEMPLATES: &[&str] = &[
    "/*",
    "/**",
    "/foo/*",
    "/foo/**",
    "/{a}/bar",
    "/{a=foo/*}/b",
    "/foo/{x=**}",
    "/a/*/c",
    "/foo/*.b",
    "/a*",
    "/***",
    "/a.b",
    "/a/",
    "/foo=1",
];

/// Header names, as configurations write them.
pub(super) const HEADERS: &[&str] =
    &["x-a", "X-B", "x-c", ":method", ":path", ":authority", "user-agent", "host", ":scheme", "x-forwarded-proto"];

/// Values to match and to send.
pub(super) const VALUES: &[&str] = &[
    "",
    "1",
    "2",
    "10",
    "-1",
    "+1",
    "a",
    "A",
    "ab",
    "aB",
    "b",
    "k",
    "K",
    "2,1",
    "é",
    "٣",
    "ſ",
    "\u{212a}",
    "{",
    "&",
    "_",
    "a b",
    "abcd",
    "aé",
    "9223372036854775808",
];

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
    let mut table = json!({"name": "table", "virtual_hosts": virtual_hosts, "validate_clusters": false});
    for (key, percent) in [("ignore_port_in_host_matching", 40), ("ignore_path_parameters_in_path_matching", 25)] {
        if random.chance(percent) {
            table[key] = json!(true);
        }
    }
    if random.chance(10) {
        table["vhost_header"] = json!("X-A");
    }
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
    host
}

fn route(random: &mut Random, n: usize) -> Value {
    let mut route = json!({"name": format!("r{n}"), "match": route_match(random)});
    let is_template = route["match"].get("path_match_policy").is_some();
    match random.below(10) {
        0 => route["redirect"] = redirect(random, is_template),
        1 => {
            let status = *random.pick(&[200, 201, 204, 302, 404, 418, 503]);
            route["direct_response"] = json!({"status": status, "body": {"inline_string": "hello"}});
        }
        2 if random.chance(20) => route["non_forwarding_action"] = json!({}),
        _ => route["route"] = action(random, is_template),
    }
    route
}

fn route_match(random: &mut Random) -> Value {
    let mut m = Map::new();
    let path = random.word(PATHS);
    match random.below(12) {
        0..=3 => m.insert("prefix".to_owned(), json!(path)),
        4 | 5 => m.insert("path".to_owned(), json!(path)),
        // "must not end in a slash, and must not hold a query".
        6 | 7 => m.insert(
            "path_separated_prefix".to_owned(),
            json!(if path == "/" || path.contains('?') { "/foo" } else { path }),
        ),
        8 | 9 => m.insert("safe_regex".to_owned(), json!({"regex": patterns::for_path(random)})),
        10 => m.insert("path_match_policy".to_owned(), template(random.word(TEMPLATES))),
        _ if random.chance(30) => m.insert("connect_matcher".to_owned(), json!({})),
        _ => m.insert("prefix".to_owned(), json!("/")),
    };
    if random.chance(25) {
        m.insert("case_sensitive".to_owned(), json!(false));
    }
    let some = |random: &mut Random, percent: usize| if random.chance(percent) { 1 + random.below(2) } else { 0 };
    let headers: Vec<_> = (0..some(random, 50)).map(|_| header(random)).collect();
    let query: Vec<_> = (0..some(random, 15)).map(|_| query(random)).collect();
    let cookies: Vec<_> = (0..some(random, 10)).map(|_| cookie(random)).collect();
    for (key, list) in [("headers", headers), ("query_parameters", query), ("cookies", cookies)] {
        if !list.is_empty() {
            m.insert(key.to_owned(), json!(list));
        }
    }
    if random.chance(5) {
        m.insert("grpc".to_owned(), json!({}));
    }
    if random.chance(5) {
        m.insert("tls_context".to_owned(), json!({"presented": random.chance(50)}));
    }
    if random.chance(10) {
        let numerator = *random.pick(&[0, 0, 100, 100, 30, 70]);
        let mut fraction = json!({"default_value": {"numerator": numerator}});
        if random.chance(40) {
            fraction["runtime_key"] = json!(random.word(&["fraction.all", "fraction.none", "fraction.missing"]));
        }
        m.insert("runtime_fraction".to_owned(), fraction);
    }
    Value::Object(m)
}

fn template(text: &str) -> Value {
    json!({"name": "envoy.path.match.uri_template.uri_template_matcher", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.path.match.uri_template.v3.UriTemplateMatchConfig",
        "path_template": text,
    }})
}

fn header(random: &mut Random) -> Value {
    let mut header = json!({"name": random.word(HEADERS)});
    let value = random.word(VALUES);
    let present = random.chance(50);
    match random.below(14) {
        0 => {}
        1 | 2 => header["present_match"] = json!(present),
        3 => {
            let start = i64::try_from(random.below(12)).expect("a small number") - 2;
            header["range_match"] = json!({"start": start.to_string(), "end": (start + 9).to_string()});
        }
        4 => header["exact_match"] = json!(value),
        5 if !value.is_empty() => header["prefix_match"] = json!(value),
        6 if !value.is_empty() => header["suffix_match"] = json!(value),
        7 if !value.is_empty() => header["contains_match"] = json!(value),
        8 => header["safe_regex_match"] = json!({"regex": patterns::for_value(random)}),
        _ => header["string_match"] = string(random),
    }
    if random.chance(25) {
        header["invert_match"] = json!(true);
    }
    if random.chance(25) {
        header["treat_missing_header_as_empty"] = json!(true);
    }
    header
}

fn string(random: &mut Random) -> Value {
    let value = random.word(VALUES);
    let some = if value.is_empty() { "a" } else { value };
    let mut matcher = match random.below(6) {
        0 => json!({"exact": value}),
        1 => json!({"prefix": some}),
        2 => json!({"suffix": some}),
        3 => json!({"contains": some}),
        _ => json!({"safe_regex": {"regex": patterns::for_value(random)}}),
    };
    // Envoy refuses it with a regular expression.
    if random.chance(40) && matcher.get("safe_regex").is_none() {
        matcher["ignore_case"] = json!(true);
    }
    matcher
}

fn query(random: &mut Random) -> Value {
    let mut query = json!({"name": random.word(&["q", "Q", "a"])});
    match random.below(5) {
        0 => {}
        1 => query["present_match"] = json!(random.chance(50)),
        _ => query["string_match"] = string(random),
    }
    query
}

fn cookie(random: &mut Random) -> Value {
    let mut cookie = json!({"name": random.word(&["a", "b"]), "string_match": string(random)});
    if random.chance(30) {
        cookie["invert_match"] = json!(true);
    }
    cookie
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
    let codes = ["MOVED_PERMANENTLY", "FOUND", "SEE_OTHER", "TEMPORARY_REDIRECT", "PERMANENT_REDIRECT"];
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
        0 if !is_template => action["prefix_rewrite"] = json!(random.word(&["/new", "/", "/new/", "new"])),
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
        action["upgrade_configs"] = json!([{"upgrade_type": "WebSocket", "enabled": random.chance(60)}]);
    }
    action
}

fn weighted(random: &mut Random) -> Value {
    let clusters: Vec<_> = (0..=random.below(3))
        .map(|n| {
            // The sum must not be 0.
            let weight = if n == 0 { random.below(5) + 1 } else { random.below(6) };
            let mut entry =
                if random.chance(85) { json!({"name": name(random)}) } else { json!({"cluster_header": "x-cluster"}) };
            entry["weight"] = json!(weight);
            if random.chance(20) {
                entry["host_rewrite_literal"] = json!("entry.test");
            }
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
    if random.chance(10) { "nope" } else { random.word(CLUSTERS) }
}
