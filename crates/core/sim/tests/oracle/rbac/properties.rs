//! What must hold for any policies and any request, with or without an Envoy to ask.

use std::net::{IpAddr, Ipv4Addr};

use meshladder_sim::rbac::{Decision, Rbac};
use meshladder_sim::state::{Caller, State};
use meshladder_sim::{Record, Request, Tri};
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

fn decide(rules: &Value, state: &State<'_>) -> &'static str {
    match compile(rules).evaluate(state, &mut Record::dropping()) {
        Decision::Allowed { .. } => "allowed",
        Decision::Denied { .. } => "denied",
        Decision::Undecided { .. } => "undecided",
    }
}

#[test]
fn filling_in_what_is_unknown_never_flips_what_is_decided() {
    each(|rules, request| {
        let mut state = State::new(request);
        state.caller = Caller::Unknown;
        state.remote = Err("the source address".into());
        state.direct_remote = Err("the source address".into());
        let before = decide(rules, &state);
        let peers = [
            Caller::Plain,
            Caller::Tls(Vec::new()),
            Caller::Tls(vec!["spiffe://td/ns/tools/sa/curl".to_owned()]),
        ];
        let addresses: [IpAddr; 3] = [
            Ipv4Addr::LOCALHOST.into(),
            [10, 1, 2, 3].into(),
            "fd00::1".parse().expect("an address"),
        ];
        for caller in &peers {
            for address in addresses {
                let filled = State {
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
        let state = State::new(request);
        let decision = compile(rules).evaluate(&state, &mut Record::dropping());
        for policy in &compile(rules).policies {
            if policy.matches(&state) == Tri::No {
                let mut fewer = rules.clone();
                fewer["policies"]
                    .as_object_mut()
                    .expect("an object")
                    .remove(&*policy.name);
                let without = compile(&fewer).evaluate(&state, &mut Record::dropping());
                assert_eq!(decision, without, "{rules} without {}", policy.name);
            }
        }
    });
}

#[test]
fn one_more_deny_never_opens_and_one_more_allow_never_closes() {
    each(|rules, request| {
        let state = State::new(request);
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
