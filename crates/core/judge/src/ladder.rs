//! The climb: every rule runs, then causes are told from symptoms, and the one thing to change
//! comes first. Each stage is a file, and makes its result from the one before.

use crate::fleet::Fleet;
use crate::report::Report;
use crate::rules::{self, Case, Facts, Rule, Symptom};
use meshladder_capture::snapshot::Snapshot;
use meshladder_mesh::Mesh;
use meshladder_mesh::schema::Faults;
use meshladder_sim::trace::Trace;
use meshladder_sim::walk::{Call, Detail, Documents, OpenedDocuments, Walk};

mod analyze;
mod attribute;
mod case;
mod choice;
mod clusters;
mod compose;
mod logged;
mod plan;
mod proxies;
mod raise;
mod scope;
mod verify;
mod weigh;

pub use analyze::{Analysis, analyze, chosen, skipped};
pub use choice::{Choice, is_known};
pub use clusters::{climb_clusters, climb_clusters_along};
pub use plan::{Plan, plan};
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

/// What every stage looks at.
struct ClimbContext<'a> {
    question: &'a Question,
    facts: Facts<'a>,
    /// The request, when one was asked about.
    case: Option<Case<'a>>,
}

/// Climbs the whole ladder.
pub fn climb(snapshot: &Snapshot, mesh: &Mesh, question: &Question) -> Report {
    let walked = question.scope.call().map(|call| walk(snapshot, mesh, call));
    climb_by(&climbed(), snapshot, mesh, question, walked.as_ref())
}

/// Climbs for a request whose walk is known already.
pub fn climb_along(
    snapshot: &Snapshot,
    mesh: &Mesh,
    question: &Question,
    walked: Option<Trace>,
) -> Report {
    match walked {
        Some(trace) => {
            let walked = Some((trace, OpenedDocuments::default()));
            climb_by(&climbed(), snapshot, mesh, question, walked.as_ref())
        }
        None => climb(snapshot, mesh, question),
    }
}

/// The climb by some rules: raised, weighed, attributed, verified, reported.
fn climb_by(
    rules: &[&'static Rule],
    snapshot: &Snapshot,
    mesh: &Mesh,
    question: &Question,
    walked: Option<&(Trace, OpenedDocuments)>,
) -> Report {
    let (fleet, of_proxies) = raise::visit_proxies(rules, snapshot, mesh, question, walked);
    let faults = Faults::default();
    let context = ClimbContext::new(question, snapshot, mesh, &fleet, &faults, walked);
    let answers = raise::raise(rules, of_proxies, &context);
    let weighed = weigh::weigh(&answers, &context);
    let attribution = attribute::attribute(weighed, &answers, &context);
    let attribution = verify::verify(attribution, &context);
    compose::report(rules, &answers, attribution, &context)
}

impl<'a> ClimbContext<'a> {
    fn new(
        question: &'a Question,
        snapshot: &'a Snapshot,
        mesh: &'a Mesh,
        fleet: &'a Fleet,
        faults: &'a Faults,
        walked: Option<&'a (Trace, OpenedDocuments)>,
    ) -> Self {
        let facts = Facts {
            snapshot,
            mesh,
            fleet,
            faults,
        };
        let call = question.scope.call().zip(walked);
        let case =
            call.map(|(call, (trace, _))| case::build(&facts, call, trace, question.seen.as_ref()));
        Self {
            question,
            facts,
            case,
        }
    }
}

/// Walks a request, and keeps what was opened for it: the same proxies are visited then.
fn walk(snapshot: &Snapshot, mesh: &Mesh, call: &Call) -> (Trace, OpenedDocuments) {
    let documents = Documents::of(snapshot);
    let trace = Walk::new(&documents, mesh).trace(call, Detail::Steps);
    (trace, documents.opened())
}

/// The rules of the ladder; those of objects alone are `analyze`'s.
fn climbed() -> Vec<&'static Rule> {
    rules::all().filter(|rule| rule.is_of_traffic()).collect()
}

impl Scope {
    /// The request that it is about.
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
