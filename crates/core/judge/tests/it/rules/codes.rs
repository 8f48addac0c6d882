//! One claim, one code: what is shared is listed with its reason, and what was given up lives on.

use std::collections::{BTreeMap, BTreeSet};

use meshladder_judge::rules::retired::{self, RETIRED};
use meshladder_judge::rules::{self, Rule};

/// Codes of other tools that several rules of ours have, and why that is right.
const SHARED: &[(&[&str], &str)] = &[(
    &["IST0002"],
    "istioctl has one code for all that is deprecated; ours name the field",
)];

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
