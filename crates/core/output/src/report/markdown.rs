//! A report as Markdown, for a ticket or a chat.

use std::fmt::Write;

use super::{headline, hit_count};
use crate::markdown::{code as span, code_block, prose};
use meshladder_judge::finding::{Finding, FixKind};
use meshladder_judge::report::{Outcome, Report, ReportEntry};

/// The report as Markdown.
pub fn to_markdown(report: &Report) -> String {
    let mut out = String::new();
    draw(&mut out, report).unwrap_or_default();
    out
}

fn draw(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "# {}\n", prose(&headline(report)))?;
    writeln!(
        out,
        "Asked: {}. Verdict: **{}**.\n",
        prose(&report.about),
        report.verdict.word()
    )?;
    writeln!(out, "| | rung | question | |\n|---|---|---|---|")?;
    for rung in &report.rungs {
        let (mark, note) = match &rung.outcome {
            Outcome::Passed => ("✓", format!("{} looked at", rung.examined)),
            Outcome::Failed => ("✗", "failed".to_owned()),
            Outcome::Skipped(why) => ("–", prose(&format!("not looked at: {why}"))),
            Outcome::Nothing => ("–", "nothing to look at".to_owned()),
        };
        writeln!(
            out,
            "| {mark} | {} | {} | {note} |",
            rung.rung.id(),
            rung.rung.question()
        )?;
    }
    for told in report.findings.iter().filter(|told| told.finding.is_loud()) {
        finding(out, told)?;
    }
    let quiet: Vec<&Finding> = report
        .findings
        .iter()
        .map(|t| &t.finding)
        .filter(|f| !f.is_loud())
        .collect();
    if !quiet.is_empty() {
        writeln!(out, "\n## Worth knowing\n")?;
        quiet.iter().try_for_each(|f| {
            let said = prose(&format!("{}: {}", f.told_subject(), f.message));
            writeln!(out, "- {} {said}", f.code)
        })?;
    }
    let gaps = report.gaps();
    if !gaps.is_empty() {
        writeln!(out, "\n## Not looked at\n")?;
        gaps.iter()
            .try_for_each(|gap| writeln!(out, "- {}", prose(gap)))?;
    }
    Ok(())
}

fn finding(out: &mut String, told: &ReportEntry) -> std::fmt::Result {
    let Finding {
        code,
        name,
        severity,
        confidence,
        message,
        caused_by,
        ..
    } = &told.finding;
    let hits = hit_count(&told.finding)
        .map(|n| format!(", hits {n}"))
        .unwrap_or_default();
    let subject = prose(&told.finding.told_subject());
    writeln!(out, "\n## {code} {name}: {subject}\n")?;
    writeln!(
        out,
        "{}. ({}, {}{hits})\n",
        prose(message),
        severity.word(),
        confidence.word()
    )?;
    if !caused_by.is_empty() {
        writeln!(out, "Follows from {}.\n", prose(&caused_by.join(", ")))?;
    }
    for (evidence, shown) in told.finding.evidence.iter().zip(&told.shown) {
        let line = shown
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        let pointer = shown
            .pointer
            .as_deref()
            .map(|pointer| format!(" {}", span(pointer)))
            .unwrap_or_default();
        writeln!(
            out,
            "- {} ({}{pointer})",
            prose(&evidence.shows),
            span(&format!("{}{line}", evidence.doc))
        )?;
        code_block(out, "", "  ", &shown.excerpt)?;
    }
    for fix in &told.finding.fixes {
        match fix.kind {
            FixKind::Advice => writeln!(out, "\nFix: {}", prose(&fix.text))?,
            FixKind::Patch | FixKind::Command => {
                writeln!(out, "\nFix ({}):", fix.risk.word())?;
                code_block(out, "sh", "", &fix.text)?;
            }
        }
    }
    Ok(())
}
