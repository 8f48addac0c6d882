//! Requests near what a route table matches.

use std::net::Ipv4Addr;

use meshladder_sim::matcher::{PathMatch, without_query_and_fragment};
use meshladder_sim::request::{Claims, Connection};
use meshladder_sim::route::{RouteMatch, RouteTable};
use meshladder_sim::{Request, Tri};
use serde_json::Value;

use super::matchers::{PATHS, VALUES};
use crate::harness::Random;

/// A request as it is sent.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) method: &'static str,
    pub(super) target: String,
    pub(super) host: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) is_http_10: bool,
}

impl Sent {
    /// The bytes on the wire.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let version = if self.is_http_10 { "1.0" } else { "1.1" };
        let mut text = format!("{} {} HTTP/{version}\r\n", self.method, self.target);
        if !(self.is_http_10 && self.host.is_empty()) {
            text.extend(["Host: ", &*self.host, "\r\n"]);
        }
        for (name, value) in &self.headers {
            text.extend([name, ": ", &**value, "\r\n"]);
        }
        (text + "\r\n").into_bytes()
    }

    /// The request for the evaluator.
    pub(super) fn request(&self, port: u16) -> Request {
        let is_connect = self.method == "CONNECT";
        Request {
            connection: Connection {
                destination: (Ipv4Addr::LOCALHOST.into(), port),
                source: Some((Ipv4Addr::LOCALHOST.into(), 1)),
                tls: None,
                plain_http: Some(if self.is_http_10 {
                    "http/1.0"
                } else {
                    "http/1.1"
                }),
            },
            method: self.method.to_owned(),
            scheme: "http".to_owned(),
            authority: if is_connect {
                self.target.clone()
            } else {
                self.host.clone()
            },
            path: if is_connect {
                String::new()
            } else {
                self.target.clone()
            },
            headers: self
                .headers
                .iter()
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect(),
            claims: Claims::None,
            unknown_headers: Vec::new(),
        }
    }
}

/// A request that one of the table's routes takes, or nearly so. The compiled table only steers:
/// what the request should do is Envoy's to say.
pub(super) fn generate(random: &mut Random, table: &Value, compiled: &RouteTable<'_>) -> Sent {
    let hosts = table["virtual_hosts"]
        .as_array()
        .expect("there are virtual hosts");
    // The last one is the gallery.
    let h = if random.chance(20) {
        hosts.len() - 1
    } else {
        random.below(hosts.len())
    };
    let routes = hosts[h]["routes"].as_array().expect("there are routes");
    let r = random.below(routes.len());
    let aim = Aim {
        m: &routes[r]["match"],
        compiled: &compiled.virtual_hosts[h].routes[r].route_match,
    };
    let is_connect = aim.m.get("connect_matcher").is_some() && random.chance(80);
    let method = match random.below(20) {
        _ if is_connect => "CONNECT",
        0 => "POST",
        1 => "HEAD",
        2 => "OPTIONS",
        _ => "GET",
    };
    let host = host(random, &hosts[h]);
    let target = aim.target(random);
    let mut sent = Sent {
        method,
        target,
        host,
        headers: Vec::new(),
        is_http_10: random.chance(2),
    };
    if is_connect {
        // The codec takes nothing but `host:port`.
        let is_name = |name: &&str| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b))
        };
        let name = sent.host.split(':').next().filter(is_name);
        sent.target = format!(
            "{}:{}",
            name.unwrap_or("a"),
            random.word(&["80", "8080", "443"])
        );
        sent.host.clone_from(&sent.target);
    }
    aim.headers(random, &mut sent);
    others(random, table, aim.m.get("grpc").is_some(), &mut sent);
    sent
}

/// The route that a request aims at.
struct Aim<'t> {
    m: &'t Value,
    compiled: &'t RouteMatch,
}

/// How often to try for a value that does what is wished.
const TRIES: usize = 12;

impl Aim<'_> {
    /// A path with its query.
    fn target(&self, random: &mut Random) -> String {
        let wish = random.chance(65);
        let mut path = path(random, self.m);
        for _ in 0..TRIES {
            let is_match = |matcher: &PathMatch| {
                matcher.matches(without_query_and_fragment(&path)) == Tri::Yes
            };
            if self.compiled.path.as_ref().is_some_and(is_match) == wish {
                break;
            }
            path = self::path(random, self.m);
        }
        let Some(list) = self.m["query_parameters"].as_array() else {
            if random.chance(15) {
                path.push_str(random.word(&[
                    "?q=1",
                    "?",
                    "?q",
                    "?q=a&q=b",
                    "?Q=1&&=&a=b=c",
                    "?q=%31",
                    "?/../x//y",
                ]));
            }
            return path;
        };
        for (query, compiled) in list.iter().zip(&self.compiled.query_parameters) {
            let wish = random.chance(65);
            let mut one = pair(random, query);
            for _ in 0..TRIES {
                if (compiled.matches(&format!("/?{one}")) == Tri::Yes) == wish {
                    break;
                }
                one = pair(random, query);
            }
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&one);
        }
        path
    }

    /// Headers and cookies.
    fn headers(&self, random: &mut Random, sent: &mut Sent) {
        for (header, compiled) in self.m["headers"]
            .as_array()
            .into_iter()
            .flatten()
            .zip(&self.compiled.headers)
        {
            let wish = random.chance(70);
            let name = header["name"].as_str().expect("a name");
            for _ in 0..TRIES {
                let mut lines = lines(random, name, header);
                let probe = Sent {
                    headers: lines.clone(),
                    ..sent.clone()
                };
                if (compiled.matches(&probe.request(80)) == Tri::Yes) == wish {
                    sent.headers.append(&mut lines);
                    break;
                }
            }
            if matches!(name, ":authority" | "host") && random.chance(20) {
                let value = value(random, header);
                let is_host = value.bytes().all(|b| b.is_ascii_alphanumeric());
                sent.host = if is_host { value } else { sent.host.clone() };
            }
        }
        for (cookie, compiled) in self.m["cookies"]
            .as_array()
            .into_iter()
            .flatten()
            .zip(&self.compiled.cookies)
        {
            let wish = random.chance(70);
            for _ in 0..TRIES {
                let line = self::cookie(random, cookie);
                let probe = Sent {
                    headers: vec![("Cookie", line.clone())],
                    ..sent.clone()
                };
                if (compiled.matches(&probe.request(80)) == Tri::Yes) == wish {
                    sent.headers.push(("Cookie", line));
                    break;
                }
            }
        }
    }
}

fn host(random: &mut Random, virtual_host: &Value) -> String {
    let domains = virtual_host["domains"]
        .as_array()
        .expect("there are domains");
    let domain = random.pick(domains).as_str().expect("a domain");
    let star = random.word(&["x", "a", "x-y", "b.x", "", "X"]);
    let mut host = domain.replace('*', star);
    match random.below(12) {
        0 => host.push_str(":8080"),
        1 => host.push_str(":80"),
        2 => host.push('.'),
        3 => host = host.to_uppercase(),
        4 => host.insert_str(0, "a."),
        5 => host.push_str(".:80"),
        6 if random.chance(20) => {
            random
                .word(&["[::1]", "[::1]:80", "a b", "", "a:x", "a:1:2", "é"])
                .clone_into(&mut host);
        }
        _ => {}
    }
    host
}

/// A path near what the route takes.
fn path(random: &mut Random, m: &Value) -> String {
    let from = ["prefix", "path", "path_separated_prefix"]
        .iter()
        .find_map(|key| m[key].as_str());
    let template = m["path_match_policy"]["typed_config"]["path_template"].as_str();
    let samples = [
        "/foo", "/a.b", "/a", "/aa", "/ab", "/%c3%a91", "/k", "/-", "/foo/", "/FOO", "/a{,2}",
        "/1", "/b/a", "/&a",
    ];
    let regex = m["safe_regex"]["regex"]
        .as_str()
        .map(|_| random.word(&samples));
    let text = from.or(template).or(regex).unwrap_or("/foo");
    let mut path = text.replace("**", random.word(&["", "a", "a/b"]));
    path = path.replace('*', random.word(&["a", "b", "a%2fb", "a=1", ""]));
    path = path
        .replace("{a}", "foo")
        .replace("{a=foo/a}", "foo/a")
        .replace("{x=}", "")
        .replace('é', "%C3%A9");
    if random.chance(15) {
        path = random.word(PATHS).replace('é', "%c3%a9");
    }
    for _ in 0..random.below(3) {
        mutate(random, &mut path);
    }
    if !path.starts_with('/') {
        path.insert(0, '/');
    }
    path
}

fn mutate(random: &mut Random, path: &mut String) {
    let path_end = path.find('?').unwrap_or(path.len());
    match random.below(16) {
        0 => path.insert(path_end, '/'),
        1 => path.insert(path_end, 'x'),
        2 => path.insert_str(path_end, "/bar"),
        3 => {
            path.pop();
        }
        4 => *path = path.to_uppercase(),
        5 => path.insert_str(path_end, ";p=1"),
        6 => path.insert_str(path_end, "/..;x/b"),
        7 => path.insert(0, '/'),
        8 => path.insert_str(0, "/x/.."),
        9 => path.insert_str(
            path_end,
            random.word(&["%2f", "%2Fbar", "%5c", "%00", "%", "%zz", "%2e%2E/", "/%2e"]),
        ),
        10 => *path = path.replacen('o', "%6F", 1),
        11 => *path = path.replacen('/', "%2f", 2).replacen("%2f", "/", 1),
        12 => *path = path.replacen('/', "\\", 2).replacen('\\', "/", 1),
        13 => path.insert_str(
            path_end,
            random.word(&["/./", "//", "/../", "{}", "\"", "|", "^", "~"]),
        ),
        14 if random.chance(30) => path.push_str("#frag"),
        _ => {}
    }
}

/// Lines of a header that can be sent.
fn lines(random: &mut Random, name: &str, matcher: &Value) -> Vec<(&'static str, String)> {
    let names: &[&'static str] = match name {
        "x-a" => &["x-a", "X-A"],
        "X-B" => &["x-b", "X-B"],
        "x-c" => &["x-c"],
        "user-agent" => &["User-Agent"],
        "authorization" => &["Authorization", "authorization"],
        "x-forwarded-proto" => &["x-forwarded-proto"],
        _ => return Vec::new(),
    };
    (0..*random.pick(&[0, 1, 1, 1, 2]))
        .map(|_| (random.word(names), value(random, matcher)))
        .collect()
}

/// Headers that more than one route may look at.
fn others(random: &mut Random, table: &Value, wants_grpc: bool, sent: &mut Sent) {
    let has = |sent: &Sent, name: &str| {
        sent.headers
            .iter()
            .any(|(n, _)| n.eq_ignore_ascii_case(name))
    };
    // Whether clients send these is never assumed, so they are always stated.
    if !has(sent, "user-agent") {
        sent.headers.push(("User-Agent", "a".to_owned()));
    }
    let types = [
        "application/grpc",
        "application/grpc+proto",
        "application/grpc-web",
        "application/json",
        "application/grpc;x",
    ];
    let is_grpc = wants_grpc && random.chance(60);
    sent.headers.push((
        "content-type",
        types[if is_grpc {
            random.below(2)
        } else {
            2 + random.below(3)
        }]
        .to_owned(),
    ));
    if table.get("vhost_header").is_some() && random.chance(80) && !has(sent, "x-a") {
        sent.headers.push(("x-a", sent.host.clone()));
    }
    if random.chance(5) {
        sent.headers.push(("cookie", "a=1; b=2".to_owned()));
    }
    for (name, values, percent) in [
        ("X-Cluster", &["c0", "c3", "nope", ""][..], 60),
        (
            "x-number",
            &[
                "0",
                "1",
                "3",
                "7",
                "18446744073709551615",
                "18446744073709551616",
                "-1",
                "x",
                "+2",
            ],
            70,
        ),
        ("X-Number", &["5"], 5),
        ("x-forwarded-proto", &["http", "https", "HTTPS", "ftp"], 15),
        ("X-Added", &["mine"], 20),
    ] {
        if random.chance(percent) {
            sent.headers.push((name, random.word(values).to_owned()));
        }
    }
    if random.chance(3) && sent.method != "CONNECT" {
        sent.headers.push((
            "Upgrade",
            random.word(&["websocket", "WebSocket", "other"]).to_owned(),
        ));
        sent.headers.push((
            "Connection",
            random
                .word(&["Upgrade", "keep-alive, upgrade", "keep-alive"])
                .to_owned(),
        ));
    }
}

fn cookie(random: &mut Random, matcher: &Value) -> String {
    let name = matcher["name"].as_str().expect("a name");
    let value = value(random, matcher);
    match random.below(9) {
        0 => format!("{name}={value}; {name}=other"),
        1 => format!("x={value};{name}={value}"),
        2 => format!("{name}=\"{value}\""),
        3 => name.to_owned(),
        4 => format!("{name} = {value}"),
        5 => format!("{}={value}", name.to_uppercase()),
        6 => format!("{name}={value} ; b=1"),
        _ => format!("{name}={value}"),
    }
}

fn pair(random: &mut Random, query: &Value) -> String {
    let name = query["name"].as_str().expect("a name");
    let value: String = value(random, query)
        .chars()
        .filter(char::is_ascii_graphic)
        .collect();
    match random.below(8) {
        0 => name.to_owned(),
        1 => format!("{name}={value}&{name}=other"),
        2 => format!("x=y&{name}={value}"),
        3 => format!("{}={value}", name.to_uppercase()),
        _ => format!("{name}={value}"),
    }
}

/// A value that a matcher takes, or nearly so.
fn value(random: &mut Random, matcher: &Value) -> String {
    let texts = [
        "exact_match",
        "prefix_match",
        "suffix_match",
        "contains_match",
    ]
    .iter()
    .filter_map(|key| matcher[key].as_str());
    let inner = &matcher["string_match"];
    let texts = texts.chain(
        ["exact", "prefix", "suffix", "contains"]
            .iter()
            .filter_map(|key| inner[key].as_str()),
    );
    let text = texts.last();
    let Some(text) = text.filter(|_| random.chance(80)) else {
        return random.word(VALUES).to_owned();
    };
    match random.below(8) {
        0 => format!("{text}x"),
        1 => format!("x{text}"),
        2 => format!("x{text}x"),
        3 => text.to_ascii_uppercase(),
        4 => text.to_ascii_lowercase(),
        5 => text.chars().skip(1).collect(),
        _ => text.to_owned(),
    }
}
