//! Clusters with endpoints in every state of health.

use serde_json::{Value, json};

use crate::harness::Random;

/// States of health that come together.
const STATES: [&[&str]; 5] = [
    &["HEALTHY", "UNHEALTHY"],
    &[
        "HEALTHY",
        "UNHEALTHY",
        "DEGRADED",
        "DRAINING",
        "TIMEOUT",
        "UNKNOWN",
    ],
    &["UNHEALTHY", "DRAINING"],
    &["DEGRADED", "UNHEALTHY"],
    &["HEALTHY"],
];

/// A cluster with up to three priorities of endpoints in every state of health.
pub(super) fn cluster(random: &mut Random, number: usize, ports: &[u16]) -> Value {
    let mut free: Vec<_> = ports.to_vec();
    let mut groups = Vec::new();
    let priorities = random.below(3) + 1;
    let states = *random.pick(&STATES);
    for priority in 0..priorities {
        for zone in 0..=random.below(2) {
            let size = random.below(free.len().min(3) + 1);
            let endpoints: Vec<_> = free
                .drain(..size)
                .map(|port| lb_endpoint(random, port, states))
                .collect();
            let mut group = json!({"locality": {"zone": format!("z{zone}")}, "priority": priority, "lb_endpoints": endpoints});
            if random.chance(60) {
                group["load_balancing_weight"] = 1.into();
            }
            groups.push(group);
        }
    }
    let mut assignment = json!({"cluster_name": format!("c{number}"), "endpoints": groups});
    if random.chance(30) {
        assignment["policy"] = json!({
            "overprovisioning_factor": random.pick(&[100, 140, 200, 1000]),
            "weighted_priority_health": random.chance(30),
        });
    }
    if number.is_multiple_of(20) {
        return half_lost(number, ports);
    }
    json!({
        "name": format!("c{number}"),
        "type": "STATIC",
        "lb_policy": random.pick(&["ROUND_ROBIN", "LEAST_REQUEST", "RANDOM"]),
        "common_lb_config": common_lb_config(random),
        "load_assignment": assignment,
    })
}

/// A third of the first priority is healthy, which is panic, and half of the second, which is not.
fn half_lost(number: usize, ports: &[u16]) -> Value {
    let group = |priority: usize, ports: &[u16]| {
        let endpoints = ports.iter().enumerate().map(|(at, port)| {
            let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": port}});
            json!({"endpoint": {"address": address}, "health_status": if at == 0 { "HEALTHY" } else { "UNHEALTHY" }})
        });
        json!({"priority": priority, "lb_endpoints": endpoints.collect::<Vec<_>>()})
    };
    let groups = [group(0, &ports[..3]), group(1, &ports[3..5])];
    json!({
        "name": format!("c{number}"),
        "type": "STATIC",
        "common_lb_config": {"zone_aware_lb_config": {"fail_traffic_on_panic": true}},
        "load_assignment": {
            "cluster_name": format!("c{number}"),
            "endpoints": groups,
            "policy": {"overprovisioning_factor": 100},
        },
    })
}

fn lb_endpoint(random: &mut Random, port: u16, states: &[&str]) -> Value {
    let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": port}});
    json!({"endpoint": {"address": address}, "health_status": random.pick(states), "load_balancing_weight": 1})
}

fn common_lb_config(random: &mut Random) -> Value {
    let mut config = json!({});
    if random.chance(70) {
        config["healthy_panic_threshold"] =
            json!({"value": random.pick(&[0.0, 0.0, 30.0, 49.6, 100.0])});
    }
    match random.below(3) {
        0 => config["zone_aware_lb_config"] = json!({"fail_traffic_on_panic": true}),
        1 => config["locality_weighted_lb_config"] = json!({}),
        _ => {}
    }
    config
}
