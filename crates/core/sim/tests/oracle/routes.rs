//! Route tables: generated ones, and requests near the edges of their matchers.

use serde_json::{Value, json};

use crate::harness::{
    Client, Coverage, Envoy, Part, Random, bootstrap, cluster, connection_manager, listener,
};

mod chance;
mod coverage;
mod expected;
mod manager;
mod matchers;
mod patterns;
mod properties;
mod requests;
mod tables;

use expected::{Model, Observed};

/// Requests to one Envoy; then another table is made.
const A_ROUND: usize = 2500;

#[test]
fn routes_are_those_of_envoy() {
    let part = Part::begin("routes", 40_000);
    let Part { total, seed } = part;
    let mut coverage = Coverage::default();
    for round in 0..total.div_ceil(A_ROUND) {
        let random =
            Random::new(seed.wrapping_add(u64::try_from(round).expect("a small number") << 32));
        self::round(random, A_ROUND.min(total - round * A_ROUND), &mut coverage);
    }
    coverage::conclude(coverage);
}

/// One Envoy with several listeners, each with its own connection manager and route table.
fn round(mut random: Random, total: usize, coverage: &mut Coverage) {
    const LISTENERS: usize = 4;
    let managers: Vec<_> = (0..LISTENERS).map(|_| manager(&mut random)).collect();
    let listeners = managers
        .iter()
        .enumerate()
        .map(|(n, m)| listener(&format!("l{n}"), vec![m.clone()]))
        .collect();
    let clusters = tables::CLUSTERS.iter().map(|name| cluster(name)).collect();
    let mut config = bootstrap(listeners, clusters);
    config["layered_runtime"] =
        json!({"layers": [{"name": "static", "static_layer": manager::runtime(&mut random)}]});
    let envoy = Envoy::start(&config);
    let dump = envoy.admin("/config_dump");
    for (n, manager) in managers.iter().enumerate() {
        let name = format!("l{n}");
        let port = envoy.port(&name);
        let model = Model::compile(&dump, &name, port);
        let labels = coverage::Labels::of(&manager["typed_config"]["route_config"]);
        let mut client = Client::new(port);
        for _ in 0..total.div_ceil(LISTENERS) {
            let request = requests::generate(
                &mut random,
                &manager["typed_config"]["route_config"],
                &model.table,
            );
            let observed = Observed::of(&client.send(&request.bytes()));
            let expected = model.expect(&request);
            let agrees = expected.outcomes.contains(&observed);
            assert!(
                agrees,
                "{}",
                mismatch(manager, &request, &expected, &observed)
            );
            labels.count(&model, &request, &expected, coverage);
        }
    }
}

fn manager(random: &mut Random) -> Value {
    let table = tables::generate(random);
    connection_manager(table, Vec::new(), &manager::generate(random))
}

/// Everything needed to look at one disagreement.
fn mismatch(
    manager: &Value,
    request: &requests::Sent,
    expected: &expected::Expected,
    observed: &Observed,
) -> String {
    let table = &manager["typed_config"]["route_config"];
    let hosts = table["virtual_hosts"]
        .as_array()
        .expect("there are virtual hosts");
    let of = |name: &str| {
        hosts
            .iter()
            .find(|host| host["name"] == name)
            .cloned()
            .unwrap_or(json!(null))
    };
    let mut settings = manager["typed_config"].clone();
    for key in [
        "route_config",
        "http_filters",
        "local_reply_config",
        "@type",
        "stat_prefix",
        "delayed_close_timeout",
    ] {
        settings.as_object_mut().expect("an object").remove(key);
    }
    let mut options = table.clone();
    options
        .as_object_mut()
        .expect("an object")
        .remove("virtual_hosts");
    format!(
        "connection manager: {settings}\nroute table: {options}\nEnvoy's virtual host: {:#}\nrequest: {}\nEnvoy: {observed:?}\nours:  {:?}\nconsidered: {:#?}",
        of(&observed.vhost),
        String::from_utf8_lossy(&request.bytes()),
        (&expected.outcomes, &expected.undecided),
        expected.considered,
    )
}
