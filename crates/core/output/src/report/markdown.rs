//! A report as Markdown, for a ticket or a chat.

use std::fmt::Write;

use super::{headline, hit_count};
use meshladder_judge::finding::{Finding, FixKind};
use meshladder_judge::report::{Outcome, Report, ReportEntry};

/// The report as Markdown.
pub fn to_markdown(report: &Report) -> String {
    let mut out = String::new();
    draw(&mut out, report).unwrap_or_default();
    out
}

fn draw(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "# {}\n", headline(report))?;
    writeln!(
        out,
        "Asked: {}. Verdict: **{}**.\n",
        report.about,
        report.verdict.word()
    )?;
    writeln!(out, "| | rung | question | |\n|---|---|---|---|")?;
    for rung in &report.rungs {
        let (mark, note) = match &rung.outcome {
            Outcome::Passed => ("✓", format!("{} looked at", rung.examined)),
            Outcome::Failed => ("✗", "failed".to_owned()),
            Outcome::Skipped(why) => ("–", format!("not looked at: {why}")),
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
        quiet
            .iter()
            .try_for_each(|f| writeln!(out, "- {} {}: {}", f.code, f.told_subject(), f.message))?;
    }
    let gaps = report.gaps();
    if !gaps.is_empty() {
        writeln!(out, "\n## Not looked at\n")?;
        gaps.iter().try_for_each(|gap| writeln!(out, "- {gap}"))?;
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
    writeln!(out, "\n## {code} {name}: {}\n", told.finding.told_subject())?;
    writeln!(
        out,
        "{message}. ({}, {}{hits})\n",
        severity.word(),
        confidence.word()
    )?;
    if !caused_by.is_empty() {
        writeln!(out, "Follows from {}.\n", caused_by.join(", "))?;
    }
    for (evidence, shown) in told.finding.evidence.iter().zip(&told.shown) {
        let line = shown
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        let pointer = shown
            .pointer
            .as_deref()
            .map(|p| format!(" `{p}`"))
            .unwrap_or_default();
        writeln!(
            out,
            "- {} (`{}{line}`{pointer})",
            evidence.shows, evidence.doc
        )?;
        if !shown.excerpt.is_empty() {
            writeln!(
                out,
                "\n  ```\n  {}\n  ```",
                shown.excerpt.replace('\n', "\n  ")
            )?;
        }
    }
    for fix in &told.finding.fixes {
        match fix.kind {
            FixKind::Advice => writeln!(out, "\nFix: {}", fix.text)?,
            FixKind::Patch | FixKind::Command => {
                writeln!(
                    out,
                    "\nFix ({}):\n\n```sh\n{}\n```",
                    fix.risk.word(),
                    fix.text
                )?;
            }
        }
    }
    Ok(())
}
