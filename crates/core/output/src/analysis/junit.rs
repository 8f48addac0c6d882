//! Findings as JUnit XML: a suite a rule, a failed case a finding.

use std::fmt::Write;

use super::{escape_xml, place};
use meshladder_judge::finding::Severity;
use meshladder_judge::report::{Report, ReportEntry};

/// The report as JUnit XML. Remarks are cases that pass, with their text.
pub fn to_junit(report: &Report) -> String {
    let mut out = String::new();
    // A String takes all text.
    let _ = draw(&mut out, report);
    out
}

fn draw(out: &mut String, report: &Report) -> std::fmt::Result {
    let mut by_rule: Vec<&ReportEntry> = report.findings.iter().collect();
    by_rule.sort_by_key(|told| told.finding.code);
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuites name=\"meshladder analyze\" {}>",
        counts(&by_rule)
    )?;
    for suite in by_rule.chunk_by(|a, b| a.finding.code == b.finding.code) {
        let first = &suite[0].finding;
        writeln!(
            out,
            "  <testsuite name=\"{} {}\" {}>",
            first.code,
            first.name,
            counts(suite)
        )?;
        suite.iter().try_for_each(|told| case(out, told))?;
        writeln!(out, "  </testsuite>")?;
    }
    // Without any case some readers take the report for a broken one.
    if by_rule.is_empty() {
        writeln!(
            out,
            "  <testsuite name=\"analyze\" tests=\"1\" failures=\"0\" errors=\"0\">"
        )?;
        writeln!(
            out,
            "    <testcase name=\"no findings\" classname=\"analyze\"/>\n  </testsuite>"
        )?;
    }
    writeln!(out, "</testsuites>")
}

fn counts(told: &[&ReportEntry]) -> String {
    let failures = told.iter().filter(|told| told.finding.is_loud()).count();
    format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\"",
        told.len().max(1)
    )
}

fn case(out: &mut String, told: &ReportEntry) -> std::fmt::Result {
    let finding = &told.finding;
    let (subject, message) = (
        escape_xml(&finding.subject.to_string()),
        escape_xml(&finding.message),
    );
    let place = escape_xml(&place(told));
    let shown = told.shown.first();
    let file = shown
        .map(|shown| format!(" file=\"{}\"", escape_xml(&shown.origin)))
        .unwrap_or_default();
    let line = shown
        .and_then(|shown| shown.line)
        .map(|line| format!(" line=\"{line}\""))
        .unwrap_or_default();
    writeln!(
        out,
        "    <testcase name=\"{subject}\" classname=\"{}\"{file}{line}>",
        finding.code
    )?;
    match finding.severity {
        Severity::Info => writeln!(out, "      <system-out>{place} {message}</system-out>")?,
        severity => {
            let evidence: Vec<String> = finding
                .evidence
                .iter()
                .map(|evidence| escape_xml(&evidence.shows))
                .collect();
            let text = format!("{place}&#10;{}", evidence.join("&#10;"));
            writeln!(
                out,
                "      <failure message=\"{message}\" type=\"{}\">{text}</failure>",
                severity.word()
            )?;
        }
    }
    writeln!(out, "    </testcase>")
}
