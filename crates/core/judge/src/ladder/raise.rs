//! First stage: every rule runs, and what it came to is kept with the rule.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{ClimbContext, Question, analyze, proxies};
use crate::finding::{Confidence, Evidence, MissingFact, Severity, Subject};
use crate::fleet::{Fleet, Proxy, ProxyDocuments, Summary};
use crate::rules::{Check, Facts, Lens, Rule, Sink};
use meshladder_capture::snapshot::{Coverage, DocId, Need, Part, ProxyRef, Snapshot};
use meshladder_mesh::schema::Faults;
use meshladder_mesh::{Mesh, probe};
use meshladder_sim::trace::Trace;
use meshladder_sim::walk::OpenedDocuments;
use meshladder_text::parallel;

/// What one rule came to.
#[derive(Debug)]
pub(super) struct RuleAnswer {
    pub(super) rule: &'static Rule,
    /// What it could not do without.
    pub(super) skipped: Option<(Need, Coverage)>,
    /// Whether it broke somewhere, so that what it would have said there is not known.
    pub(super) broke: bool,
    pub(super) sink: Sink,
}

/// A rule that panicked.
pub(super) struct RuleBroke;

impl RuleAnswer {
    pub(super) fn new(rule: &'static Rule, skipped: Option<(Need, Coverage)>) -> Self {
        Self {
            rule,
            skipped,
            broke: false,
            sink: Sink::new(rule),
        }
    }

    /// The fact that is missing for want of the rule's answer.
    pub(super) fn missing(&self) -> Option<MissingFact> {
        self.broke.then_some(MissingFact::Rule {
            code: self.rule.code,
            name: self.rule.name,
        })
    }

    pub(super) fn take(&mut self, result: Result<Sink, RuleBroke>) {
        match result {
            Ok(sink) => {
                self.sink.examined += sink.examined;
                self.sink.findings.extend(sink.findings);
                self.sink.unknown.extend(sink.unknown);
            }
            Err(RuleBroke) => self.tell_broken(),
        }
    }

    /// That a rule broke is told once, however often it did.
    fn tell_broken(&mut self) {
        if self.broke {
            return;
        }
        self.broke = true;
        let message = format!(
            "the rule {} ({}) broke; this is a bug of meshladder, and its answer is missing",
            self.rule.code, self.rule.name
        );
        let proof = Evidence::document(&DocId::new("manifest.json"), "the input that broke it");
        self.sink
            .find(Subject::Rule(self.rule.code), message, proof)
            .severity(Severity::Info);
    }
}

/// Runs every rule that looks at the mesh or at the request, beside those that looked at proxies;
/// the answers are in the order of codes.
pub(super) fn raise(
    rules: &[&'static Rule],
    mut answers: Vec<RuleAnswer>,
    context: &ClimbContext<'_>,
) -> Vec<RuleAnswer> {
    let lens = Lens::of_climb(context.case.as_ref());
    for rule in rules {
        answers.extend(run(rule, &context.facts, lens));
    }
    answers.sort_by_key(|answer| answer.rule.code);
    answers
}

/// Opens the proxies one by one, a few at a time, and runs the rules that look at one.
pub(super) fn visit_proxies(
    rules: &[&'static Rule],
    snapshot: &Snapshot,
    mesh: &Mesh,
    question: &Question,
    walked: Option<&(Trace, OpenedDocuments)>,
) -> (Fleet, Vec<RuleAnswer>) {
    let mut fleet = Fleet::of_istiods(snapshot);
    let wanted = proxies::wanted(
        snapshot,
        mesh,
        &question.scope,
        walked.map(|(trace, _)| trace),
    );
    let faults = Faults::default();
    let facts = Facts {
        snapshot,
        mesh,
        fleet: &fleet,
        faults: &faults,
    };
    let rules: Vec<&'static Rule> = rules
        .iter()
        .copied()
        .filter(|rule| matches!(rule.check, Check::Proxy(_)))
        .collect();
    let opened = walked.map(|(_, opened)| opened);
    let visited = parallel::each(&wanted, question.threads, |id| {
        visit(&facts, &rules, id, opened)
    });
    let mut answers: Vec<RuleAnswer> = Vec::new();
    for rule in &rules {
        answers.push(RuleAnswer::new(
            rule,
            lacking(rule, Lens::Mesh, snapshot, mesh),
        ));
    }
    for (id, (summary, results)) in wanted.into_iter().zip(visited) {
        fleet.proxies.insert(id, summary);
        for (answer, result) in answers.iter_mut().zip(results) {
            if answer.skipped.is_none() {
                answer.take(result);
            }
        }
    }
    (fleet, answers)
}

fn visit(
    facts: &Facts<'_>,
    rules: &[&'static Rule],
    id: &ProxyRef,
    opened: Option<&OpenedDocuments>,
) -> (Summary, Vec<Result<Sink, RuleBroke>>) {
    let documents = ProxyDocuments::open(facts.snapshot, id, opened);
    let proxy = Proxy::new(&documents, facts.mesh.pod(&id.namespace, &id.pod));
    if let (Some(doc), Some(fault)) = (&documents.config_dump, &proxy.dump_fault) {
        facts.snapshot.note_damage(&doc.id, &doc.problem(fault));
    }
    let mut results = Vec::new();
    for rule in rules {
        results.push(guarded(rule, |sink| {
            if let Check::Proxy(check) = rule.check {
                check(facts, &proxy, sink);
            }
        }));
    }
    (proxy.summary(), results)
}

/// Asks a rule through a lens; none for one that does not apply.
pub(super) fn run(rule: &'static Rule, facts: &Facts<'_>, lens: Lens<'_>) -> Option<RuleAnswer> {
    let mut answer = RuleAnswer::new(rule, lacking(rule, lens, facts.snapshot, facts.mesh));
    let result = match (rule.check, lens.case()) {
        (Check::Proxy(_) | Check::Clusters(_), _) | (Check::Request(_), None) => return None,
        _ if answer.skipped.is_some() => return Some(answer),
        _ => guarded(rule, |sink| rule.ask(facts, lens, sink)),
    };
    answer.take(result);
    let coverage = |need: Need| facts.snapshot.coverage(&need);
    let mut needs = rule.needs(lens).iter().map(coverage);
    let mut uses = rule.uses(lens).iter().map(coverage);
    // What follows from data that is not all there is not proven.
    if needs.any(|coverage| matches!(coverage, Coverage::Partial(_) | Coverage::Lost(_)))
        || uses.any(|coverage| matches!(coverage, Coverage::Denied(_) | Coverage::Lost(_)))
    {
        for finding in &mut answer.sink.findings {
            finding.confidence(Confidence::Likely);
        }
    }
    Some(answer)
}

/// Runs a check; a panic in it is no panic of the climb, and the other rules still answer.
pub(super) fn guarded(
    rule: &'static Rule,
    check: impl FnOnce(&mut Sink),
) -> Result<Sink, RuleBroke> {
    let checked = catch_unwind(AssertUnwindSafe(|| {
        let mut sink = Sink::new(rule);
        probe::running(rule.code, || check(&mut sink));
        sink
    }));
    checked.map_err(|_| RuleBroke)
}

/// The first thing that a rule cannot do without and that is not there. Of what was read only in
/// part and of which there is none at all, nothing can be concluded either; nor of objects and
/// istiods of which some are lost. Proxies are looked at one by one: one that is lost takes nothing
/// from the others.
pub(super) fn lacking(
    rule: &Rule,
    lens: Lens<'_>,
    snapshot: &Snapshot,
    mesh: &Mesh,
) -> Option<(Need, Coverage)> {
    let is_of_files = matches!(lens, Lens::Objects) && snapshot.is_files();
    rule.needs(lens).iter().find_map(|need| {
        let kind = match need {
            Need::Objects(kind) => Some(kind),
            _ => None,
        };
        match (snapshot.coverage(&need), kind) {
            (Coverage::Complete, _) => None,
            (Coverage::Partial(_) | Coverage::Lost(_), _) if is_of_files => kind
                .filter(|kind| analyze::is_not_in_files(rule, *kind, mesh))
                .map(|_| (need, Coverage::Partial("the files have none".to_owned()))),
            (Coverage::Partial(_), Some(kind)) if mesh.objects.has_any(kind) => None,
            (Coverage::Partial(_), None) if has_any(snapshot, &need) => None,
            (Coverage::Lost(_), None)
                if need != Need::Part(Part::Istiod) && has_any(snapshot, &need) =>
            {
                None
            }
            (coverage, _) => Some((need, coverage)),
        }
    })
}

/// Whether there is any document of a part of the bundle.
fn has_any(snapshot: &Snapshot, need: &Need) -> bool {
    let folder = need.path();
    snapshot
        .ids()
        .any(|id| id.split().1.starts_with(folder.as_str()))
}
