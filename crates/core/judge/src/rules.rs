//! The rules: one folder a family, an `.rs` and an `.md` a rule. The `.md` is the rule's page, and
//! its examples are run.

use crate::finding::{Confidence, Evidence, Finding, Rung, Severity};
use crate::fleet::{Fleet, Proxy};
use meshladder_capture::snapshot::{Coverage, Inputs, Need, Snapshot};
use meshladder_mesh::schema::{Faults, SchemaFault};
use meshladder_mesh::{Mesh, ObjectRef};

mod accepted;
mod analyzed;
mod annotation;
mod authority;
mod authorization;
mod case;
mod cluster;
mod codes;
mod condition;
mod config;
mod control_plane;
mod custom_resource;
mod deployment;
mod destination_rule;
mod endpoints;
mod enrolment;
mod envoy_filter;
mod gateway;
mod gateway_api;
mod held;
mod identity;
mod injection;
mod missed;
mod policy;
mod reach;
mod routing;
mod schema;
mod service;
mod service_entry;
mod sidecar;
mod sync;
mod telemetry;
mod telemetry_api;
mod upstream;
mod virtual_service;
mod webhook;
mod witness;
mod workload;
mod workload_group;
mod workloads;

pub use case::{Case, Symptom};
pub use codes::{CODES, Code, Why};
pub use reach::missing_facts;

/// Every family, in the order of their codes.
pub static FAMILIES: &[&[&Rule]] = &[
    reach::RULES,
    control_plane::RULES,
    enrolment::RULES,
    sync::RULES,
    config::RULES,
    routing::RULES,
    endpoints::RULES,
    identity::RULES,
    authorization::RULES,
    upstream::RULES,
    telemetry::RULES,
    virtual_service::RULES,
    destination_rule::RULES,
    gateway::RULES,
    service::RULES,
    service_entry::RULES,
    sidecar::RULES,
    policy::RULES,
    envoy_filter::RULES,
    injection::RULES,
    schema::RULES,
    gateway_api::RULES,
    telemetry_api::RULES,
    webhook::RULES,
    annotation::RULES,
    deployment::RULES,
    cluster::RULES,
    custom_resource::RULES,
    condition::RULES,
    workload::RULES,
    workload_group::RULES,
];

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// `ML0701`: two digits of family, two of number. Never reused.
    pub code: &'static str,
    /// The problem, in kebab case; also the file's name.
    pub name: &'static str,
    /// The same thing in other tools: `IST0173`, `KIA0203`.
    pub aka: &'static [&'static str],
    /// The rung of the ladder.
    pub rung: Rung,
    /// How bad a finding is, unless the rule says less.
    pub severity: Severity,
    /// The healthy opposite: "every subset selects a pod".
    pub claim: &'static str,
    /// What it cannot do without. When one was refused or never asked for, the rule is skipped.
    pub needs: Inputs,
    /// What it also looks at when it is there.
    pub uses: Inputs,
    /// Codes, or whole families such as `ML07`, of findings that follow from one of this rule when
    /// they hit the same pods or objects.
    pub explains: &'static [&'static str],
    /// Its page.
    pub docs: &'static str,
    /// What it does.
    pub check: Check,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Once: objects, and what istiod and the proxies say of themselves.
    Mesh(fn(&Facts<'_>, &mut Sink)),
    /// Once for each proxy, while its dump is open.
    Proxy(fn(&Facts<'_>, &Proxy<'_>, &mut Sink)),
    /// Once for a request that was asked about.
    Request(fn(&Facts<'_>, &Case<'_>, &mut Sink)),
    /// Once: with a request that was asked about only what that request meets is looked at, without
    /// one everything.
    Either(fn(&Facts<'_>, Option<&Case<'_>>, &mut Sink)),
    /// Once, by `analyze` alone: what an object says, whether traffic meets it or not.
    Object(fn(&Facts<'_>, &mut Sink)),
}

/// All that a rule may look at.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'s> {
    /// The documents.
    pub snapshot: &'s Snapshot,
    /// The objects.
    pub mesh: &'s Mesh,
    /// What istiod and the proxies say of themselves.
    pub fleet: &'s Fleet,
    /// What is wrong with the objects, once it was asked for.
    pub faults: &'s Faults,
}

impl<'s> Facts<'s> {
    /// What is wrong with the objects.
    pub fn faults(&self) -> &'s [SchemaFault] {
        self.faults.of(self.mesh)
    }

    /// What cannot be read of a kind or a part of the bundle, in words; none when it can.
    pub fn unread(&self, need: impl Into<Need>) -> Option<String> {
        let need = need.into();
        match self.snapshot.coverage(&need) {
            Coverage::Complete | Coverage::Partial(_) => None,
            coverage => Some(coverage.lack(&need)),
        }
    }
}

/// Where a rule puts what it finds.
#[derive(Debug)]
pub struct Sink {
    rule: &'static Rule,
    /// How many things were looked at.
    pub examined: usize,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Facts that were missing and could change the answer.
    pub unknown: Vec<String>,
}

impl Rule {
    /// Whether only `analyze` runs it.
    pub fn is_of_objects(&self) -> bool {
        matches!(self.check, Check::Object(_))
    }

    /// All that it looks at.
    pub fn inputs(&self) -> impl Iterator<Item = Need> + use<> {
        self.needs.iter().chain(self.uses.iter())
    }

    /// istioctl's code for it.
    pub fn ist(&self) -> Option<&'static str> {
        self.aka.iter().copied().find(|aka| aka.starts_with("IST"))
    }
}

impl Sink {
    /// For one rule.
    pub fn new(rule: &'static Rule) -> Self {
        Self {
            rule,
            examined: 0,
            findings: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// One more thing was looked at.
    pub fn examined(&mut self) {
        self.examined += 1;
    }

    /// A fact is missing that could change the answer.
    pub fn unknown(&mut self, fact: impl Into<String>) {
        self.unknown.push(fact.into());
    }

    /// A finding: the object to change, one sentence, and what proves it.
    pub fn find(
        &mut self,
        subject: ObjectRef,
        message: impl Into<String>,
        proof: Evidence,
    ) -> &mut Finding {
        let finding = Finding {
            code: self.rule.code,
            name: self.rule.name,
            rung: self.rule.rung,
            severity: self.rule.severity,
            confidence: Confidence::Proven,
            subject,
            message: message.into(),
            evidence: vec![proof],
            fixes: Vec::new(),
            hits: Vec::new(),
            when_asked: None,
            caused_by: Vec::new(),
            unsettled: Vec::new(),
            is_asked_for: false,
        };
        let at = self.findings.len();
        self.findings.push(finding);
        &mut self.findings[at]
    }
}

/// All rules, by code.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

/// The rule of that code or name, in any case.
pub fn named(text: &str) -> Option<&'static Rule> {
    all()
        .find(|rule| rule.code.eq_ignore_ascii_case(text) || rule.name.eq_ignore_ascii_case(text))
        .or_else(|| all().find(|rule| rule.aka.iter().any(|aka| aka.eq_ignore_ascii_case(text))))
}

/// istioctl's code where it has one, else ours; for the code of a rule.
pub fn shown_code(own: &'static str) -> &'static str {
    let family = all().find(|rule| rule.code == own);
    family.and_then(Rule::ist).unwrap_or(own)
}
