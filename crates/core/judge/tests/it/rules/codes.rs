//! One claim, one code: what is shared is listed with its reason, and what was given up lives on.

use std::collections::{BTreeMap, BTreeSet};

use meshladder_judge::rules::retired::{self, RETIRED};
use meshladder_judge::rules::{self, CODES, Rule, Why};

/// Codes of other tools that several rules of ours have, and why that is right.
const SHARED: &[(&[&str], &str)] = &[
    (
        &["IST0002"],
        "istioctl has one code for all that is deprecated, ours name what is",
    ),
    (
        &["IST0101"],
        "istioctl has one code for whatever is named and not there, ours say what was named and what comes of it",
    ),
    (
        &["IST0102"],
        "that a namespace is not injected may be all right; that it asks for what nobody provides, or no longer asks while its pods have proxies, is not",
    ),
    (
        &["IST0103"],
        "a pod lacks a proxy because it is older than injection, or because nobody provides the revision that its namespace asks for",
    ),
    (
        &["IST0106", "IST0133"],
        "istioctl has one code for all that the schema refuses and one for all that it warns of, ours say how to write it right",
    ),
    (
        &["IST0116", "IST0137"],
        "istioctl goes by the ports of Services, ML0719 by the listener that two of them cannot share",
    ),
    (
        &["IST0118", "KIA0601"],
        "a port's name that says no protocol is one claim; what that does to gRPC and to HTTP routes are others",
    ),
    (
        &["IST0127", "KIA0004"],
        "the other tools have one code for selectors of all kinds, ours say what a kind that selects nobody fails to do",
    ),
    (
        &["IST0139"],
        "istioctl has one code for whatever is wrong with a webhook",
    ),
    (
        &["IST0145", "KIA1211"],
        "two objects ask for one listener: ML0405 is told by the proxies that refuse it, the others by the objects",
    ),
    (
        &["IST0150"],
        "before 1.21 proxies refuse what istioctl asks for, so that what breaks, what is refused and what takes all of a port are three claims",
    ),
    (
        &["IST0151", "IST0152", "IST0153", "IST0154", "IST0155"],
        "ML0404 and ML0621 are told by proxies that refuse a patch or lack its filter, the others by the patch",
    ),
    (
        &["IST0158"],
        "an image that differs is no harm; a proxy that refuses what a newer istiod sends is",
    ),
    (
        &["IST0175"],
        "that istiod may fetch keys from anywhere is one claim, that it could not fetch them another",
    ),
    (&["KIA0002", "KIA0003"], "Kiali has one code for all kinds"),
    (
        &["KIA0105"],
        "a policy for servers without mutual TLS is one claim, a caller that does not use it another",
    ),
    (
        &["KIA0201", "KIA0204"],
        "ML0806 is about rules that hold for no client; rules that say a thing twice, or drop what a wider one says, do hold",
    ),
    (
        &["KIA0602"],
        "a name that says no protocol and an appProtocol that Istio does not know are corrected in different places",
    ),
    (
        &["KIA0701"],
        "a Service without pods and a Service that leads to a closed port are different claims",
    ),
    (
        &["KIA1004"],
        "a host that a Sidecar imports and a port that it listens on are different claims",
    ),
    (
        &["KIA1101"],
        "Kiali has one code for the hosts that a VirtualService is for and those it leads to, and for their ports",
    ),
    (
        &["KIA1104", "KIA1105"],
        "weights that add up to nothing lead nowhere; one that says nothing, or a destination twice, is only odd",
    ),
];

#[test]
fn a_code_of_another_tool_belongs_to_one_rule_unless_the_list_says_why() {
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for rule in rules::all() {
        for aka in rule.aka {
            owners.entry(aka).or_default().push(rule.code);
        }
    }
    owners.retain(|_, rules| rules.len() > 1);
    let shared: BTreeSet<&str> = owners.keys().copied().collect();
    let listed: BTreeSet<&str> = SHARED
        .iter()
        .flat_map(|(codes, _)| *codes)
        .copied()
        .collect();
    assert_eq!(shared, listed, "{owners:?}");
}

#[test]
fn analyze_shows_no_code_that_istioctl_has_given_up() {
    for rule in rules::all().filter(|rule| rule.is_of_objects()) {
        let code = rule
            .ist()
            .and_then(|ist| CODES.iter().find(|code| code.code == ist));
        let is_given_up = code.is_some_and(|code| code.without == Some(Why::Retired));
        assert!(!is_given_up, "{}: {:?}", rule.code, rule.aka);
    }
}

#[test]
fn a_retired_code_leads_to_a_rule_and_is_never_used_again() {
    let codes: Vec<&str> = RETIRED.iter().map(|old| old.code).collect();
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(codes, sorted, "in order, none twice");
    for old in RETIRED {
        let heir = rules::named(old.code);
        assert_eq!(heir.map(|rule| rule.code), Some(old.into), "{old:?}");
        assert_eq!(
            rules::named(old.name).map(|rule| rule.code),
            Some(old.into),
            "{old:?}"
        );
        let is_used = |rule: &Rule| rule.code == old.code || rule.name == old.name;
        assert!(!rules::all().any(is_used), "{old:?} is in use");
        assert!(
            heir.is_some_and(|rule| rule.is_of_objects() && rule.is_of_traffic()),
            "{old:?}: its heir is asked of objects and of traffic"
        );
        assert!(
            heir.is_some_and(|rule| retired::of(rule).any(|one| one.code == old.code)),
            "{old:?}"
        );
    }
}

#[test]
fn a_rule_that_is_asked_through_several_lenses_shows_each_of_them() {
    for rule in rules::all().filter(|rule| rule.is_of_objects() && rule.is_of_traffic()) {
        let examples = super::Example::all(rule.docs);
        for is_of_objects in [true, false] {
            let of_lens = || {
                examples
                    .iter()
                    .filter(|example| example.is_of_objects(rule) == is_of_objects)
            };
            assert!(
                of_lens().any(|example| example.fires) && of_lens().any(|example| !example.fires),
                "{}: an example that fires and one that stays quiet, objects alone: {is_of_objects}",
                rule.code
            );
        }
    }
}
