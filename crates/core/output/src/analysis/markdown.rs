//! Findings as Markdown, for the comment on a pull request.

use std::fmt::Write;

use super::{aka, place};
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
        let place = place
            .map(|place| format!("`{}`", cell(&place).replace('`', "'")))
            .unwrap_or_default();
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
    let title = super::escape_xml(&format!("{} {}", finding.code, finding.subject));
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
        code(out, "yaml", "  ", &shown.excerpt)?;
    }
    for fix in finding.fixes.iter().filter(|fix| fix.change.is_some()) {
        writeln!(out, "\nFix ({}):", fix.risk.word())?;
        code(out, "sh", "", &fix.text)?;
    }
    writeln!(out, "\n</details>")
}

/// A block whose fence is longer than any in the text.
fn code(out: &mut String, language: &str, indent: &str, text: &str) -> std::fmt::Result {
    if text.is_empty() {
        return Ok(());
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "\n{indent}{fence}{language}")?;
    text.lines()
        .try_for_each(|line| writeln!(out, "{indent}{line}"))?;
    writeln!(out, "{indent}{fence}")
}

/// Text that neither ends a cell nor becomes markup.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('*', "\\*")
        .replace('<', "&lt;")
        .replace(['\n', '\r'], " ")
}
