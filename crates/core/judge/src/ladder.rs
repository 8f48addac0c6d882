//! The climb: every rule runs, then causes are told from symptoms, and the one thing to change
//! comes first.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::finding::{Confidence, Evidence, Finding, Fix, Rung, Severity};
use crate::fleet::{Documents, Fleet, Proxy};
use crate::report::{self, Outcome, Report, RungOutcome, Verdict};
use crate::rules::{self, Case, Check, Facts, Lens, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, DocId, Need, Part, ProxyRef, Snapshot};
use meshladder_mesh::schema::Faults;
use meshladder_mesh::{Mesh, ObjectRef, probe};
use meshladder_sim::trace::{EndKind, Trace};
use meshladder_sim::walk::{self, Call};
use meshladder_text::parallel;

mod analyze;
mod attribute;
mod case;
mod choice;
mod logged;
mod proxies;
mod scope;
mod verify;

pub use analyze::{Analysis, analyze, chosen, skipped};
pub use choice::{Choice, is_known};
pub use proxies::on_path;
pub use scope::Scope;

/// What is asked of the ladder.
#[derive(Debug)]
pub struct Question {
    /// What it is about.
    pub scope: Scope,
    /// For a request: what was seen.
    pub seen: Option<Symptom>,
    /// How many threads may visit proxies.
    pub threads: usize,
}

/// What one rule came to.
#[derive(Debug)]
struct Ran {
    rule: &'static Rule,
    skipped: Option<(Need, Coverage)>,
    sink: Sink,
}

/// Climbs the whole ladder.
pub fn climb(snapshot: &Snapshot, mesh: &Mesh, question: &Question) -> Report {
    climb_along(snapshot, mesh, question, None)
}

/// The same for a request whose walk is known already.
pub fn climb_along(
    snapshot: &Snapshot,
    mesh: &Mesh,
    question: &Question,
    walked: Option<Trace>,
) -> Report {
    let call = question.scope.call();
    let trace = call.map(|call| {
        (
            call,
            walked.unwrap_or_else(|| walk::trace(snapshot, mesh, call, false)),
        )
    });
    let (fleet, mut ran) = visit_proxies(
        snapshot,
        mesh,
        question,
        trace.as_ref().map(|(_, trace)| trace),
    );
    let faults = Faults::default();
    let facts = Facts {
        snapshot,
        mesh,
        fleet: &fleet,
        faults: &faults,
    };
    let case = trace
        .as_ref()
        .map(|(call, trace)| case::build(&facts, call, trace, question.seen.as_ref()));
    let lens = Lens::of_climb(case.as_ref());
    ran.extend(climbed().filter_map(|rule| run(rule, &facts, lens)));
    ran.sort_by_key(|ran| ran.rule.code);
    let mut findings: Vec<Finding> = ran
        .iter()
        .flat_map(|ran| ran.sink.findings.clone())
        .collect();
    scope::quieten(&mut findings, &question.scope, &facts, case.as_ref());
    for cause in logged::causes(&facts, &question.scope) {
        findings.retain(|known| known.id() != cause.id());
        findings.push(cause);
    }
    scope::put_traffic_first(&mut findings, &question.scope);
    if let Some(case) = &case {
        scope::put_asked_for_first(&mut findings, case);
    }
    doubt(&mut findings, &ran, snapshot);
    attribute::causes(&mut findings);
    let unsettled = attribute::unsettled(&mut findings);
    let mut unknown = missing(&ran, &question.scope, case.as_ref(), unsettled);
    unknown.extend(
        question
            .scope
            .unread(&facts)
            .filter(|fact| !unknown.contains(fact)),
    );
    if unknown.is_empty() && !findings.iter().any(Finding::is_loud) {
        let end = case.as_ref().and_then(case::bad_end);
        unknown.extend(end.map(|end| {
            format!(
                "what led to {}: nothing that was read explains it",
                end.in_words()
            )
        }));
    }
    let verdict = verdict(&findings, &unknown);
    if verdict == Verdict::Undecided {
        findings.push(not_readable(&unknown, snapshot));
        attribute::causes(&mut findings);
    }
    verify::fixes(&mut findings, &facts, case.as_ref(), question);
    let coverage = coverage(climbed(), Lens::Mesh, snapshot);
    Report {
        question: question.scope.topic(question.seen.as_ref()),
        about: question.scope.in_words(),
        taken_at: snapshot.taken_at(),
        verdict,
        rungs: Rung::ALL
            .iter()
            .map(|rung| rung_outcome(*rung, &ran, &findings, &coverage))
            .collect(),
        coverage,
        unknown,
        findings: report::tell(findings, snapshot),
    }
}

/// Opens the proxies one by one, a few at a time, and runs the rules that look at one.
fn visit_proxies(
    snapshot: &Snapshot,
    mesh: &Mesh,
    question: &Question,
    trace: Option<&Trace>,
) -> (Fleet, Vec<Ran>) {
    let mut fleet = Fleet::of_istiods(snapshot);
    let wanted = proxies::wanted(snapshot, mesh, &question.scope, trace);
    let faults = Faults::default();
    let facts = Facts {
        snapshot,
        mesh,
        fleet: &fleet,
        faults: &faults,
    };
    let rules: Vec<&'static Rule> = rules::all()
        .filter(|rule| matches!(rule.check, Check::Proxy(_)))
        .collect();
    let visited = parallel::each(&wanted, question.threads, |id| visit(&facts, &rules, id));
    let mut ran: Vec<Ran> = rules
        .iter()
        .map(|rule| Ran {
            rule,
            skipped: lacking(rule, Lens::Mesh, snapshot, mesh),
            sink: Sink::new(rule),
        })
        .collect();
    for (id, (summary, sinks)) in wanted.into_iter().zip(visited) {
        fleet.proxies.insert(id, summary);
        for (ran, sink) in ran
            .iter_mut()
            .zip(sinks)
            .filter(|(ran, _)| ran.skipped.is_none())
        {
            ran.sink.examined += sink.examined;
            ran.sink.findings.extend(sink.findings);
            ran.sink.unknown.extend(sink.unknown);
        }
    }
    (fleet, ran)
}

fn visit(
    facts: &Facts<'_>,
    rules: &[&'static Rule],
    id: &ProxyRef,
) -> (crate::fleet::Summary, Vec<Sink>) {
    let documents = Documents::open(facts.snapshot, id);
    let proxy = Proxy::new(&documents, facts.mesh.pod(&id.namespace, &id.pod));
    let sinks = rules.iter().map(|rule| {
        guarded(rule, |sink| {
            if let Check::Proxy(check) = rule.check {
                check(facts, &proxy, sink);
            }
        })
    });
    let sinks = sinks.collect();
    (proxy.summary(), sinks)
}

/// Asks a rule through a lens; none for one that does not apply.
fn run(rule: &'static Rule, facts: &Facts<'_>, lens: Lens<'_>) -> Option<Ran> {
    let skipped = lacking(rule, lens, facts.snapshot, facts.mesh);
    let sink = match (rule.check, lens.case()) {
        (Check::Proxy(_), _) | (Check::Request(_), None) => return None,
        _ if skipped.is_some() => Sink::new(rule),
        _ => guarded(rule, |sink| rule.ask(facts, lens, sink)),
    };
    let mut ran = Ran {
        rule,
        skipped,
        sink,
    };
    let coverage = |need: Need| facts.snapshot.coverage(&need);
    let mut needs = rule.needs(lens).iter().map(coverage);
    let mut uses = rule.uses(lens).iter().map(coverage);
    if needs.any(|coverage| matches!(coverage, Coverage::Partial(_)))
        || uses.any(|coverage| matches!(coverage, Coverage::Denied(_)))
    {
        for finding in &mut ran.sink.findings {
            finding.confidence(Confidence::Likely);
        }
    }
    Some(ran)
}

/// A panic in one rule becomes a finding of its own, and the rest still answers.
fn guarded(rule: &'static Rule, check: impl FnOnce(&mut Sink)) -> Sink {
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut sink = Sink::new(rule);
        probe::running(rule.code, || check(&mut sink));
        sink
    }));
    ran.unwrap_or_else(|_| {
        let mut sink = Sink::new(rule);
        let message = format!(
            "the rule {} ({}) broke; this is a bug of meshladder, and its answer is missing",
            rule.code, rule.name
        );
        let subject = ObjectRef::new("Meshladder", "", rule.code);
        sink.find(
            subject,
            message,
            Evidence::document(&DocId::new("manifest.json"), "the input that broke it"),
        )
        .severity(Severity::Info);
        sink
    })
}

/// The first thing that a rule cannot do without and that is not there. Of a kind that was read
/// only in part and of which there is none at all, nothing can be concluded either.
fn lacking(
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
            (Coverage::Partial(_), _) if is_of_files => kind
                .filter(|kind| analyze::is_not_in_files(rule, *kind, mesh))
                .map(|_| (need, Coverage::Partial("the files have none".to_owned()))),
            (Coverage::Partial(_), None) => None,
            (Coverage::Partial(_), Some(kind)) if mesh.objects.has_any(kind) => None,
            (coverage, _) => Some((need, coverage)),
        }
    })
}

/// A finding may follow from another that was not made for want of a fact: then that fact decides
/// whether it is a root. And whom an object concerns, only the pods tell.
fn doubt(findings: &mut [Finding], ran: &[Ran], snapshot: &Snapshot) {
    let pods = Need::Objects(Kind::Pod);
    let coverage = snapshot.coverage(&pods);
    let pods = matches!(coverage, Coverage::Denied(_)).then(|| coverage.lack(&pods));
    for finding in findings {
        let explains = |ran: &&Ran| {
            ran.rule
                .explains
                .iter()
                .any(|code| finding.code.starts_with(code))
        };
        let uses_pods =
            rules::named(finding.code).is_some_and(|rule| rule.uses.kinds().contains(&Kind::Pod));
        let facts = ran
            .iter()
            .filter(explains)
            .flat_map(|ran| ran.sink.unknown.clone())
            .chain(pods.clone().filter(|_| uses_pods));
        let mut facts: Vec<String> = facts
            .filter(|fact| !finding.unsettled.contains(fact))
            .collect();
        facts.dedup();
        finding.unsettled.extend(facts);
    }
}

/// What only tells of the past: a mesh is judged without it, and the rung says what was not looked
/// at.
const ONLY_TELL: [Need; 2] = [Need::Objects(Kind::Event), Need::Part(Part::Logs)];

/// Facts that were missing and could change the answer.
fn missing(
    ran: &[Ran],
    scope: &Scope,
    case: Option<&Case<'_>>,
    mut unknown: Vec<String>,
) -> Vec<String> {
    unknown.extend(ran.iter().flat_map(|ran| ran.sink.unknown.clone()));
    if let Some(case) = case {
        let ends = case.trace.branches.iter().map(|branch| &branch.end);
        let open = ends.filter(|end| end.kind == EndKind::Undecided);
        unknown.extend(open.map(|end| end.because.clone()));
    }
    let unread = ran
        .iter()
        .filter(|ran| scope.covers(ran.rule.rung))
        .filter_map(|ran| ran.skipped.as_ref());
    let unread = unread.filter(|(need, coverage)| match case {
        Some(case) => case::wants(case, need, coverage),
        None => !ONLY_TELL.contains(need),
    });
    unknown.extend(unread.map(|(need, coverage)| coverage.lack(need)));
    let mut seen = std::collections::BTreeSet::new();
    unknown.retain(|fact| seen.insert(fact.clone()));
    unknown
}

fn verdict(findings: &[Finding], unknown: &[String]) -> Verdict {
    match (findings.iter().any(Finding::is_loud), unknown.is_empty()) {
        (true, _) => Verdict::Broken,
        (false, true) => Verdict::Healthy,
        (false, false) => Verdict::Undecided,
    }
}

/// How many missing facts the first line names.
const FEW: usize = 3;

/// Nothing is blamed: what could not be read comes first.
fn not_readable(unknown: &[String], snapshot: &Snapshot) -> Finding {
    let rule = rules::missing_facts();
    let mut sink = Sink::new(rule);
    let first = &unknown[..unknown.len().min(FEW)];
    let more = if unknown.len() > first.len() {
        format!(" and {} more", unknown.len() - first.len())
    } else {
        String::new()
    };
    let message = format!(
        "it cannot be decided without: {}{more}",
        report::by_reason(first).join("; ")
    );
    let proof = Evidence::document(&DocId::new("manifest.json"), "what could not be read");
    let finding = sink.find(ObjectRef::new("Coverage", "", ""), message, proof);
    for (_, need, coverage) in snapshot
        .coverages()
        .filter(|(_, _, coverage)| **coverage != Coverage::Complete)
    {
        finding.see(Evidence::document(
            &DocId::new(need.path()),
            coverage.lack(need),
        ));
    }
    let wanted = report::by_reason(unknown).join("; ");
    finding.fix(Fix::advice(format!("get these and ask again: {wanted}")));
    if wanted.contains("no right to") {
        let advice = "`meshladder rbac` prints the rights; who has them can send you a bundle (`meshladder snapshot`)";
        finding.fix(Fix::advice(advice));
    }
    finding.clone()
}

fn rung_outcome(
    rung: Rung,
    ran: &[Ran],
    findings: &[Finding],
    coverage: &[(Need, Coverage)],
) -> RungOutcome {
    let here: Vec<&Ran> = ran.iter().filter(|ran| ran.rule.rung == rung).collect();
    let examined = match rung {
        // Its rule has nothing to look at: the ladder itself sees what could be read.
        Rung::Reach => coverage
            .iter()
            .filter(|(_, coverage)| *coverage == Coverage::Complete)
            .count(),
        _ => here.iter().map(|ran| ran.sink.examined).sum(),
    };
    let outcome = if findings.iter().any(|f| f.rung == rung && f.is_loud()) {
        Outcome::Failed
    } else if examined > 0 {
        Outcome::Passed
    } else if let Some((need, coverage)) = here.iter().find_map(|ran| ran.skipped.as_ref()) {
        Outcome::Skipped(coverage.lack(need))
    } else {
        Outcome::Nothing
    };
    RungOutcome {
        rung,
        outcome,
        examined,
    }
}

/// The rules of the ladder; those of objects alone are `analyze`'s.
fn climbed() -> impl Iterator<Item = &'static Rule> {
    rules::all().filter(|rule| rule.is_of_traffic())
}

/// Everything that any of the rules needs or uses.
fn coverage(
    rules: impl Iterator<Item = &'static Rule>,
    lens: Lens<'_>,
    snapshot: &Snapshot,
) -> Vec<(Need, Coverage)> {
    let needs: std::collections::BTreeSet<Need> =
        rules.flat_map(|rule| rule.inputs(lens)).collect();
    needs
        .into_iter()
        .map(|need| (need.clone(), snapshot.coverage(&need)))
        .collect()
}

/// The request that a scope is about.
impl Scope {
    fn call(&self) -> Option<&Call> {
        if let Self::Request(call) = self {
            Some(call)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests;
