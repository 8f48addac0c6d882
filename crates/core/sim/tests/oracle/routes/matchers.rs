//! `RouteMatch`es of all kinds.

use serde_json::{Map, Value, json};

use super::patterns;
use crate::harness::Random;

/// Texts of path specifiers, templates aside.
pub(super) const PATHS: &[&str] = &[
    "/",
    "/foo",
    "/Foo",
    "/foo/bar",
    "/foobar",
    "/a",
    "/a.b",
    "/a/b/c",
    "/bar",
    "/foo%2fbar",
    "/foo;x",
    "/b?q",
    "/é",
];

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
pub(super) const HEADERS: &[&str] = &[
    "x-a",
    "X-B",
    "x-c",
    ":method",
    ":path",
    ":authority",
    "user-agent",
    "authorization",
    "host",
    ":scheme",
    "x-forwarded-proto",
];

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

pub(super) fn route_match(random: &mut Random) -> Value {
    let mut m = Map::new();
    let path = random.word(PATHS);
    match random.below(12) {
        0..=3 => m.insert("prefix".to_owned(), json!(path)),
        4 | 5 => m.insert("path".to_owned(), json!(path)),
        // "must not end in a slash, and must not hold a query".
        6 | 7 => m.insert(
            "path_separated_prefix".to_owned(),
            json!(if path == "/" || path.contains('?') {
                "/foo"
            } else {
                path
            }),
        ),
        8 | 9 => m.insert(
            "safe_regex".to_owned(),
            json!({"regex": patterns::for_path(random)}),
        ),
        10 => m.insert(
            "path_match_policy".to_owned(),
            template(random.word(TEMPLATES)),
        ),
        _ if random.chance(30) => m.insert("connect_matcher".to_owned(), json!({})),
        _ => m.insert("prefix".to_owned(), json!("/")),
    };
    if random.chance(25) {
        m.insert("case_sensitive".to_owned(), json!(false));
    }
    let some = |random: &mut Random, percent: usize| {
        if random.chance(percent) {
            1 + random.below(2)
        } else {
            0
        }
    };
    let headers: Vec<_> = (0..some(random, 50)).map(|_| header(random)).collect();
    let query: Vec<_> = (0..some(random, 15)).map(|_| query(random)).collect();
    let cookies: Vec<_> = (0..some(random, 10)).map(|_| cookie(random)).collect();
    for (key, list) in [
        ("headers", headers),
        ("query_parameters", query),
        ("cookies", cookies),
    ] {
        if !list.is_empty() {
            m.insert(key.to_owned(), json!(list));
        }
    }
    if random.chance(5) {
        m.insert("grpc".to_owned(), json!({}));
    }
    if random.chance(5) {
        m.insert(
            "tls_context".to_owned(),
            json!({"presented": random.chance(50)}),
        );
    }
    if random.chance(10) {
        let numerator = *random.pick(&[0, 0, 100, 100, 30, 70]);
        let mut fraction = json!({"default_value": {"numerator": numerator}});
        if random.chance(40) {
            fraction["runtime_key"] =
                json!(random.word(&["fraction.all", "fraction.none", "fraction.missing"]));
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
    let name = random.word(HEADERS);
    let mut header = if random.chance(60) {
        json!({"name": name, "string_match": any_string(random)})
    } else {
        let kind = random.below(OLD_KINDS);
        old_header(random, name, kind)
    };
    set_flags(&mut header, *random.pick(&[0, 0, 1, 2, 3]));
    header
}

const OLD_KINDS: usize = 8;

/// A header matcher without `string_match`.
fn old_header(random: &mut Random, name: &str, kind: usize) -> Value {
    let mut header = json!({"name": name});
    let value = some_value(random);
    match kind {
        0 => {}
        1 => header["present_match"] = json!(random.chance(50)),
        2 => {
            let start = i64::try_from(random.below(12)).expect("a small number") - 2;
            header["range_match"] =
                json!({"start": start.to_string(), "end": (start + 9).to_string()});
        }
        3 => header["exact_match"] = json!(random.word(VALUES)),
        4 => header["prefix_match"] = json!(value),
        5 => header["suffix_match"] = json!(value),
        6 => header["contains_match"] = json!(value),
        _ => header["safe_regex_match"] = json!({"regex": patterns::for_value(random)}),
    }
    header
}

const STRING_KINDS: usize = 5;

fn string(random: &mut Random, kind: usize, ignore_case: bool) -> Value {
    let value = some_value(random);
    let mut matcher = match kind {
        0 => json!({"exact": random.word(VALUES)}),
        1 => json!({"prefix": value}),
        2 => json!({"suffix": value}),
        3 => json!({"contains": value}),
        _ => return json!({"safe_regex": {"regex": patterns::for_value(random)}}),
    };
    // Envoy refuses it with a regular expression.
    if ignore_case {
        matcher["ignore_case"] = json!(true);
    }
    matcher
}

fn some_value(random: &mut Random) -> &'static str {
    random.word(&VALUES[1..])
}

fn any_string(random: &mut Random) -> Value {
    let (kind, ignore_case) = (random.below(STRING_KINDS), random.chance(40));
    string(random, kind, ignore_case)
}

fn query(random: &mut Random) -> Value {
    let mut query = json!({"name": random.word(&["q", "Q", "a"])});
    match random.below(5) {
        0 => {}
        1 => query["present_match"] = json!(random.chance(50)),
        _ => query["string_match"] = any_string(random),
    }
    query
}

fn cookie(random: &mut Random) -> Value {
    let mut cookie = json!({"name": random.word(&["a", "b"]), "string_match": any_string(random)});
    if random.chance(30) {
        cookie["invert_match"] = json!(true);
    }
    cookie
}

/// A virtual host in which every kind of matcher has a route to itself, so that none is missed by
/// chance.
pub(super) fn gallery(random: &mut Random) -> Value {
    let mut matches = Vec::new();
    for kind in 0..STRING_KINDS {
        for flags in 0..8 {
            let mut header =
                json!({"name": "x-a", "string_match": string(random, kind, flags & 4 != 0)});
            set_flags(&mut header, flags);
            matches.push(json!({"headers": [header]}));
        }
        for ignore_case in [false, true] {
            let value = string(random, kind, ignore_case);
            matches.push(json!({"query_parameters": [{"name": "q", "string_match": value}]}));
            matches.push(json!({"cookies": [{"name": "a", "string_match": value}]}));
        }
    }
    for kind in 0..OLD_KINDS {
        for flags in 0..4 {
            let mut header = old_header(random, "x-a", kind);
            set_flags(&mut header, flags);
            matches.push(json!({"headers": [header]}));
        }
    }
    let routes = matches.into_iter().enumerate().map(|(n, mut route_match)| {
        route_match["path"] = json!(format!("/g/{n}"));
        json!({"name": format!("r{n}"), "match": route_match, "route": {"cluster": "c0"}})
    });
    json!({"name": "gallery", "domains": ["gallery"], "routes": routes.collect::<Vec<_>>()})
}

fn set_flags(header: &mut Value, flags: u8) {
    if flags & 1 != 0 {
        header["invert_match"] = json!(true);
    }
    if flags & 2 != 0 {
        header["treat_missing_header_as_empty"] = json!(true);
    }
}
