//! A report as JSON v1: an outward shape of its own, which may grow and keeps its names.

use std::collections::BTreeMap;

use crate::json::{API_VERSION, SubjectJson, to_pretty};
use crate::question::QuestionIn;
use meshladder_judge::finding::{Evidence, Fix, Rung};
use meshladder_judge::report::{Citation, Outcome, Report, ReportEntry, RungOutcome};
use meshladder_judge::rules;
use serde::Serialize;

/// The report as pretty JSON.
pub fn to_json(report: &Report) -> String {
    to_pretty(&ReportJson::from(report), 2)
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReportJson<'a> {
    api_version: &'static str,
    kind: &'static str,
    taken_at: Option<String>,
    question: QuestionIn<'a>,
    verdict: &'static str,
    broken_rung: Option<&'static str>,
    findings: Vec<FindingJson<'a>>,
    rungs: Vec<RungJson>,
    coverage: Vec<CoverageJson<'a>>,
    unknown: Vec<String>,
}

impl<'a> From<&'a Report> for ReportJson<'a> {
    fn from(report: &'a Report) -> Self {
        let mut coverage = Vec::new();
        for (need, state) in &report.coverage {
            coverage.push(CoverageJson {
                need: need.to_string(),
                state: state.word(),
                why: state.why(),
            });
        }
        let mut findings = Vec::new();
        for told in &report.findings {
            findings.push(FindingJson::new(told, &report.clusters));
        }
        Self {
            api_version: API_VERSION,
            kind: "Report",
            taken_at: report.taken_at.map(|time| time.to_string()),
            question: QuestionIn::new(&report.question, report.cluster.as_deref()),
            verdict: report.verdict.word(),
            broken_rung: report.broken_rung().map(Rung::id),
            findings,
            rungs: report.rungs.iter().map(RungJson::from).collect(),
            coverage,
            unknown: report.unknown.iter().map(ToString::to_string).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingJson<'a> {
    id: String,
    code: &'a str,
    name: &'a str,
    aka: &'static [&'static str],
    rung: &'static str,
    severity: &'static str,
    confidence: &'static str,
    subject: SubjectJson<'a>,
    message: &'a str,
    evidence: Vec<EvidenceJson<'a>>,
    fixes: Vec<FixJson<'a>>,
    hits: Vec<SubjectJson<'a>>,
    caused_by: &'a [String],
}

impl<'a> FindingJson<'a> {
    /// The finding; `clusters` has the name of the cluster that each source is of.
    fn new(told: &'a ReportEntry, clusters: &'a BTreeMap<String, String>) -> Self {
        let finding = &told.finding;
        let mut evidence = Vec::new();
        for (proof, shown) in finding.evidence.iter().zip(&told.shown) {
            let cluster = clusters.get(proof.doc.split().0).map(String::as_str);
            evidence.push(EvidenceJson::new(proof, shown, cluster));
        }
        Self {
            id: finding.id(),
            code: finding.code,
            name: finding.name,
            aka: rules::named(finding.code).map_or(&[], |rule| rule.aka),
            rung: finding.rung.id(),
            severity: finding.severity.word(),
            confidence: finding.confidence.word(),
            subject: SubjectJson::from(&finding.subject).in_cluster(finding.cluster.as_deref()),
            message: &finding.message,
            evidence,
            fixes: finding.fixes.iter().map(FixJson::from).collect(),
            hits: finding.hits.iter().map(SubjectJson::from).collect(),
            caused_by: &finding.caused_by,
        }
    }
}

#[derive(Debug, Serialize)]
struct EvidenceJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
    doc: &'a str,
    pointer: Option<&'a str>,
    shows: &'a str,
    excerpt: &'a str,
    line: Option<usize>,
}

impl<'a> EvidenceJson<'a> {
    fn new(evidence: &'a Evidence, shown: &'a Citation, cluster: Option<&'a str>) -> Self {
        Self {
            cluster,
            doc: evidence.doc.as_str(),
            pointer: shown.pointer.as_deref(),
            shows: &evidence.shows,
            excerpt: &shown.excerpt,
            line: shown.line,
        }
    }
}

#[derive(Debug, Serialize)]
struct FixJson<'a> {
    kind: &'static str,
    risk: &'static str,
    text: &'a str,
    checked: bool,
    unchecked: Option<&'a str>,
}

impl<'a> From<&'a Fix> for FixJson<'a> {
    fn from(fix: &'a Fix) -> Self {
        Self {
            kind: fix.kind.word(),
            risk: fix.risk.word(),
            text: &fix.text,
            checked: fix.change.is_some() && fix.why_untried().is_none(),
            unchecked: fix.why_untried(),
        }
    }
}

#[derive(Debug, Serialize)]
struct RungJson {
    rung: &'static str,
    outcome: &'static str,
    examined: usize,
    why: Option<String>,
}

impl From<&RungOutcome> for RungJson {
    fn from(rung: &RungOutcome) -> Self {
        let why = if let Outcome::Skipped(why) = &rung.outcome {
            Some(why.to_string())
        } else {
            None
        };
        Self {
            rung: rung.rung.id(),
            outcome: rung.outcome.word(),
            examined: rung.examined,
            why,
        }
    }
}

#[derive(Debug, Serialize)]
struct CoverageJson<'a> {
    need: String,
    state: &'static str,
    why: Option<&'a str>,
}
