//! The other HTTP filters: faults, CORS, local rate limits, external authorization, and what routes
//! say of them.

use std::net::Ipv4Addr;

use meshladder_sim::answer::Answer;
use meshladder_sim::filters::{
    FilterBranch, FilterEnvironment, HttpFilters, Overrides, UpstreamState,
};
use meshladder_sim::runtime::Runtime;
use meshladder_sim::{DecisionRecord, Request, RequestState};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;
use serde_json::Value;

use crate::ask::{self, Said, on_the_wire};
use crate::harness::{self, Client, Coverage, Envoy, Part, Random, bootstrap, cluster, listener};

mod generate;

const OUTCOMES: [&str; 9] = [
    "passed",
    "passed with a delay",
    "fault_filter_abort",
    "fault_filter_abort with a delay",
    "CORS preflight",
    "local_rate_limited",
    "ext_authz_error",
    "no filter configuration",
    "rbac",
];

const A_ROUND: usize = 2_000;
const LISTENERS: usize = 12;

#[test]
fn filters_agree_with_envoy() {
    let part = Part::begin("filters", 6_000);
    let Part { total, seed } = part;
    let mut coverage = Coverage::default();
    for round in 0..total.div_ceil(A_ROUND) {
        let random = Random::new(seed.wrapping_add(round as u64));
        run(random, A_ROUND.min(total - round * A_ROUND), &mut coverage);
    }
    coverage.conclude("filters", &["gRPC", "one way only"], &OUTCOMES);
}

fn run(mut random: Random, total: usize, coverage: &mut Coverage) {
    let managers: Vec<_> = (0..LISTENERS)
        .map(|_| generate::manager(&mut random))
        .collect();
    let named = managers.iter().enumerate();
    let listeners =
        named.map(|(number, manager)| listener(&number.to_string(), vec![manager.clone()]));
    let envoy = Envoy::start(&bootstrap(
        listeners.collect(),
        vec![cluster("empty"), cluster("other")],
    ));
    let mut clients: Vec<_> = (0..LISTENERS)
        .map(|number| Client::new(envoy.port(&number.to_string())))
        .collect();

    let texts: Vec<_> = managers.iter().map(Value::to_string).collect();
    let runtime = Runtime::default();
    let managers: Vec<_> = texts
        .iter()
        .map(|text| {
            Raw::of(text)
                .expect("JSON")
                .get("typed_config")
                .expect("a manager")
        })
        .collect();
    let chains: Vec<_> = managers
        .iter()
        .map(|raw| HttpFilters::compile(*raw, &runtime, &|_| None))
        .collect();
    let scopes: Vec<Vec<_>> = managers.iter().map(|raw| scopes(*raw)).collect();
    for _ in 0..total {
        let at = random.below(LISTENERS);
        let route = random.below(scopes[at].len());
        let request = request(&mut random, route);
        let [own, host, table] = scopes[at][route];
        let overrides = Overrides::compile(&[own, host, table], &runtime);
        let cluster = own.at(["route", "cluster"]).and_then(Raw::string);
        let environment = FilterEnvironment {
            now: Time::from_seconds(0),
            upstream: &upstream,
            cluster: cluster.as_deref(),
        };
        let mut state = RequestState::new(&request);
        let mut record = DecisionRecord::keeping();
        let walk = chains[at].evaluate(&overrides, &mut state, &environment, &mut record);
        let answer = clients[at].send(&on_the_wire(&request));
        let config = || {
            format!(
                "{}\n{}\n{}",
                own.text(),
                host.text(),
                managers[at].get("http_filters").expect("filters").text()
            )
        };
        let ours: Vec<_> = walk
            .branches
            .iter()
            .map(|branch| predicted(branch, cluster.is_some(), &request))
            .collect();
        let envoys = observed(&answer);
        let agrees = walk.undecided.is_none() && ours.contains(&envoys);
        assert!(
            agrees,
            "{request:#?}\nagainst {}\n{:#?}\nours {ours:#?}\nEnvoy's {envoys:#?}",
            config(),
            walk.steps
        );
        coverage.hit("one way only", ours.len() == 1);
        coverage.hit("gRPC", !answer.header("grpc-status").is_empty());
        coverage.hit(&outcome(&answer), true);
    }
}

fn upstream(name: &str) -> UpstreamState {
    if name == "missing" {
        UpstreamState::Missing
    } else {
        UpstreamState::Unhealthy
    }
}

/// Each route with its virtual host and the table.
fn scopes(manager: Raw<'_>) -> Vec<[Raw<'_>; 3]> {
    let table = manager.get("route_config").expect("routes");
    let host = table.list("virtual_hosts").next().expect("a host");
    host.list("routes")
        .map(|route| [route, host, table])
        .collect()
}

/// With the gRPC status; a preflight is no local reply and says no more than 200.
fn predicted(branch: &FilterBranch, has_cluster: bool, request: &Request) -> (Said, String) {
    let said = Said::by_branch(branch);
    let text = |status: u8| status.to_string();
    match &branch.answer {
        Some(answer) if answer.details == "cors_response" => (
            Said {
                flags: String::new(),
                details: String::new(),
                ..said
            },
            String::new(),
        ),
        Some(answer) => (said, answer.grpc_status.map(text).unwrap_or_default()),
        None if has_cluster => routed(Answer::new(
            request,
            503,
            &[&branch.flags[..], &["UH"]].concat(),
            "no_healthy_upstream",
        )),
        None => routed(Answer::new(request, 201, &branch.flags, "direct_response")),
    }
}

/// What the router answers.
fn routed(answer: Answer) -> (Said, String) {
    let grpc = answer
        .grpc_status
        .map(|status| status.to_string())
        .unwrap_or_default();
    (
        Said::by_branch(&FilterBranch {
            weight: Some(1.0),
            flags: Vec::new(),
            answer: Some(answer),
        }),
        grpc,
    )
}

fn observed(answer: &harness::Answer) -> (Said, String) {
    let mut said = Said::by_envoy(answer);
    // This flag is set behind the answer: the log has it, the answer's headers do not.
    if said.details == "local_rate_limited" {
        said.flags = if said.flags == "-" {
            "RL".to_owned()
        } else {
            format!("{},RL", said.flags)
        };
    }
    (said, answer.header("grpc-status").to_owned())
}

fn outcome(answer: &harness::Answer) -> String {
    let (flags, details) = (answer.header("x-o-flags"), answer.header("x-o-details"));
    let delayed = if flags.contains("DI") {
        " with a delay"
    } else {
        ""
    };
    match details {
        "" if flags == "NFCF" => "no filter configuration".to_owned(),
        "" => "CORS preflight".to_owned(),
        "no_healthy_upstream" | "direct_response" => format!("passed{delayed}"),
        "fault_filter_abort" => format!("{details}{delayed}"),
        details if details.starts_with("rbac") => "rbac".to_owned(),
        details => details.to_owned(),
    }
}

fn request(random: &mut Random, route: usize) -> Request {
    let local = |port| (Ipv4Addr::LOCALHOST.into(), port);
    let mut request = ask::request(local(1), local(80));
    request.path = format!("/{route}");
    generate::shape(&mut request, random);
    request
}
