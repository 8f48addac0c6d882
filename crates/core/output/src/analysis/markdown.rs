//! Findings as Markdown, for the comment on a pull request.

use std::fmt::Write;

use super::{aka, place};
use crate::html;
use crate::markdown::{cell, code, code_block};
use meshladder_judge::report::{Report, ReportEntry};

/// The report as Markdown: a table, and the proof of each row below it.
pub fn to_markdown(report: &Report) -> String {
    let mut out = String::new();
    // A String takes all text.
    let _ = draw(&mut out, report);
    out
}

fn draw(out: &mut String, report: &Report) -> std::fmt::Result {
    if report.findings.is_empty() {
        return writeln!(out, "No findings.");
    }
    writeln!(
        out,
        "| level | rule | object | place | |\n|---|---|---|---|---|"
    )?;
    for told in &report.findings {
        let finding = &told.finding;
        let rule = format!("{} {} {}", finding.code, finding.name, aka(finding));
        let (subject, message) = (cell(&finding.subject.to_string()), cell(&finding.message));
        let place = Some(place(told)).filter(|place| !place.is_empty());
        let place = place.map(|place| code(&place)).unwrap_or_default();
        writeln!(
            out,
            "| {} | {} | {subject} | {place} | {message} |",
            finding.severity.word(),
            rule.trim_end()
        )?;
    }
    report.findings.iter().try_for_each(|told| proof(out, told))
}

fn proof(out: &mut String, told: &ReportEntry) -> std::fmt::Result {
    let finding = &told.finding;
    let title = html::escape(&format!("{} {}", finding.code, finding.subject));
    writeln!(out, "\n<details><summary>{title}</summary>\n")?;
    for (evidence, shown) in finding.evidence.iter().zip(&told.shown) {
        let line = shown
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        writeln!(
            out,
            "- {} (`{}{line}`)",
            cell(&evidence.shows),
            shown.origin.replace('`', "'")
        )?;
        code_block(out, "yaml", "  ", &shown.excerpt)?;
    }
    for fix in finding.fixes.iter().filter(|fix| fix.change.is_some()) {
        writeln!(out, "\nFix ({}):", fix.risk.word())?;
        code_block(out, "sh", "", &fix.text)?;
    }
    writeln!(out, "\n</details>")
}
