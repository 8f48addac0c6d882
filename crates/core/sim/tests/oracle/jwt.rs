//! Tokens: generated providers and requirements, and tokens signed for real.
//!
//! The requirement of a virtual host is its per-route configuration. Policies behind the filter
//! look at the claims.

use std::net::Ipv4Addr;

use meshladder_sim::filters::{FilterEnvironment, HttpFilters, Overrides, UpstreamState};
use meshladder_sim::jwt::NAMESPACE;
use meshladder_sim::path::{PreparedRequest, RequestPreparation};
use meshladder_sim::runtime::Runtime;
use meshladder_sim::state::MetadataLookup;
use meshladder_sim::{DecisionRecord, Request, RequestState};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;
use serde_json::{Value, json};

use crate::ask::{self, Said, on_the_wire};
use crate::harness::{
    Client, Coverage, Envoy, Part, Random, bootstrap, cluster, connection_manager, listener, seed,
};

mod generate;
mod keys;

use generate::Keys;

/// Every end that must be met.
const OUTCOMES: [&str; 21] = [
    "200 passed",
    "401 Audiences_in_Jwt_are_not_allowed",
    "401 Jwks_doesn't_have_key_to_match_kid_or_alg_from_Jwt",
    "401 Jwt_ED25519_signature_is_wrong_length",
    "401 Jwt_header_[alg]_field_is_required_and_must_be_a_string",
    "401 Jwt_header_[alg]_is_not_supported",
    "401 Jwt_header_[kid]_field_is_not_a_string",
    "401 Jwt_header_is_an_invalid_Base64url_encoded",
    "401 Jwt_header_is_an_invalid_JSON",
    "401 Jwt_is_expired",
    "401 Jwt_is_missing",
    "401 Jwt_is_not_in_the_form_of_Header.Payload.Signature_with_two_dots_and_3_sections",
    "401 Jwt_issuer_is_not_configured",
    "401 Jwt_not_yet_valid",
    "401 Jwt_payload_[aud]_field_is_not_a_string_or_string_list",
    "401 Jwt_payload_[exp]_field_is_not_a_positive_64_bit_integer",
    "401 Jwt_payload_[exp]_field_is_not_an_integer",
    "401 Jwt_payload_is_an_invalid_JSON",
    "401 Jwt_signature_is_an_invalid_Base64url_encoded",
    "401 Jwt_verification_fails",
    "403 denied by a policy",
];

const ALGORITHMS: [&str; 12] = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA", "HS256",
    "HS384", "HS512",
];

const A_ROUND: usize = 2_000;
const PROVIDERS: usize = 6;

#[test]
fn tokens_agree_with_envoy() {
    let part = Part::begin("JWT", 6_000);
    let Part { total, seed } = part;
    let keys = Keys::generate(seed);
    let mut coverage = Coverage::default();
    for round in 0..total.div_ceil(A_ROUND) {
        let random = Random::new(seed.wrapping_add(round as u64));
        run(
            random,
            &keys,
            A_ROUND.min(total - round * A_ROUND),
            &mut coverage,
        );
    }
    coverage.conclude(
        "JWT",
        &["decided", "a good token", "a policy lets a good token pass"],
        &OUTCOMES,
    );
}

/// Each algorithm with its key: a good signature passes, a bad one does not.
#[test]
fn every_algorithm_agrees_with_envoy() {
    let keys = Keys::generate(seed());
    let filter = json!({"name": "jwt", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication",
        "providers": {"p": {"local_jwks": {"inline_string": keys.whole().to_string()}}},
        "rules": [{"match": {"prefix": "/"}, "requires": {"provider_name": "p"}}]}});
    let hosts = json!([{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "empty"}}]}]);
    let manager = connection_manager(
        json!({"virtual_hosts": hosts}),
        vec![filter],
        &json!({"use_remote_address": true}),
    );
    let text = manager.to_string();
    let envoy = Envoy::start(&bootstrap(
        vec![listener("in", vec![manager])],
        vec![cluster("empty")],
    ));
    let mut client = Client::new(envoy.port("in"));
    let manager = Raw::of(&text)
        .expect("JSON")
        .get("typed_config")
        .expect("a manager");
    let chain = HttpFilters::compile(manager, &Runtime::default(), &|_| None);
    let mut coverage = Coverage::default();
    for (kid, key) in &keys.0 {
        for (algorithm, is_good) in key
            .algorithms()
            .iter()
            .flat_map(|algorithm| [(algorithm, true), (algorithm, false)])
        {
            let signed = format!(
                "{}.e30",
                keys::b64(json!({"alg": algorithm, "kid": kid}).to_string())
            );
            let signature = key.sign(algorithm, if is_good { &signed } else { "something else" });
            let mut request = ask::request(
                (Ipv4Addr::LOCALHOST.into(), 1),
                (Ipv4Addr::LOCALHOST.into(), 80),
            );
            request.headers.push((
                "authorization".to_owned(),
                format!("Bearer {signed}.{}", keys::b64(signature)),
            ));
            let environment = FilterEnvironment {
                now: Time::from_seconds(0),
                upstream: &|_| UpstreamState::Usable,
                cluster: None,
            };
            let mut state = RequestState::new(&request);
            let walk = chain.evaluate(
                &Overrides::default(),
                &mut state,
                &environment,
                &mut DecisionRecord::dropping(),
            );
            let envoys = Said::by_envoy(&client.send(&on_the_wire(&request)));
            assert_eq!(
                envoys.status,
                if is_good { 503 } else { 401 },
                "{kid} {algorithm}"
            );
            assert_eq!(
                Said::by_walk(&walk),
                Ok(envoys),
                "{kid} {algorithm} {is_good}"
            );
            coverage.hit(algorithm, is_good);
        }
    }
    coverage.conclude("JWT algorithms", &ALGORITHMS, &[]);
}

fn run(mut random: Random, keys: &Keys, total: usize, coverage: &mut Coverage) {
    let requirements: Vec<_> = (0..30)
        .map(|_| generate::requirement(&mut random, PROVIDERS, 0))
        .collect();
    let hosts: Vec<_> = (0..60)
        .map(|number| host(&mut random, number, requirements.len()))
        .collect();
    let filters = filters(&mut random, keys, &requirements);
    let manager = connection_manager(
        json!({"virtual_hosts": hosts}),
        filters,
        &json!({"use_remote_address": true}),
    );
    let text = manager.to_string();
    let envoy = Envoy::start(&bootstrap(
        vec![listener("in", vec![manager])],
        vec![cluster("empty")],
    ));
    let mut client = Client::new(envoy.port("in"));

    let manager = Raw::of(&text)
        .expect("JSON")
        .get("typed_config")
        .expect("a manager");
    let runtime = Runtime::default();
    let before = RequestPreparation::compile(manager, &runtime);
    let chain = HttpFilters::compile(manager, &runtime, &|_| None);
    let hosts: Vec<_> = manager
        .get("route_config")
        .expect("routes")
        .list("virtual_hosts")
        .collect();
    let overrides: Vec<_> = hosts
        .iter()
        .map(|host| Overrides::compile(&[*host], &runtime))
        .collect();
    for _ in 0..total {
        let host = random.below(hosts.len());
        let request = request(&mut random, keys, host);
        let PreparedRequest::Request(entered) = before.enter(&request) else {
            unreachable!("no path is odd")
        };
        let mut state = RequestState::new(&entered);
        let now = Time::from_seconds(generate::now());
        let environment = FilterEnvironment {
            now,
            upstream: &|_| UpstreamState::Usable,
            cluster: Some("empty"),
        };
        let walk = chain.evaluate(
            &overrides[host],
            &mut state,
            &environment,
            &mut DecisionRecord::dropping(),
        );
        let envoys = Said::by_envoy(&client.send(&on_the_wire(&request)));
        coverage.hit("decided", walk.undecided.is_none());
        if walk.undecided.is_some() {
            continue;
        }
        let steps = &walk.steps;
        let config = || {
            format!(
                "{}\n{}",
                hosts[host].text(),
                manager.get("http_filters").expect("filters").text()
            )
        };
        assert_eq!(
            Said::by_walk(&walk),
            Ok(envoys.clone()),
            "{request:#?}\nagainst {}\n{steps:#?}",
            config()
        );
        coverage.hit(&outcome(&envoys), true);
        let is_good = |key: &str| {
            matches!(
                state.metadata.find(NAMESPACE, &[key.into()]),
                MetadataLookup::Value(_)
            )
        };
        coverage.hit("a good token", is_good("payload") || is_good("other"));
        if is_good("payload") && envoys.status != 401 {
            coverage.hit("a policy lets a good token pass", envoys.status == 503);
        }
    }
}

fn outcome(said: &Said) -> String {
    match said
        .details
        .strip_prefix("jwt_authn_access_denied{")
        .and_then(|rest| rest.strip_suffix('}'))
    {
        Some("Audiences_in_Jwt_are_not_allowed") => {
            "401 Audiences_in_Jwt_are_not_allowed".to_owned()
        }
        Some(status) => format!("{} {status}", said.status),
        None if said.status == 403 => "403 denied by a policy".to_owned(),
        None => "200 passed".to_owned(),
    }
}

fn request(random: &mut Random, keys: &Keys, host: usize) -> Request {
    let local = |port| (Ipv4Addr::LOCALHOST.into(), port);
    let mut request = ask::request(local(1), local(80));
    request.authority = format!("{host}.test");
    (*random.pick(&["/", "/open", "/named", "/any", "/Any"])).clone_into(&mut request.path);
    if random.chance(3) {
        "OPTIONS".clone_into(&mut request.method);
        request
            .headers
            .push(("origin".to_owned(), "http://a.test".to_owned()));
        request
            .headers
            .push(("access-control-request-method".to_owned(), "GET".to_owned()));
    }
    generate::place(&mut request, random, keys);
    request
}

fn host(random: &mut Random, number: usize, requirements: usize) -> Value {
    let mut per_filter = json!({"envoy.filters.http.rbac": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute",
        "rbac": generate::policies(random)}});
    let mut jwt = json!({"@type": "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.PerRouteConfig"});
    match random.below(20) {
        0 => jwt["disabled"] = true.into(),
        1 => jwt["requirement_name"] = "no such".into(),
        2..=5 => jwt = Value::Null,
        _ => jwt["requirement_name"] = format!("r{}", random.below(requirements)).into(),
    }
    if !jwt.is_null() {
        per_filter["envoy.filters.http.jwt_authn"] = jwt;
    }
    json!({
        "name": number.to_string(),
        "domains": [format!("{number}.test")],
        "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "empty"}}],
        "typed_per_filter_config": per_filter,
    })
}

fn filters(random: &mut Random, keys: &Keys, requirements: &[Value]) -> Vec<Value> {
    let providers: serde_json::Map<_, _> = (0..PROVIDERS)
        .map(|number| {
            (
                format!("p{number}"),
                generate::provider(random, keys, number),
            )
        })
        .collect();
    let named: serde_json::Map<_, _> = requirements
        .iter()
        .enumerate()
        .map(|(number, raw)| (format!("r{number}"), raw.clone()))
        .collect();
    vec![
        json!({"name": "envoy.filters.http.jwt_authn", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication",
        "providers": providers,
        "requirement_map": named,
        "bypass_cors_preflight": true,
        "rules": [
            {"match": {"path": "/open"}},
            {"match": {"path": "/named"}, "requirement_name": "r0"},
            {"match": {"prefix": "/any", "case_sensitive": false}, "requires": requirements[1]},
            {"match": {"prefix": "/", "headers": [{"name": "authorization", "present_match": true}]}, "requires": {"provider_name": "p0"}},
        ]}}),
        json!({"name": "envoy.filters.http.rbac", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC"}}),
    ]
}
