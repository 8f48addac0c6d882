//! One screen about one thing: what the objects, istiod and the proxies say of a pod, a Service, a
//! VirtualService or a Gateway, and what is wrong with it.

use crate::finding::{Finding, Subject};
use crate::fleet::Fleet;
use crate::report::Report;
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, Need, Snapshot};
use meshladder_mesh::{Mesh, Object, ObjectRef};

mod callers;
mod concerned;
mod gateway;
mod pod;
mod policies;
mod service;
mod virtual_service;

pub use concerned::concerned;

/// What there is to say.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// The thing.
    pub object: ObjectRef,
    /// In the order people ask.
    pub sections: Vec<DescriptionSection>,
}

/// One question about the thing.
#[derive(Clone, Debug, Default)]
pub struct DescriptionSection {
    /// The question, in a word or two.
    pub title: &'static str,
    /// The answers.
    pub facts: Vec<Fact>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about; may be empty.
    pub about: String,
    /// What there is to say, without a full stop.
    pub says: String,
    /// The object that says so.
    pub by: Option<Subject>,
}

/// What is looked at.
#[derive(Clone, Copy)]
pub(crate) struct DescribeFacts<'s> {
    pub(crate) snapshot: &'s Snapshot,
    pub(crate) mesh: &'s Mesh,
    pub(crate) fleet: &'s Fleet,
}

impl DescribeFacts<'_> {
    /// What is said of something that is not there, or set only where nothing else sets it: only
    /// who has read all objects of these kinds knows.
    fn unless_unread(&self, kinds: &[Kind], says: impl Into<String>) -> String {
        match self.unread(kinds) {
            Some(unread) => format!("unknown without all {unread}"),
            None => says.into(),
        }
    }

    /// The first of these kinds of which not all was read, and why. Files are all there is to say.
    fn unread(&self, kinds: &[Kind]) -> Option<String> {
        if self.snapshot.is_files() {
            return None;
        }
        kinds.iter().find_map(|kind| {
            let need = Need::Objects(*kind);
            match self.snapshot.coverage(&need) {
                Coverage::Complete => None,
                coverage => Some(coverage.lack(&need)),
            }
        })
    }
}

/// Describes an object; `report` is what `check` found about it. None for kinds that have no
/// description.
pub fn describe(
    snapshot: &Snapshot,
    mesh: &Mesh,
    object: &ObjectRef,
    report: &Report,
) -> Option<Description> {
    let fleet = Fleet::of_istiods(snapshot);
    let facts = DescribeFacts {
        snapshot,
        mesh,
        fleet: &fleet,
    };
    let stored = mesh.objects.find(object)?;
    let mut sections = match object.kind.as_str() {
        "Pod" => pod::sections(&facts, stored),
        "Service" => service::sections(&facts, stored),
        "VirtualService" => virtual_service::sections(&facts, stored),
        "Gateway" => gateway::sections(
            &facts,
            mesh.gateway(&object.namespace, &object.name)
                .unwrap_or(stored),
        ),
        _ => return None,
    };
    sections.push(findings(report, object));
    sections.retain(|section| !section.facts.is_empty());
    Some(Description {
        object: object.clone(),
        sections,
    })
}

fn findings(report: &Report, object: &ObjectRef) -> DescriptionSection {
    let mut section = DescriptionSection::new("What is wrong");
    let bears = |finding: &&Finding| {
        finding.is_loud() || finding.subject == *object || finding.hits.contains(object)
    };
    for finding in report
        .findings
        .iter()
        .map(|told| &told.finding)
        .filter(bears)
    {
        let follows = if finding.caused_by.is_empty() {
            ""
        } else {
            ", follows from another"
        };
        let about = format!("{} {}{follows}", finding.code, finding.severity.word());
        section.facts.push(Fact {
            about,
            says: finding.message.clone(),
            by: Some(finding.subject.clone()),
        });
    }
    if section.facts.is_empty() {
        section.add(
            "",
            format!(
                "nothing that `check` knows of; verdict {}",
                report.verdict.word()
            ),
            None,
        );
    }
    section
}

impl DescriptionSection {
    fn new(title: &'static str) -> Self {
        Self {
            title,
            facts: Vec::new(),
        }
    }

    fn add(&mut self, about: impl Into<String>, says: impl Into<String>, by: Option<&ObjectRef>) {
        self.facts.push(Fact {
            about: about.into(),
            says: says.into(),
            by: by.cloned().map(Subject::from),
        });
    }

    fn object(&mut self, about: impl Into<String>, says: impl Into<String>, by: &Object) {
        self.add(about, says, Some(&by.id));
    }
}

/// `1 pod`, `2 pods`
fn count(n: usize, what: &str) -> String {
    match what.strip_suffix('y') {
        _ if n == 1 => format!("1 {what}"),
        Some(stem) => format!("{n} {stem}ies"),
        None => format!("{n} {what}s"),
    }
}

/// `a, b, c and 3 more`
pub fn few<T: AsRef<str>>(names: &[T]) -> String {
    let joined = |names: &[T]| {
        names
            .iter()
            .map(AsRef::as_ref)
            .collect::<Vec<_>>()
            .join(", ")
    };
    if names.len() <= 4 {
        joined(names)
    } else {
        format!("{} and {} more", joined(&names[..3]), names.len() - 3)
    }
}

#[cfg(test)]
mod tests;
