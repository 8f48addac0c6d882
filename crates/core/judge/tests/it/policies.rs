//! What must hold for any policies and any request: generated objects, decided as istiod would have
//! them decided.

use meshladder_judge::policy::{PolicyObjects, PolicyVerdict, Traffic, WorkloadPolicies};
use meshladder_mesh::MeshConfig;
use meshladder_mesh::policies::Workload;
use meshladder_sim::request::{Claims, Connection, Request};
use meshladder_sim::state::{Peer, RequestState};
use meshladder_sim::{DecisionRecord, Tri};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;
use meshladder_text::tree::Node;

use crate::random::Random;

const ROUNDS: usize = 3000;
const SEED: u64 = 4;

const CALLERS: [&str; 3] = [
    "spiffe://cluster.local/ns/shop/sa/cart",
    "spiffe://cluster.local/ns/tools/sa/curl",
    "spiffe://other.test/ns/shop/sa/cart",
];
const PRINCIPALS: [&str; 4] = [
    "cluster.local/ns/shop/sa/cart",
    "cluster.local/ns/shop/*",
    "*/sa/curl",
    "*",
];
const NAMESPACES: [&str; 3] = ["shop", "tools", "sh*"];
const BLOCKS: [&str; 3] = ["10.0.0.0/8", "10.244.0.5", "192.168.0.0/16"];
const METHODS: [&str; 3] = ["GET", "POST", "*"];
const PATHS: [&str; 5] = ["/", "/pay", "/pay/*", "*/admin", "/pay/{*}"];
const REQUESTED: [&str; 4] = ["/", "/pay", "/pay/1", "/x/admin"];

fn node(json: &str) -> Node {
    Node::from_json(Raw::of(json).expect("a value")).expect("JSON")
}

/// A policy, as the text of its JSON.
fn policy(number: usize, action: &str, random: &mut Random) -> String {
    let rules: Vec<_> = (0..random.below(3)).map(|_| rule(random)).collect();
    let dry_run = if random.chance(15) {
        r#","annotations":{"istio.io/dry-run":"true"}"#
    } else {
        ""
    };
    let rules = rules.join(",");
    format!(
        r#"{{"metadata":{{"name":"p{number}","namespace":"shop"{dry_run}}},"spec":{{"action":"{action}","rules":[{rules}]}}}}"#
    )
}

fn rule(random: &mut Random) -> String {
    let mut parts = Vec::new();
    if random.chance(60) {
        let sources = [
            field("principals", "notPrincipals", &PRINCIPALS, random),
            field("namespaces", "notNamespaces", &NAMESPACES, random),
            field("ipBlocks", "notIpBlocks", &BLOCKS, random),
        ];
        parts.push(format!(
            r#""from":[{{"source":{{{}}}}}]"#,
            random.pick(&sources)
        ));
    }
    if random.chance(60) {
        let method = field("methods", "notMethods", &METHODS, random);
        let path = field("paths", "notPaths", &PATHS, random);
        let operation = [method.clone(), path.clone(), format!("{method},{path}")];
        parts.push(format!(
            r#""to":[{{"operation":{{{}}}}}]"#,
            random.pick(&operation)
        ));
    }
    if random.chance(20) {
        let header = random.word(&["blue", "b*", "*", "red"]);
        parts.push(format!(
            r#""when":[{{"key":"request.headers[x-team]","values":["{header}"]}}]"#
        ));
    }
    format!("{{{}}}", parts.join(","))
}

fn field(name: &str, not: &str, of: &[&'static str], random: &mut Random) -> String {
    let key = if random.chance(25) { not } else { name };
    let values: Vec<_> = (0..=random.below(2))
        .map(|_| format!("\"{}\"", random.word(of)))
        .collect();
    format!("\"{key}\":[{}]", values.join(","))
}

fn policies(random: &mut Random) -> Vec<String> {
    (0..random.below(4))
        .map(|number| policy(number, random.word(&["ALLOW", "DENY", "AUDIT"]), random))
        .collect()
}

fn request(random: &mut Random) -> Request {
    Request {
        connection: Connection {
            destination: ([10, 0, 0, 1].into(), 8080),
            source: Some(([10, 244, 0, 5].into(), 40_000)),
            tls: None,
            plain_http: Some("http/1.1"),
        },
        method: random.word(&["GET", "POST", "DELETE"]).to_owned(),
        scheme: "http".to_owned(),
        authority: "pay.shop".to_owned(),
        path: random.word(&REQUESTED).to_owned(),
        headers: if random.chance(50) {
            vec![("x-team".to_owned(), "blue".to_owned())]
        } else {
            Vec::new()
        },
        claims: Claims::None,
        unknown_headers: Vec::new(),
    }
}

fn compile(texts: &[String], traffic: Traffic) -> WorkloadPolicies {
    let nodes: Vec<_> = texts.iter().map(|text| node(text)).collect();
    let objects = PolicyObjects {
        authorization_policies: nodes.iter().collect(),
        ..PolicyObjects::default()
    };
    let workload = Workload {
        namespace: "shop",
        labels: None,
        service: None,
    };
    WorkloadPolicies::compile(&objects, &workload, &MeshConfig::default(), traffic)
}

/// The verdict and the names of the policies that were looked at and matched.
fn decide(
    texts: &[String],
    traffic: Traffic,
    state: &RequestState<'_>,
) -> (&'static str, Vec<String>) {
    let mut record = DecisionRecord::keeping();
    let verdict =
        compile(texts, traffic).evaluate(&mut state.clone(), Time::from_seconds(0), &mut record);
    let matched = record
        .considered
        .iter()
        .filter(|c| c.matched != Tri::No)
        .map(|c| c.what.to_string());
    let word = match verdict {
        PolicyVerdict::Allowed { .. } => "allowed",
        PolicyVerdict::Denied { .. } | PolicyVerdict::Refused(_) => "denied",
        PolicyVerdict::Undecided(_) => "undecided",
    };
    (word, matched.collect())
}

fn state(request: &Request, traffic: Traffic, caller: Peer) -> RequestState<'_> {
    let state = if traffic == Traffic::Http {
        RequestState::new(request)
    } else {
        RequestState::tcp(request)
    };
    RequestState { caller, ..state }
}

fn known_caller(random: &mut Random) -> Peer {
    if random.chance(20) {
        Peer::Plain
    } else {
        Peer::Tls(vec![random.word(&CALLERS).to_owned()])
    }
}

/// Policies, what the traffic is, and a request with its caller.
fn each(mut check: impl FnMut(&[String], Traffic, &Request, Peer, &mut Random)) {
    let mut random = Random::new(SEED);
    for _ in 0..ROUNDS {
        let texts = policies(&mut random);
        let traffic = if random.chance(80) {
            Traffic::Http
        } else {
            Traffic::Tcp
        };
        let request = request(&mut random);
        let caller = known_caller(&mut random);
        check(&texts, traffic, &request, caller, &mut random);
    }
}

#[test]
fn filling_in_what_is_unknown_never_flips_what_is_decided() {
    let (mut open, mut decided) = (0, 0);
    each(|texts, traffic, request, caller, _| {
        let unknown = || Err("the source address".into());
        let known = state(request, traffic, caller);
        let case = RequestState {
            caller: Peer::Unknown,
            remote: unknown(),
            direct_remote: unknown(),
            ..known.clone()
        };
        let (before, after) = (
            decide(texts, traffic, &case).0,
            decide(texts, traffic, &known).0,
        );
        assert!(
            before == "undecided" || before == after,
            "{before} became {after}: {texts:#?}\n{request:#?}"
        );
        assert_ne!(after, "undecided", "nothing is left open: {texts:#?}");
        *if before == "undecided" {
            &mut open
        } else {
            &mut decided
        } += 1;
    });
    assert!(
        open > 100 && decided > 100,
        "{open} open, {decided} decided"
    );
}

#[test]
fn another_deny_never_opens() {
    let (mut allowed, mut closed) = (0, 0);
    each(|texts, traffic, request, caller, random| {
        let state = state(request, traffic, caller);
        let before = decide(texts, traffic, &state).0;
        let more = [texts, &[policy(9, "DENY", random)]].concat();
        let after = decide(&more, traffic, &state).0;
        assert!(
            before != "denied" || after == "denied",
            "{after} after {more:#?}\n{request:#?}"
        );
        allowed += usize::from(before == "allowed");
        closed += usize::from(before != after);
    });
    assert!(
        allowed > 100 && closed > 10,
        "{allowed} allowed, {closed} closed"
    );
}

#[test]
fn a_policy_that_does_not_match_can_be_taken_away() {
    let mut taken = 0;
    each(|texts, traffic, request, caller, _| {
        let state = state(request, traffic, caller);
        let (before, matched) = decide(texts, traffic, &state);
        let is_allow =
            |text: &String| text.contains(r#""action":"ALLOW""#) && !text.contains("dry-run");
        for number in 0..texts.len() {
            let name = format!("-policy[p{number}]-");
            // The last ALLOW policy forbids what it does not match, just by being there.
            let is_last =
                is_allow(&texts[number]) && texts.iter().filter(|text| is_allow(text)).count() == 1;
            let text = format!(r#""name":"p{number}""#);
            let fewer: Vec<_> = texts
                .iter()
                .filter(|other| !other.contains(&text))
                .cloned()
                .collect();
            if matched.iter().any(|what| what.contains(&name)) || is_last {
                continue;
            }
            taken += 1;
            assert_eq!(
                before,
                decide(&fewer, traffic, &state).0,
                "without p{number}: {texts:#?}\n{request:#?}"
            );
        }
    });
    assert!(taken > 100, "only {taken} were taken away");
}

#[test]
fn the_order_of_policies_and_of_their_values_does_not_matter() {
    let mut turned = 0;
    each(|texts, traffic, request, caller, _| {
        let state = state(request, traffic, caller);
        let reversed: Vec<_> = texts
            .iter()
            .rev()
            .map(|text| with_values_reversed(text))
            .collect();
        turned += usize::from(reversed != texts);
        assert_eq!(
            decide(texts, traffic, &state),
            decide(&reversed, traffic, &state),
            "{texts:#?}\n{request:#?}"
        );
    });
    assert!(turned > 100, "only {turned} were turned round");
}

/// Turns every list of two strings round.
fn with_values_reversed(text: &str) -> String {
    let (head, lists) = text.split_once("[\"").unwrap_or((text, ""));
    let turned = lists
        .split("[\"")
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (list, rest) = part.split_once("\"]").expect("a list ends");
            let mut values: Vec<_> = list.split("\",\"").collect();
            values.reverse();
            format!("[\"{}\"]{rest}", values.join("\",\""))
        });
    std::iter::once(head.to_owned()).chain(turned).collect()
}
