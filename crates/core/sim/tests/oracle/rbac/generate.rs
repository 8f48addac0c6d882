//! Policies near the edges of their matchers, and requests that fit them.

use std::net::IpAddr;

use meshladder_sim::rbac::RbacRule;
use meshladder_sim::{Request, RequestState, Tri};
use meshladder_text::json::Raw;
use serde_json::{Value, json};

use crate::harness::{Answer, Coverage, Random};

/// Every kind of condition, by the name it is counted under.
pub(crate) const CONDITIONS: [&str; 18] = [
    "permission header",
    "permission url_path",
    "permission uri_template",
    "permission destination_ip",
    "permission destination_port",
    "permission destination_port_range",
    "permission requested_server_name",
    "permission metadata",
    "permission sourced_metadata",
    "principal header",
    "principal url_path",
    "principal source_ip",
    "principal direct_remote_ip",
    "principal remote_ip",
    "principal filter_state",
    "principal sourced_metadata",
    "principal and_ids",
    "permission not_rule",
];

/// Source and destination of a connection.
pub(crate) const ADDRESSES: [(&str, &str); 6] = [
    ("10.1.2.3:1000", "10.0.0.1:80"),
    ("10.1.2.4:1000", "10.0.0.2:8080"),
    ("10.2.0.1:1000", "10.0.1.1:81"),
    ("127.0.0.1:1000", "127.0.0.1:443"),
    ("[fd00::1]:1000", "[fd00::2]:80"),
    ("[fd01::1]:1000", "[fd00::1:2]:9090"),
];

pub(crate) const FORWARDED: [&str; 6] = [
    "10.1.2.3, 10.9.9.9",
    "10.1.2.3,10.2.0.1,10.9.9.9",
    "10.9.9.9",
    "nonsense, 10.9.9.9",
    "fd00::1, 10.9.9.9",
    "10.2.0.9,10.1.2.3",
];

const RANGES: [(&str, u8); 12] = [
    ("10.1.2.3", 32),
    ("10.1.2.0", 24),
    ("10.1.0.0", 16),
    ("10.0.0.0", 8),
    ("10.0.0.0", 31),
    ("10.0.0.2", 32),
    ("127.0.0.0", 8),
    ("127.0.0.2", 31),
    ("0.0.0.0", 0),
    ("fd00::", 16),
    ("fd00::1", 128),
    ("::", 0),
];

const TEXTS: [&str; 8] = ["a", "ab", "A", "", "b", "a,b", "abc", " a b"];
const PATHS: [&str; 12] = [
    "/", "/a", "/a/", "/a/b", "/A", "/ab", "/a/b/c", "/a?x=1", "/a/b?/c", "/b", "/a;x=1", "/a%2Fb",
];
const METHODS: [&str; 4] = ["GET", "POST", "DELETE", "PUT"];
const PEERS: [&str; 4] = [
    "spiffe://cluster.local/ns/shop/sa/cart",
    "spiffe://cluster.local/ns/shop/sa/cart-2",
    "spiffe://td/ns/tools/sa/curl",
    "spiffe://cluster.local/ns/tools/sa/cart",
];

/// The filters of an RBAC configuration with the leaves that are in it.
pub(crate) struct Policies {
    pub(crate) config: Value,
    leaves: Vec<Leaf>,
}

/// A condition that is counted.
pub(crate) struct Leaf {
    name: String,
    rule: RbacRule,
}

pub(crate) fn socket(text: &str) -> (IpAddr, u16) {
    let address: std::net::SocketAddr = text.parse().expect("an address");
    (address.ip(), address.port())
}

pub(crate) fn proxy_line(address: usize) -> String {
    let ((source, from), (destination, to)) =
        (socket(ADDRESSES[address].0), socket(ADDRESSES[address].1));
    let family = if source.is_ipv6() { "TCP6" } else { "TCP4" };
    format!("PROXY {family} {source} {destination} {from} {to}\r\n")
}

/// What is in the metadata of every route.
pub(crate) fn metadata() -> Value {
    json!({"text": "a", "number": 2, "flag": true, "nothing": null, "list": ["a", 2, false], "object": {"text": "ab"}})
}

impl Policies {
    /// "Found header rule, not supported by RBAC network filter": Envoy refuses them there.
    pub(crate) fn for_tcp(random: &mut Random) -> Self {
        loop {
            let policies = Self::generate(random);
            if !policies
                .leaves
                .iter()
                .any(|leaf| leaf.name.ends_with(" header"))
            {
                return policies;
            }
        }
    }

    pub(crate) fn generate(random: &mut Random) -> Self {
        let mut leaves = Vec::new();
        let mut config = json!({});
        if random.chance(95) {
            config["rules"] = rules(random, &mut leaves);
            if random.chance(20) {
                config["rules_stat_prefix"] = "p_".into();
            }
        }
        if random.chance(30) {
            config["shadow_rules"] = rules(random, &mut leaves);
            if random.chance(50) {
                config["shadow_rules_stat_prefix"] = "p_".into();
            }
        }
        Self { config, leaves }
    }

    pub(crate) fn count(&self, state: &RequestState<'_>, answer: &Answer, coverage: &mut Coverage) {
        for leaf in &self.leaves {
            coverage.hit(&leaf.name, leaf.rule.matches(state) == Tri::Yes);
        }
        let details = answer.header("x-o-details");
        let outcome = match self.config["rules"]["action"].as_str() {
            None => "without rules",
            Some("LOG") => "logged",
            Some(_) if details.ends_with("[none]") => "denied by none",
            Some(_) if answer.status == 403 => "denied by a policy",
            Some("ALLOW") => "allowed by a policy",
            Some(_) => "denied by no policy",
        };
        coverage.hit(outcome, true);
    }
}

/// Makes a request that policies look at.
pub(crate) fn shape(request: &mut Request, random: &mut Random) {
    (*random.pick(&METHODS)).clone_into(&mut request.method);
    (*random.pick(&PATHS)).clone_into(&mut request.path);
    (*random.pick(&["a.test", "b.test:80", "A.TEST"])).clone_into(&mut request.authority);
    for name in ["x-a", "x-b"] {
        for _ in 0..*random.pick(&[0, 0, 1, 1, 2]) {
            request
                .headers
                .push((name.to_owned(), random.pick(&TEXTS).trim().to_owned()));
        }
    }
    if random.chance(70) {
        request
            .headers
            .push(("x-peer".to_owned(), (*random.pick(&PEERS)).to_owned()));
    }
}

fn rules(random: &mut Random, leaves: &mut Vec<Leaf>) -> Value {
    const NAMES: [&str; 6] = [
        "ns[shop]-policy[b]-rule[0]",
        "ns[shop]-policy[a]-rule[10]",
        "ns[shop]-policy[a]-rule[9]",
        "with blanks\tin it",
        "Z",
        "a",
    ];
    let mut policies = json!({});
    for _ in 0..random.below(4) {
        policies[*random.pick(&NAMES)] = json!({
            "permissions": some(random, leaves, true, 0),
            "principals": some(random, leaves, false, 0),
        });
    }
    json!({"action": random.pick(&["ALLOW", "ALLOW", "DENY", "DENY", "LOG"]), "policies": policies})
}

fn some(
    random: &mut Random,
    leaves: &mut Vec<Leaf>,
    is_permission: bool,
    depth: usize,
) -> Vec<Value> {
    (0..=random.below(3))
        .map(|_| rule(random, leaves, is_permission, depth))
        .collect()
}

fn rule(random: &mut Random, leaves: &mut Vec<Leaf>, is_permission: bool, depth: usize) -> Value {
    let kind = if depth < 3 { random.below(10) } else { 9 };
    let (side, set) = if is_permission {
        ("rules", "rules")
    } else {
        ("ids", "ids")
    };
    let value = match kind {
        0 | 1 => {
            json!({format!("and_{side}"): {set: some(random, leaves, is_permission, depth + 1)}})
        }
        2 | 3 => {
            json!({format!("or_{side}"): {set: some(random, leaves, is_permission, depth + 1)}})
        }
        4 => {
            let name = if is_permission { "not_rule" } else { "not_id" };
            json!({name: rule(random, leaves, is_permission, depth + 1)})
        }
        5 => json!({"any": true}),
        _ if is_permission => permission(random),
        _ => principal(random),
    };
    let name = value
        .as_object()
        .and_then(|object| object.keys().next())
        .expect("a rule has a kind")
        .clone();
    let side = if is_permission {
        "permission"
    } else {
        "principal"
    };
    let text = value.to_string();
    let raw = Raw::of(&text).expect("JSON");
    let rule = if is_permission {
        RbacRule::permission(raw)
    } else {
        RbacRule::principal(raw)
    };
    leaves.push(Leaf {
        name: format!("{side} {name}"),
        rule,
    });
    value
}

fn permission(random: &mut Random) -> Value {
    match random.below(12) {
        0 | 1 => json!({"header": header(random)}),
        2 | 3 => json!({"url_path": {"path": text(random, &PATHS)}}),
        4 => {
            let template = *random.pick(&["/a/*", "/a/**", "/{x}", "/a/{x=*}/c", "/**"]);
            json!({"uri_template": {"name": "envoy.path.match.uri_template.uri_template_matcher", "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.path.match.uri_template.v3.UriTemplateMatchConfig",
                "path_template": template}}})
        }
        5 => json!({"destination_ip": range(random)}),
        6 => json!({"destination_port": random.pick(&[80, 81, 443, 8080, 0])}),
        7 => {
            let start = *random.pick(&[0, 80, 81, 443]);
            json!({"destination_port_range": {"start": start, "end": start + random.pick(&[1, 2, 8000])}})
        }
        8 => json!({"requested_server_name": text(random, &["", "a.test"])}),
        9 => json!({"metadata": metadata_matcher(random)}),
        10 => {
            json!({"sourced_metadata": {"metadata_matcher": metadata_matcher(random), "metadata_source": "ROUTE"}})
        }
        _ => {
            json!({"header": {"name": ":method", "string_match": {"exact": random.pick(&METHODS)}}})
        }
    }
}

fn principal(random: &mut Random) -> Value {
    match random.below(12) {
        0 | 1 => json!({"header": header(random)}),
        2 => json!({"url_path": {"path": text(random, &PATHS)}}),
        3 => json!({"source_ip": range(random)}),
        4 => json!({"direct_remote_ip": range(random)}),
        5 | 6 => json!({"remote_ip": range(random)}),
        7 | 8 => {
            json!({"filter_state": {"key": "io.istio.peer_principal", "string_match": text(random, &PEERS)}})
        }
        9 => {
            json!({"sourced_metadata": {"metadata_matcher": metadata_matcher(random), "metadata_source": "ROUTE"}})
        }
        10 => json!({"authenticated": {}}),
        _ => json!({"authenticated": {"principal_name": text(random, &PEERS)}}),
    }
}

fn header(random: &mut Random) -> Value {
    let name = *random.pick(&["x-a", "x-a", "x-b", ":path", ":authority", ":method", "X-A"]);
    let mut matcher = match random.below(4) {
        0 => json!({"present_match": random.chance(50)}),
        1 if name == ":path" => json!({"string_match": text(random, &PATHS)}),
        _ => json!({"string_match": text(random, &TEXTS)}),
    };
    matcher["name"] = name.into();
    if random.chance(30) {
        matcher["invert_match"] = true.into();
    }
    if random.chance(20) {
        matcher["treat_missing_header_as_empty"] = true.into();
    }
    matcher
}

/// A string matcher for one of these, or for a part of it.
fn text(random: &mut Random, of: &[&str]) -> Value {
    let text = *random.pick(of);
    let half = text.len() / 2;
    let mut matcher = match random.below(5) {
        0 | 1 => json!({"exact": text}),
        2 if !text.is_empty() => json!({"prefix": text[..half.max(1)]}),
        3 if !text.is_empty() => json!({"suffix": text[half..]}),
        4 => {
            json!({"safe_regex": {"regex": random.pick(&[".*", ".+", "a|ab", "/a.*", "[ab]+", "spiffe://.*/ns/shop/sa/.*"])}})
        }
        _ if text.is_empty() => json!({"exact": ""}),
        _ => json!({"contains": text[half..]}),
    };
    if matcher.get("safe_regex").is_none() && random.chance(25) {
        matcher["ignore_case"] = true.into();
    }
    matcher
}

fn range(random: &mut Random) -> Value {
    let (address, length) = *random.pick(&RANGES);
    json!({"address_prefix": address, "prefix_len": length})
}

fn metadata_matcher(random: &mut Random) -> Value {
    let path = *random.pick(&[
        "text",
        "number",
        "flag",
        "nothing",
        "list",
        "object.text",
        "object",
        "none",
    ]);
    let path: Vec<_> = path.split('.').map(|key| json!({"key": key})).collect();
    let namespace = *random.pick(&["route", "route", "route", "other"]);
    json!({"filter": namespace, "path": path, "value": value(random, 0), "invert": random.chance(20)})
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth < 2 { 8 } else { 6 }) {
        0 => json!({"null_match": {}}),
        1 => json!({"double_match": {"exact": random.pick(&[2.0, 2.5])}}),
        2 => {
            json!({"double_match": {"range": {"start": random.pick(&[1, 2]), "end": random.pick(&[2, 3])}}})
        }
        3 => json!({"string_match": text(random, &["a", "ab", "b"])}),
        4 => json!({"bool_match": random.chance(50)}),
        5 => json!({"present_match": random.chance(70)}),
        6 => json!({"list_match": {"one_of": value(random, depth + 1)}}),
        _ => {
            json!({"or_match": {"value_matchers": [value(random, depth + 1), value(random, depth + 1)]}})
        }
    }
}
