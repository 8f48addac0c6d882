//! What the ladder hands to renderers.

use std::collections::BTreeMap;

use crate::finding::{Evidence, Finding, MissingFact, Rung, Severity, Spot};
use crate::rules::Symptom;
use meshladder_capture::snapshot::{Coverage, Need, Snapshot};
use meshladder_mesh::ObjectRef;
use meshladder_sim::walk::Call;
use meshladder_text::time::Time;

mod citation;
mod gaps;
mod lookup;

pub use citation::Citation;
pub use gaps::by_reason;
use lookup::Lookup;

/// The answer to `check` or `why`.
#[derive(Debug)]
pub struct Report {
    /// What was asked.
    pub question: Topic,
    /// What was asked, in words.
    pub about: String,
    /// The name of the cluster it was asked in, where there are several.
    pub cluster: Option<String>,
    /// The name of the cluster that each source's documents are of, where there are several.
    pub clusters: BTreeMap<String, String>,
    /// When the Snapshot was taken.
    pub taken_at: Option<Time>,
    /// The verdict.
    pub verdict: Verdict,
    /// Root causes first.
    pub findings: Vec<ReportEntry>,
    /// One outcome a rung, bottom up.
    pub rungs: Vec<RungOutcome>,
    /// What was needed, and how much of it there was.
    pub coverage: Vec<(Need, Coverage)>,
    /// Facts that were missing and could change the answer.
    pub unknown: Vec<MissingFact>,
}

/// What a report answers.
#[derive(Clone, Debug)]
pub enum Topic {
    /// The whole mesh.
    Mesh,
    /// Objects alone, as files hold them.
    Objects,
    /// A namespace.
    Namespace(String),
    /// A workload or a pod.
    Workload(ObjectRef),
    /// Any other object.
    Object(ObjectRef),
    /// One request, and what was seen of it.
    Request {
        /// The request.
        call: Box<Call>,
        /// What was seen.
        seen: Option<Symptom>,
    },
}

/// A finding with its evidence looked up.
#[derive(Debug)]
pub struct ReportEntry {
    /// The finding.
    pub finding: Finding,
    /// For each piece of its evidence, what stands there.
    pub shown: Vec<Citation>,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing at warning or above bears on the question, and every fact needed was there.
    Healthy,
    /// Something does.
    Broken,
    /// A missing fact could change the answer.
    Undecided,
}

/// How a rung came out.
#[derive(Clone, Debug)]
pub struct RungOutcome {
    /// The rung.
    pub rung: Rung,
    /// The outcome.
    pub outcome: Outcome,
    /// How many things were looked at.
    pub examined: usize,
}

/// How a rung came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing wrong in what was looked at.
    Passed,
    /// A finding at warning or above.
    Failed,
    /// A fact was missing, and why.
    Skipped(MissingFact),
    /// There was nothing to look at.
    Nothing,
}

impl Report {
    /// The rung of the first finding that is told loudly; none when all is well.
    pub fn broken_rung(&self) -> Option<Rung> {
        match self.verdict {
            Verdict::Healthy => None,
            Verdict::Broken | Verdict::Undecided => self
                .findings
                .iter()
                .map(|t| &t.finding)
                .find(|f| f.is_loud())
                .map(|f| f.rung),
        }
    }

    /// Whether a finding is at least that bad.
    pub fn has(&self, severity: Severity) -> bool {
        self.findings
            .iter()
            .any(|told| told.finding.severity <= severity)
    }
}

impl Verdict {
    /// The word JSON carries.
    pub fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Broken => "broken",
            Self::Undecided => "undecided",
        }
    }
}

impl Outcome {
    /// The word JSON carries.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped(_) => "skipped",
            Self::Nothing => "nothing",
        }
    }
}

/// Looks up the evidence of all findings, each document once.
pub fn tell(findings: Vec<Finding>, snapshot: &Snapshot) -> Vec<ReportEntry> {
    let mut places: Vec<(usize, usize, &Evidence)> = Vec::new();
    for (i, finding) in findings.iter().enumerate() {
        places.extend(
            finding
                .evidence
                .iter()
                .enumerate()
                .map(|(k, evidence)| (i, k, evidence)),
        );
    }
    places.sort_by(|a, b| a.2.doc.cmp(&b.2.doc));
    let mut shown: Vec<Vec<Citation>> = findings
        .iter()
        .map(|f| vec![Citation::default(); f.evidence.len()])
        .collect();
    for group in places.chunk_by(|a, b| a.2.doc == b.2.doc) {
        // Nothing is looked up in a document that is the evidence by not being there.
        if group
            .iter()
            .all(|(_, _, evidence)| evidence.spot == Spot::Whole)
        {
            continue;
        }
        let Ok(doc) = snapshot.open(&group[0].2.doc) else {
            continue;
        };
        let lookup = Lookup::new(&doc, group.iter().map(|(_, _, evidence)| &evidence.spot));
        for (i, k, evidence) in group {
            shown[*i][*k] = Citation::look_up(&lookup, &evidence.spot);
        }
    }
    findings
        .into_iter()
        .zip(shown)
        .map(|(finding, shown)| ReportEntry { finding, shown })
        .collect()
}
