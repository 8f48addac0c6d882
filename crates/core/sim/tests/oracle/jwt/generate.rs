//! Providers, requirements and tokens, most of them good and each kind of bad one among them.

use std::time::SystemTime;

use meshladder_sim::Request;
use serde_json::{Value, json};

use super::keys::{Key, b64};
use crate::harness::Random;

/// Keys by the name of their kind; tokens name them in `kid`.
pub(crate) struct Keys(pub(crate) Vec<(&'static str, Key)>);

impl Keys {
    pub(crate) fn generate(seed: u64) -> Self {
        Self(vec![
            ("rsa-1", Key::rsa(seed)),
            ("rsa-2", Key::rsa(seed.wrapping_add(1))),
            ("p256", Key::p256()),
            ("p384", Key::p384()),
            ("ed25519", Key::ed25519()),
            ("secret", Key::Secret([7; 32])),
        ])
    }

    /// A key set with all of them.
    pub(crate) fn whole(&self) -> Value {
        let key = |(kid, key): &(&str, Key)| {
            let mut jwk = key.jwk();
            jwk["kid"] = (*kid).into();
            jwk
        };
        json!({"keys": self.0.iter().map(key).collect::<Vec<_>>()})
    }

    /// A key set with some of the keys, with or without `kid` and `alg`, and a broken one at times.
    fn jwks(&self, random: &mut Random) -> Value {
        let mut keys = Vec::new();
        for (kid, key) in &self.0 {
            // Envoy refuses a set without any key it can use.
            if keys.is_empty() || random.chance(90) {
                let mut jwk = key.jwk();
                if random.chance(80) {
                    jwk["kid"] = (*kid).into();
                }
                if random.chance(50) {
                    jwk["alg"] = (*random.pick(key.algorithms())).into();
                }
                keys.push(jwk);
            }
        }
        if random.chance(30) {
            let at = random.below(keys.len() + 1);
            keys.insert(
                at,
                serde_json::from_str(BROKEN[random.below(BROKEN.len())]).expect("JSON"),
            );
        }
        json!({"keys": keys})
    }
}

/// Keys that Envoy leaves out.
const BROKEN: [&str; 6] = [
    r#"{"kty": "RSA", "n": "!", "e": "AQAB"}"#,
    r#"{"kty": "RSA", "alg": "ES256", "n": "AQAB", "e": "AQAB"}"#,
    r#"{"kty": "EC", "crv": "P-256", "alg": "ES384", "x": "AQ", "y": "AQ"}"#,
    r#"{"kty": "unknown"}"#,
    r#"{"kid": "no-kty"}"#,
    r#"{"kty": "OKP", "crv": "Ed25519", "x": "AQ"}"#,
];

const ISSUERS: [&str; 4] = ["https://a.test", "https://b.test", "joe", ""];
const AUDIENCES: [&str; 6] = ["shop", "https://shop/", "http://shop", "cart", "shop/", ""];

/// One provider by number; the first ones are plain.
pub(crate) fn provider(random: &mut Random, keys: &Keys, number: usize) -> Value {
    let mut provider = json!({
        "payload_in_metadata": if number % 3 == 2 { "other" } else { "payload" },
        "local_jwks": {"inline_string": keys.jwks(random).to_string()},
    });
    let issuer = if number < 3 {
        ISSUERS[number]
    } else {
        *random.pick(&ISSUERS)
    };
    if !issuer.is_empty() {
        provider["issuer"] = issuer.into();
    }
    if random.chance(40) {
        let some: Vec<_> = (0..=random.below(2))
            .map(|_| *random.pick(&AUDIENCES[..5]))
            .collect();
        provider["audiences"] = json!(some);
    }
    if random.chance(10) {
        provider["subjects"] = random
            .pick(&[
                json!({"prefix": "al"}),
                json!({"safe_regex": {"regex": "b.b"}}),
            ])
            .clone();
    }
    if random.chance(10) {
        provider["require_expiration"] = true.into();
    }
    if random.chance(10) {
        provider["max_lifetime"] = "600s".into();
    }
    if random.chance(15) {
        provider["clock_skew_seconds"] = 20.into();
    }
    if random.chance(20) {
        let headers = json!([{"name": random.pick(&["x-token", "Authorization"]), "value_prefix": random.pick(&["", "Token ", "Bearer "])}]);
        provider["from_headers"] = headers;
    }
    if random.chance(12) {
        provider["from_params"] = json!([random.pick(&["token", "access_token", "t"])]);
    }
    if random.chance(12) {
        provider["from_cookies"] = json!([random.pick(&["session", "c"])]);
    }
    if random.chance(50) {
        provider["forward"] = true.into();
    }
    if random.chance(30) {
        provider["claim_to_headers"] = json!([{"header_name": "x-claim", "claim_name": random.pick(&["sub", "level", "realm.text", "flag"])}]);
    }
    if random.chance(15) {
        provider["forward_payload_header"] = "x-payload".into();
    }
    if random.chance(50) {
        provider["normalize_payload_in_metadata"] =
            json!({"space_delimited_claims": ["scope", "groups"]});
    }
    provider
}

/// A tree of requirements over that many providers.
pub(crate) fn requirement(random: &mut Random, providers: usize, depth: usize) -> Value {
    let kind = if depth < 2 {
        random.below(10)
    } else {
        random.below(6)
    };
    match kind {
        0..=2 => json!({"provider_name": format!("p{}", random.below(providers))}),
        3 => json!({"provider_and_audiences": {
            "provider_name": format!("p{}", random.below(providers)), "audiences": [random.pick(&AUDIENCES[..5])]}}),
        4 => json!({"allow_missing": {}}),
        5 => json!({"allow_missing_or_failed": {}}),
        6..=8 => json!({"requires_any": group(random, providers, depth)}),
        _ => json!({"requires_all": group(random, providers, depth)}),
    }
}

fn group(random: &mut Random, providers: usize, depth: usize) -> Value {
    let children: Vec<_> = (0..2 + random.below(2))
        .map(|_| requirement(random, providers, depth + 1))
        .collect();
    json!({"requirements": children})
}

/// Puts tokens into a request where one of the providers may look.
pub(crate) fn place(request: &mut Request, random: &mut Random, keys: &Keys) {
    let mut query = Vec::new();
    for _ in 0..*random.pick(&[0, 1, 1, 1, 1, 1, 1, 2]) {
        let token = token(random, keys);
        match random.below(12) {
            0..=5 => request
                .headers
                .push(("authorization".to_owned(), format!("Bearer {token}"))),
            6 => request.headers.push((
                "authorization".to_owned(),
                format!(
                    "{}{token}",
                    random.pick(&["bearer ", "", "x Bearer  ", "Bearer"])
                ),
            )),
            7 => request.headers.push((
                "x-token".to_owned(),
                format!("{}{token}", random.pick(&["", "Token ", "Bearer "])),
            )),
            8 | 9 => query.push(format!(
                "{}={token}",
                random.pick(&["access_token", "token", "t", "%74"])
            )),
            _ => {
                request.headers.push((
                    "cookie".to_owned(),
                    format!("x=1; {}={token}", random.pick(&["session", "c"])),
                ));
            }
        }
    }
    for (_, value) in &mut request.headers {
        // HTTP does not carry blanks at the ends of a value.
        *value = value.trim().to_owned();
    }
    if !query.is_empty() {
        request.path = format!("{}?a=b&{}", request.path, query.join("&"));
    }
}

/// A token.
fn token(random: &mut Random, keys: &Keys) -> String {
    const NONSENSE: [&str; 8] = [
        "",
        "a",
        "a.b",
        "a.b.c.d",
        "..",
        "a.b.c",
        "e30.e30.e30",
        "!.!.!",
    ];
    if random.chance(4) {
        return (*random.pick(&NONSENSE)).to_owned();
    }
    let (kid, key) = random.pick(&keys.0);
    let algorithm = *random.pick(key.algorithms());
    let mut header = json!({"alg": algorithm});
    if random.chance(60) {
        header["kid"] = (*kid).into();
        let signed = format!(
            "{}.{}",
            b64(header.to_string()),
            b64(good_payload(random).to_string())
        );
        return format!("{signed}.{}", b64(key.sign(algorithm, &signed)));
    }
    match random.below(10) {
        0 | 1 => {}
        2 => header["kid"] = "other".into(),
        _ => header["kid"] = (*kid).into(),
    }
    match random.below(60) {
        0 => header["alg"] = "none".into(),
        1 => header["alg"] = 7.into(),
        2 => header["kid"] = 7.into(),
        3 => header["alg"] = "HS256".into(),
        4 => header["alg"] = "ES256".into(),
        5 => header = json!([]),
        _ => {}
    }
    let payload = payload(random);
    let signed = format!("{}.{}", section(random, &header), section(random, &payload));
    let mut signature = key.sign(algorithm, &signed);
    match random.below(30) {
        0 => signature[5] ^= 1,
        1 => signature.truncate(20),
        2 => signature.push(0),
        _ => {}
    }
    let mut signature = b64(signature);
    if random.chance(2) {
        signature = "!".to_owned() + &signature;
    }
    format!("{signed}.{signature}")
}

fn section(random: &mut Random, value: &Value) -> String {
    let text = value.to_string();
    match random.below(100) {
        0 => b64(&text[..text.len() - 1]),
        1 => b64(format!(" {text}\n")),
        2 => format!("{}=", b64(&text)),
        3 => format!("{}!", b64(&text)),
        4 => b64([0xff, 0xfe]),
        _ => b64(text),
    }
}

/// Claims that most providers take.
fn good_payload(random: &mut Random) -> Value {
    let mut payload = claims(random);
    payload["iss"] = (*random.pick(&ISSUERS[..3])).into();
    payload["sub"] = (*random.pick(&["alice", "bob"])).into();
    payload["aud"] = (*random.pick(&["shop", "shop", "https://shop/"])).into();
    payload["exp"] = (now() + 300).into();
    payload
}

/// Claims that are nobody's business but the policies'.
fn claims(random: &mut Random) -> Value {
    let groups = [
        json!("admin"),
        json!(["admin", "dev"]),
        json!(["dev"]),
        json!("dev admin"),
        json!(null),
        json!([]),
    ];
    json!({
        "level": random.pick(&[1.0, 2.0, 2.5, -1.0, 1e20]),
        "flag": random.chance(50),
        "scope": random.pick(&["read", "read write", " write  read ", ""]),
        "groups": random.pick(&groups),
        "realm": {"text": random.pick(&["x", "y"]), "roles": random.pick(&[json!(["r1"]), json!(["r1", "r2"]), json!("r1")])},
    })
}

fn payload(random: &mut Random) -> Value {
    let now = now();
    let mut payload = claims(random);
    let mut put = |name: &str, value: Value| payload[name] = value;
    match random.below(20) {
        0 => put("iss", 7.into()),
        1 => {}
        _ => put("iss", (*random.pick(&ISSUERS[..3])).into()),
    }
    match random.below(20) {
        0 => put("sub", json!(["alice"])),
        1 | 2 => {}
        _ => put("sub", (*random.pick(&["alice", "bob", "al", ""])).into()),
    }
    match random.below(20) {
        0 => put("aud", 7.into()),
        1 => put("aud", json!(["shop", 7])),
        2..=5 => {}
        6..=9 => put(
            "aud",
            json!([random.pick(&AUDIENCES), random.pick(&AUDIENCES)]),
        ),
        _ => put("aud", (*random.pick(&AUDIENCES)).into()),
    }
    // Ten seconds away from every edge, so that it does not matter how long a request takes.
    match random.below(24) {
        0 => put("exp", (now + 3600).to_string().into()),
        1 => put("exp", (-5).into()),
        2 => put("exp", json!(1e30)),
        3 => put("exp", (now - 3600).into()),
        4 => put("exp", (now - 72).into()),
        5 => put("exp", (now - 40).into()),
        6 => put("exp", (now - 5).into()),
        7 => put("exp", 0.into()),
        8 | 9 => {}
        10 => put(
            "exp",
            format!("{}.5", now + 3600)
                .parse::<f64>()
                .expect("a number")
                .into(),
        ),
        11 | 12 => put("exp", (now + 300).into()),
        _ => put("exp", (now + 3600).into()),
    }
    match random.below(24) {
        0 => put("nbf", (now + 3600).into()),
        1 => put("nbf", (now + 80).into()),
        2 => put("nbf", (now + 40).into()),
        3 => put("nbf", (now + 10).into()),
        4 => put("nbf", "now".into()),
        5 => put("iat", "now".into()),
        6 => put("iat", (-1).into()),
        7 => put("jti", 7.into()),
        8 => put("nbf", (-1).into()),
        _ => {}
    }
    payload
}

/// Policies over claims and headers, behind the tokens.
pub(crate) fn policies(random: &mut Random) -> Value {
    let ids: Vec<_> = (0..=random.below(2)).map(|_| id(random)).collect();
    json!({"rules": {"action": random.pick(&["ALLOW", "DENY"]), "policies": {"claims": {
        "permissions": [{"any": true}], "principals": [{"or_ids": {"ids": ids}}]}}}})
}

fn id(random: &mut Random) -> Value {
    let paths = [
        "payload.iss",
        "payload.sub",
        "payload.scope",
        "payload.groups",
        "payload.realm.roles",
        "payload.realm.text",
        "payload.level",
        "payload.flag",
        "other.sub",
        "payload",
    ];
    let values = [
        json!({"string_match": {"exact": "alice"}}),
        json!({"string_match": {"safe_regex": {"regex": ".+"}}}),
        json!({"list_match": {"one_of": {"string_match": {"exact": "read"}}}}),
        json!({"list_match": {"one_of": {"string_match": {"prefix": "adm"}}}}),
        json!({"or_match": {"value_matchers": [{"string_match": {"exact": "r1"}}, {"list_match": {"one_of": {"string_match": {"exact": "r1"}}}}]}}),
        json!({"bool_match": true}),
        json!({"double_match": {"range": {"start": 1.5, "end": 2.5}}}),
        json!({"present_match": true}),
        json!({"null_match": {}}),
    ];
    let value = random.pick(&values);
    match random.below(8) {
        0 => {
            json!({"header": {"name": "x-claim", "string_match": {"safe_regex": {"regex": random.pick(&["alice", ".+", "true", "2", "2.500000", "x"])}}}})
        }
        1 => json!({"header": {"name": "authorization", "present_match": true}}),
        2 => json!({"header": {"name": ":path", "string_match": {"contains": "="}}}),
        3 => json!({"header": {"name": "x-payload", "present_match": true}}),
        _ => {
            let path: Vec<_> = random
                .pick(&paths)
                .split('.')
                .map(|key| json!({"key": key}))
                .collect();
            json!({"metadata": {"filter": "envoy.filters.http.jwt_authn", "path": path, "value": value}})
        }
    }
}

pub(crate) fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("it is after 1970");
    i64::try_from(since.as_secs()).expect("a time")
}
