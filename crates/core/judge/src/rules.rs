//! The rules: one folder a family, an `.rs` and an `.md` a rule. The `.md` is the rule's page, and
//! its examples are run.
//!
//! `registry.rs` lists the families and finds a rule, `retired.rs` has the codes that were given up,
//! `codes.rs` those of other tools; `shared/` is what several families use. All else is a family.

use crate::finding::{Confidence, Evidence, Finding, MissingFact, Rung, Severity, Subject};
use crate::fleet::{Fleet, Proxy};
use meshladder_capture::snapshot::{Coverage, Inputs, Need, Snapshot};
use meshladder_mesh::Mesh;
use meshladder_mesh::schema::{Faults, SchemaFault};
use meshladder_text::shown;

mod ambient;
mod annotation;
mod authorization;
mod case;
mod cluster;
mod codes;
mod config;
mod control_plane;
mod crossing;
mod destination_rule;
mod endpoints;
mod enrolment;
mod envoy_filter;
mod gateway_api;
mod identity;
mod multicluster;
mod policy;
mod reach;
mod registry;
pub mod retired;
mod routing;
mod schema;
mod service;
mod shared;
mod sidecar;
mod sync;
mod telemetry;
mod upstream;
mod virtual_service;
mod workload;

use shared::{
    absence, accounts, analyzed, authority, istiod_log, peer_modes, selector_misses, workloads,
};

pub use case::{Case, Symptom};
pub use codes::{CODES, Code, Why};
pub use crossing::{CrossedRequest, Crossing};
pub use reach::missing_facts;
pub use registry::{FAMILIES, all, foreign_codes, named, shown_code};

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// `ML0701`. Never reused; one that is given up stands in `retired.rs`.
    pub code: &'static str,
    /// The problem, in kebab case; also the file's name.
    pub name: &'static str,
    /// What other tools call it: `IST0173`, `KIA0203`.
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
    /// Once, through the lens of whoever asks: `analyze`, `check` or `why`.
    Lens(fn(&Facts<'_>, Lens<'_>, &mut Sink), Alone),
    /// Once, through the lens of objects or of the mesh: a request does not narrow it.
    Wide(fn(&Facts<'_>, Lens<'_>, &mut Sink), Alone),
    /// Once, where there are several clusters: what joins them, and a request from one to another.
    Clusters(fn(&Crossing<'_>, &mut Sink)),
}

/// How much of the mesh is looked at: one claim may be asked of objects, of a mesh or of a request.
#[derive(Clone, Copy, Debug)]
pub enum Lens<'a> {
    /// What the objects say, whether traffic meets it or not: `analyze`.
    Objects,
    /// All that is in the mesh, by the traffic that may meet it: `check`.
    Mesh,
    /// What one request meets: `why`.
    Request(&'a Case<'a>),
}

/// What differs about a rule of the ladder when it is asked of objects alone.
#[derive(Clone, Copy, Debug)]
pub struct Alone {
    /// How bad a finding is then: as bad as istioctl calls it.
    pub severity: Severity,
    /// What it cannot do without.
    pub needs: Inputs,
    /// What it also looks at when it is there.
    pub uses: Inputs,
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

    /// What cannot be read of a kind or a part of the bundle; none when it can.
    pub fn unread(&self, need: impl Into<Need>) -> Option<MissingFact> {
        let need = need.into();
        match self.snapshot.coverage(&need) {
            Coverage::Complete | Coverage::Partial(_) => None,
            coverage => Some(MissingFact::Unread(need, coverage)),
        }
    }
}

/// Where a rule puts what it finds.
#[derive(Debug)]
pub struct Sink {
    rule: &'static Rule,
    severity: Severity,
    /// How many things were looked at.
    pub examined: usize,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Facts that were missing and could change the answer.
    pub unknown: Vec<MissingFact>,
}

impl<'a> Lens<'a> {
    /// The lens of a climb: a request's where one was asked about.
    pub fn of_climb(case: Option<&'a Case<'a>>) -> Self {
        case.map_or(Self::Mesh, Self::Request)
    }

    /// The request that was asked about.
    pub fn case(self) -> Option<&'a Case<'a>> {
        match self {
            Self::Request(case) => Some(case),
            Self::Objects | Self::Mesh => None,
        }
    }
}

impl Rule {
    /// Asks it through a lens. One that looks at proxies is asked of each by itself, and not here.
    pub fn ask(&self, facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
        out.severity = self.severity(lens);
        match (self.check, lens) {
            (Check::Mesh(check) | Check::Object(check), _) => check(facts, out),
            (Check::Either(check), _) => check(facts, lens.case(), out),
            (Check::Request(check), Lens::Request(case)) => check(facts, case, out),
            (Check::Lens(check, _) | Check::Wide(check, _), Lens::Objects | Lens::Mesh)
            | (Check::Lens(check, _), Lens::Request(_)) => check(facts, lens, out),
            (Check::Wide(check, _), Lens::Request(_)) => check(facts, Lens::Mesh, out),
            (Check::Proxy(_) | Check::Request(_) | Check::Clusters(_), _) => {}
        }
    }

    /// Whether `analyze` runs it.
    pub fn is_of_objects(&self) -> bool {
        matches!(
            self.check,
            Check::Object(_) | Check::Lens(..) | Check::Wide(..)
        )
    }

    /// Whether `check` and `why` run it.
    pub fn is_of_traffic(&self) -> bool {
        !matches!(self.check, Check::Object(_))
    }

    /// What it cannot do without when it is asked through a lens.
    pub fn needs(&self, lens: Lens<'_>) -> Inputs {
        self.alone(lens).map_or(self.needs, |alone| alone.needs)
    }

    /// What it also looks at when it is asked through a lens.
    pub fn uses(&self, lens: Lens<'_>) -> Inputs {
        self.alone(lens).map_or(self.uses, |alone| alone.uses)
    }

    /// How bad its findings are through a lens, unless it says less.
    pub fn severity(&self, lens: Lens<'_>) -> Severity {
        self.alone(lens)
            .map_or(self.severity, |alone| alone.severity)
    }

    fn alone(&self, lens: Lens<'_>) -> Option<Alone> {
        match (self.check, lens) {
            (Check::Lens(_, alone) | Check::Wide(_, alone), Lens::Objects) => Some(alone),
            _ => None,
        }
    }

    /// All that it looks at when it is asked through a lens.
    pub fn inputs(&self, lens: Lens<'_>) -> impl Iterator<Item = Need> + use<> {
        self.needs(lens).iter().chain(self.uses(lens).iter())
    }

    /// istioctl's code for it; the first, where it has several.
    pub fn ist(&self) -> Option<&'static str> {
        self.ists().next()
    }

    /// istioctl's codes for it.
    pub fn ists(&self) -> impl Iterator<Item = &'static str> {
        self.aka
            .iter()
            .copied()
            .filter(|aka| aka.starts_with("IST"))
    }
}

impl Sink {
    /// For one rule.
    pub fn new(rule: &'static Rule) -> Self {
        Self {
            rule,
            severity: rule.severity,
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
    pub fn unknown(&mut self, fact: impl Into<MissingFact>) {
        self.unknown.push(fact.into());
    }

    /// A finding: the object to change or what else it is about, one sentence, and what proves it.
    pub fn find(
        &mut self,
        subject: impl Into<Subject>,
        message: impl Into<String>,
        proof: Evidence,
    ) -> &mut Finding {
        let finding = Finding {
            code: self.rule.code,
            name: self.rule.name,
            rung: self.rule.rung,
            severity: self.severity,
            ist: self.rule.ist(),
            confidence: Confidence::Proven,
            subject: subject.into(),
            cluster: None,
            message: shown::line(&message.into()).into_owned(),
            evidence: vec![proof.on_one_line()],
            fixes: Vec::new(),
            hits: Vec::new(),
            when_asked: None,
            caused_by: Vec::new(),
            unsettled: Vec::new(),
            is_asked_for: false,
            is_side_effect: false,
        };
        let at = self.findings.len();
        self.findings.push(finding);
        &mut self.findings[at]
    }
}
