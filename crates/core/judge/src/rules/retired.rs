//! Codes that are no longer used: each claim has one code, and those that had two gave one up.
//!
//! An old code still leads to the rule that took it over, in `explain`, in suppressions and in
//! `--select` and `--ignore`; no finding carries it any more, and no new rule may have it.

use super::Rule;

/// A code that was given up.
#[derive(Clone, Copy, Debug)]
pub struct Retired {
    /// The old code.
    pub code: &'static str,
    /// The name that the rule had under it.
    pub name: &'static str,
    /// The code of the rule that makes the claim now.
    pub into: &'static str,
    /// The version since which it does.
    pub since: &'static str,
}

impl Retired {
    /// Whether it is this code or name, in any case.
    pub fn is(&self, text: &str) -> bool {
        self.code.eq_ignore_ascii_case(text) || self.name.eq_ignore_ascii_case(text)
    }

    /// Where it went, in words.
    pub fn in_words(&self) -> String {
        let Self {
            code,
            name,
            into,
            since,
        } = self;
        format!("{code} ({name}) is part of {into} since {since}")
    }
}

/// The codes that a rule took over.
pub fn of(rule: &Rule) -> impl Iterator<Item = &'static Retired> {
    let into = rule.code;
    RETIRED.iter().filter(move |old| old.into == into)
}

const fn retired(code: &'static str, name: &'static str, into: &'static str) -> Retired {
    Retired {
        code,
        name,
        into,
        since: "0.2.0",
    }
}

/// All of them, by old code.
pub static RETIRED: &[Retired] = &[
    retired("ML2001", "destination-unknown", "ML0505"),
    retired("ML2002", "destination-port-unknown", "ML0506"),
    retired("ML2004", "hosts-claimed-twice", "ML0605"),
    retired("ML2005", "gateway-lacks-hosts", "ML0502"),
    retired("ML2007", "subset-undefined", "ML0504"),
    retired("ML2008", "gateway-unknown", "ML0501"),
    retired("ML2010", "rule-never-reached", "ML0607"),
    retired("ML2103", "subset-finds-no-pod", "ML0701"),
    retired("ML2104", "host-unknown", "ML0513"),
    retired("ML2151", "plain-text-to-strict", "ML0805"),
    retired("ML2152", "mutual-tls-to-plain-text", "ML0805"),
    retired("ML2201", "selector-finds-no-pod", "ML0507"),
    retired("ML2202", "port-not-on-service", "ML0509"),
    retired("ML2203", "gateways-claim-one-host", "ML0508"),
    retired("ML2204", "certificate-in-two-gateways", "ML0511"),
    retired("ML2205", "credential-unknown", "ML0801"),
    retired("ML2206", "credential-unusable", "ML0801"),
    retired("ML2401", "tcp-entry-without-address", "ML0519"),
    retired("ML2402", "hosts-disagree-on-protocol", "ML0524"),
    retired("ML2403", "entry-has-services-name", "ML0720"),
    retired("ML2601", "policy-for-nobody", "ML0919"),
    retired("ML2802", "pod-without-proxy", "ML0307"),
    retired("ML2803", "namespace-asks-twice", "ML0304"),
    retired("ML2805", "application-has-proxys-uid", "ML0308"),
    retired("ML3802", "target-port-in-no-container", "ML0706"),
];
