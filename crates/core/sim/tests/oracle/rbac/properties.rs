//! What must hold for any policies and any request, with or without an Envoy to ask.

use std::net::{IpAddr, Ipv4Addr};

use meshladder_sim::rbac::{Rbac, RbacDecision};
use meshladder_sim::state::{Peer, RequestState};
use meshladder_sim::{DecisionRecord, Request, Tri};
use meshladder_text::json::Raw;
use serde_json::Value;

use super::generate::{self, Policies};
use crate::ask;
use crate::harness::{Random, seed};

/// Rules, and a request that they look at.
fn each(check: impl Fn(&Value, &Request)) {
    let mut random = Random::new(seed());
    for _ in 0..400 {
        let config = Policies::generate(&mut random).config;
        let (source, destination) = generate::ADDRESSES[random.below(generate::ADDRESSES.len())];
        let mut request = ask::request(generate::socket(source), generate::socket(destination));
        generate::shape(&mut request, &mut random);
        if config["rules"].is_object() {
            check(&config["rules"], &request);
        }
    }
}

fn compile(rules: &Value) -> Rbac {
    Rbac::compile(Raw::of(&rules.to_string()).expect("JSON"))
}

fn decide(rules: &Value, state: &RequestState<'_>) -> &'static str {
    match compile(rules).evaluate(state, &mut DecisionRecord::dropping()) {
        RbacDecision::Allowed { .. } => "allowed",
        RbacDecision::Denied { .. } => "denied",
        RbacDecision::Undecided { .. } => "undecided",
    }
}

#[test]
fn filling_in_what_is_unknown_never_flips_what_is_decided() {
    each(|rules, request| {
        let mut state = RequestState::new(request);
        state.caller = Peer::Unknown;
        state.remote = Err("the source address".into());
        state.direct_remote = Err("the source address".into());
        let before = decide(rules, &state);
        let peers = [
            Peer::Plain,
            Peer::Tls(Vec::new()),
            Peer::Tls(vec!["spiffe://td/ns/tools/sa/curl".to_owned()]),
        ];
        let addresses: [IpAddr; 3] = [
            Ipv4Addr::LOCALHOST.into(),
            [10, 1, 2, 3].into(),
            "fd00::1".parse().expect("an address"),
        ];
        for caller in &peers {
            for address in addresses {
                let filled = RequestState {
                    caller: caller.clone(),
                    remote: Ok(address),
                    direct_remote: Ok(address),
                    ..state.clone()
                };
                let after = decide(rules, &filled);
                assert!(
                    before == "undecided" || before == after,
                    "{before} became {after}: {rules}\n{request:#?}"
                );
                assert_ne!(
                    after, "undecided",
                    "nothing is left open: {rules}\n{request:#?}"
                );
            }
        }
    });
}

#[test]
fn a_policy_that_does_not_match_can_be_taken_away() {
    each(|rules, request| {
        let state = RequestState::new(request);
        let decision = compile(rules).evaluate(&state, &mut DecisionRecord::dropping());
        for policy in &compile(rules).policies {
            if policy.matches(&state) == Tri::No {
                let mut fewer = rules.clone();
                fewer["policies"]
                    .as_object_mut()
                    .expect("an object")
                    .remove(&*policy.name);
                let without = compile(&fewer).evaluate(&state, &mut DecisionRecord::dropping());
                assert_eq!(decision, without, "{rules} without {}", policy.name);
            }
        }
    });
}

#[test]
fn one_more_deny_never_opens_and_one_more_allow_never_closes() {
    each(|rules, request| {
        let state = RequestState::new(request);
        let before = decide(rules, &state);
        let mut random = Random::new(rules.to_string().len() as u64);
        let more = Policies::generate(&mut random).config["rules"]["policies"].clone();
        let mut wider = rules.clone();
        for (name, policy) in more.as_object().into_iter().flatten() {
            wider["policies"][format!("more {name}")] = policy.clone();
        }
        let after = decide(&wider, &state);
        match rules["action"].as_str() {
            Some("DENY") => assert!(before != "denied" || after == "denied", "{wider}"),
            Some("ALLOW") => assert!(before != "allowed" || after == "allowed", "{wider}"),
            _ => assert_eq!(after, "allowed", "{wider}"),
        }
    });
}
