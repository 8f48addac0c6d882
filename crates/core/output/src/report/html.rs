//! A report as one HTML file without anything from elsewhere, for the ticket.

use std::fmt::Write;

use super::{headline, hit_count};
use crate::html::{self, escape};
use meshladder_judge::finding::Finding;
use meshladder_judge::report::{Outcome, Report, ReportEntry};

/// The report as HTML.
pub fn to_html(report: &Report) -> String {
    let mut body = String::new();
    draw(&mut body, report).unwrap_or_default();
    html::page(&headline(report), &body)
}

fn draw(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(
        out,
        "<p>Asked: {}. Verdict: <strong>{}</strong>.</p>",
        escape(&report.about),
        report.verdict.word()
    )?;
    writeln!(out, "<table>")?;
    for rung in &report.rungs {
        let (mark, note) = match &rung.outcome {
            Outcome::Passed => ("✓", format!("{} looked at", rung.examined)),
            Outcome::Failed => ("✗", "failed".to_owned()),
            Outcome::Skipped(why) => ("–", format!("not looked at: {why}")),
            Outcome::Nothing => ("–", "nothing to look at".to_owned()),
        };
        let (id, call, note) = (rung.rung.id(), rung.rung.question(), escape(&note));
        writeln!(
            out,
            "<tr class=\"{}\"><td>{mark}</td><td>{id}</td><td>{call}</td><td>{note}</td></tr>",
            rung.outcome.word()
        )?;
    }
    writeln!(out, "</table>")?;
    for told in report.findings.iter().filter(|told| told.finding.is_loud()) {
        finding(out, told)?;
    }
    list(
        out,
        "Worth knowing",
        report
            .findings
            .iter()
            .map(|t| &t.finding)
            .filter(|f| !f.is_loud())
            .map(|f| format!("{} {}: {}", f.code, f.told_subject(), f.message)),
    )?;
    list(out, "Not looked at", report.gaps().into_iter())
}

fn list(out: &mut String, title: &str, items: impl Iterator<Item = String>) -> std::fmt::Result {
    let items: Vec<String> = items
        .map(|item| format!("<li>{}</li>", escape(&item)))
        .collect();
    if items.is_empty() {
        Ok(())
    } else {
        writeln!(out, "<h2>{title}</h2>\n<ul>{}</ul>", items.join(""))
    }
}

fn finding(out: &mut String, told: &ReportEntry) -> std::fmt::Result {
    let Finding {
        code,
        name,
        severity,
        confidence,
        message,
        ..
    } = &told.finding;
    let hits = hit_count(&told.finding)
        .map(|n| format!(", hits {n}"))
        .unwrap_or_default();
    writeln!(
        out,
        "<h2>{code} {name}: {}</h2>",
        escape(&told.finding.told_subject())
    )?;
    writeln!(
        out,
        "<p>{}. ({}, {}{hits})</p>",
        escape(message),
        severity.word(),
        confidence.word()
    )?;
    for (evidence, shown) in told.finding.evidence.iter().zip(&told.shown) {
        let line = shown
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        let place = format!(
            "{}{line} {}",
            evidence.doc,
            shown.pointer.as_deref().unwrap_or_default()
        );
        writeln!(
            out,
            "<p>{}<br><span class=\"place\">{}</span></p>",
            escape(&evidence.shows),
            escape(place.trim_end())
        )?;
        if !shown.excerpt.is_empty() {
            writeln!(out, "<pre>{}</pre>", escape(&shown.excerpt))?;
        }
    }
    told.finding.fixes.iter().try_for_each(|fix| {
        writeln!(
            out,
            "<p>Fix ({}):</p>\n<pre>{}</pre>",
            fix.risk.word(),
            escape(&fix.text)
        )
    })
}
