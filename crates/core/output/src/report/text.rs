//! A report for the terminal: the answer, the ladder, the proof, the repair, and what was not
//! looked at.

use std::fmt::Write;

use super::{headline, hit_count};
use crate::paint::{Ink, Paint};
use meshladder_judge::finding::{Evidence, Finding, Fix, FixKind, Rung};
use meshladder_judge::report::{Citation, Outcome, Report, ReportEntry, RungOutcome};

/// How many root causes are told in full without `-v`, and how much of each.
const CAUSES: usize = 3;
const EVIDENCE: usize = 3;
const FIXES: usize = 2;

/// The report as text.
pub fn to_text(report: &Report, paint: Paint) -> String {
    let mut out = String::new();
    draw(&mut out, report, paint).unwrap_or_default();
    out
}

fn draw(out: &mut String, report: &Report, paint: Paint) -> std::fmt::Result {
    writeln!(out, "{}", paint.bold(&headline(report)))?;
    writeln!(out)?;
    for rung in &report.rungs {
        ladder_line(out, rung, report, paint)?;
    }
    let loud: Vec<&ReportEntry> = report
        .findings
        .iter()
        .filter(|told| told.finding.is_loud())
        .collect();
    let roots: Vec<&&ReportEntry> = loud
        .iter()
        .filter(|told| told.finding.caused_by.is_empty())
        .collect();
    let shown = if paint.verbose { roots.len() } else { CAUSES };
    for (i, told) in roots.iter().take(shown).enumerate() {
        cause(out, told, i == 0, paint)?;
        let id = told.finding.id();
        for folded in loud
            .iter()
            .filter(|other| other.finding.caused_by.contains(&id))
        {
            let Finding { code, message, .. } = &folded.finding;
            writeln!(out, "  {} {code} {message}", paint.dim("└ explains"))?;
        }
    }
    if roots.len() > shown {
        writeln!(out, "\n{} more; -v shows all", roots.len() - shown)?;
    }
    remarks(out, report, paint)?;
    gaps(out, report, paint)
}

fn ladder_line(
    out: &mut String,
    rung: &RungOutcome,
    report: &Report,
    paint: Paint,
) -> std::fmt::Result {
    let broken = report.broken_rung() == Some(rung.rung);
    let (mark, ink) = match rung.outcome {
        Outcome::Passed => ("✓", Ink::Good),
        Outcome::Failed => ("✗", Ink::Bad),
        Outcome::Skipped(_) | Outcome::Nothing => ("–", Ink::Dim),
    };
    let note = match &rung.outcome {
        Outcome::Passed => format!("{} looked at", rung.examined),
        Outcome::Failed => here(rung.rung, report),
        Outcome::Skipped(why) => format!("not looked at: {why}"),
        Outcome::Nothing => "nothing to look at".to_owned(),
    };
    let id = format!("{:<13}", rung.rung.id());
    let id = if broken { paint.bold(&id) } else { id };
    writeln!(
        out,
        "  {} {id} {:<58} {}",
        paint.set(ink, mark),
        rung.rung.question(),
        paint.dim(&note)
    )
}

fn here(rung: Rung, report: &Report) -> String {
    let here = report
        .findings
        .iter()
        .map(|told| &told.finding)
        .filter(|f| f.rung == rung && f.is_loud());
    let codes: std::collections::BTreeSet<&str> = here.map(|finding| finding.code).collect();
    codes.into_iter().collect::<Vec<_>>().join(" ")
}

fn cause(out: &mut String, told: &ReportEntry, first: bool, paint: Paint) -> std::fmt::Result {
    let Finding {
        code,
        name,
        severity,
        confidence,
        message,
        ..
    } = &told.finding;
    writeln!(out)?;
    let hits = hit_count(&told.finding)
        .map(|n| format!(", hits {n}"))
        .unwrap_or_default();
    writeln!(
        out,
        "{} {}  {}",
        paint.bold(&format!("{} {code} {name}:", severity.word())),
        told.finding.told_subject(),
        paint.dim(&format!("({}{hits})", confidence.word()))
    )?;
    if !first {
        writeln!(out, "  {message}")?;
    }
    let most = if paint.verbose { usize::MAX } else { EVIDENCE };
    for (evidence, there) in told.finding.evidence.iter().zip(&told.shown).take(most) {
        frame(out, evidence, there, paint)?;
    }
    let most = if paint.verbose { usize::MAX } else { FIXES };
    told.finding
        .fixes
        .iter()
        .take(most)
        .try_for_each(|fix| repair(out, fix, paint))
}

/// A command stands alone on its line, so that the line can be copied as it is; one of several
/// lines stands at the margin, because the end of a here-document must.
fn repair(out: &mut String, fix: &Fix, paint: Paint) -> std::fmt::Result {
    if fix.kind == FixKind::Advice {
        return writeln!(out, "  {} {}", paint.bold("fix:"), fix.text);
    }
    let note = match (&fix.change, fix.why_untried()) {
        (Some(_), None) => ", tried on the objects: the cause goes away".to_owned(),
        (_, Some(why)) => format!(", not tried: {why}"),
        (None, None) => String::new(),
    };
    writeln!(
        out,
        "  {} {}",
        paint.bold("fix:"),
        paint.dim(&format!("({}{note})", fix.risk.word()))
    )?;
    let margin = if fix.text.contains('\n') { "" } else { "    " };
    writeln!(out, "{margin}{}", fix.text)
}

/// Where it stands, and the lines that stand there.
fn frame(
    out: &mut String,
    evidence: &Evidence,
    there: &Citation,
    paint: Paint,
) -> std::fmt::Result {
    let pointer = there.pointer.as_deref().unwrap_or_default();
    let line = there
        .line
        .map(|line| format!(":{line}"))
        .unwrap_or_default();
    writeln!(out, "  {} {}", paint.dim("→"), evidence.shows)?;
    writeln!(
        out,
        "    {}",
        paint.dim(format!("{}{line} {pointer}", evidence.doc).trim_end())
    )?;
    let lines = if paint.verbose { usize::MAX } else { 4 };
    for (i, text) in there.excerpt.lines().take(lines).enumerate() {
        let number = there
            .line
            .map(|line| format!("{:>6}", line + i))
            .unwrap_or_default();
        let text: String = if paint.verbose {
            text.to_owned()
        } else {
            text.chars().take(110).collect()
        };
        writeln!(out, "    {} {text}", paint.dim(&format!("{number} |")))?;
    }
    Ok(())
}

fn remarks(out: &mut String, report: &Report, paint: Paint) -> std::fmt::Result {
    let remarks: Vec<&Finding> = report
        .findings
        .iter()
        .map(|t| &t.finding)
        .filter(|f| !f.is_loud())
        .collect();
    if remarks.is_empty() {
        return Ok(());
    }
    if !paint.verbose {
        let counted = match remarks.len() {
            1 => "1 remark that does not change the answer; -v shows it".to_owned(),
            many => format!("{many} remarks that do not change the answer; -v shows them"),
        };
        return writeln!(out, "\n{}", paint.dim(&counted));
    }
    writeln!(out, "\nworth knowing")?;
    remarks
        .iter()
        .try_for_each(|f| writeln!(out, "  {} {}: {}", f.code, f.told_subject(), f.message))
}

fn gaps(out: &mut String, report: &Report, paint: Paint) -> std::fmt::Result {
    let gaps = report.gaps();
    if gaps.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint.bold("not looked at"))?;
    gaps.iter().try_for_each(|gap| writeln!(out, "  {gap}"))
}
