//! Envoy draws one number for a request: fractions and weights all look at the same one.

use serde_json::{Value, json};

use super::expected::{Model, Observed};
use super::requests::Sent;
use crate::harness::{Client, Envoy, bootstrap, cluster, connection_manager, listener};

const REQUESTS: usize = 400;

#[test]
fn what_chance_can_bring_is_what_envoy_does() {
    let fraction =
        |n: u8| json!({"prefix": "/", "runtime_fraction": {"default_value": {"numerator": n}}});
    let to = |name: &str, route_match: Value| json!({"name": name, "match": route_match, "route": {"cluster": "c0"}});
    let weights = json!({"clusters": [{"name": "c1", "weight": 30}, {"name": "c2", "weight": 30}, {"name": "c3", "weight": 40}]});
    let routes = [
        to("few", fraction(30)),
        // Those who would match here are gone already.
        to("none", fraction(20)),
        to("some", fraction(50)),
        // And so is the first cluster, and a part of the second one.
        json!({"name": "rest", "match": {"prefix": "/"}, "route": {"weighted_clusters": weights}}),
    ];
    let table = json!({"virtual_hosts": [{"name": "v", "domains": ["*"], "routes": routes}]});
    let manager = connection_manager(table, Vec::new(), &json!({}));
    let clusters = ["c0", "c1", "c2", "c3"].map(cluster).to_vec();
    let envoy = Envoy::start(&bootstrap(vec![listener("in", vec![manager])], clusters));
    let (dump, port) = (envoy.admin("/config_dump"), envoy.port("in"));
    let request = Sent {
        method: "GET",
        target: "/".to_owned(),
        host: "a.test".to_owned(),
        headers: Vec::new(),
        is_http_10: false,
    };
    let expected = Model::compile(&dump, "in", port).expect(&request).outcomes;
    let named: Vec<_> = expected
        .iter()
        .map(|outcome| (&*outcome.route, &*outcome.cluster))
        .collect();
    assert_eq!(
        named,
        [
            ("few", "c0"),
            ("some", "c0"),
            ("rest", "c2"),
            ("rest", "c3")
        ]
    );
    let mut client = Client::new(port);
    let mut met = vec![0; expected.len()];
    for _ in 0..REQUESTS {
        let observed = Observed::of(&client.send(&request.bytes()));
        let at = expected.iter().position(|outcome| *outcome == observed);
        met[at.unwrap_or_else(|| panic!("{observed:?} is none of {named:?}"))] += 1;
    }
    // The smallest share is a tenth.
    assert!(!met.contains(&0), "{met:?} of {named:?}");
}
