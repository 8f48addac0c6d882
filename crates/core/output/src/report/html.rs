//! A report as one HTML file without anything from elsewhere, for the ticket.

use std::fmt::Write;

use super::{headline, hit_count};
use crate::escape_html as escape;
use meshladder_judge::finding::Finding;
use meshladder_judge::report::{Outcome, Report, ReportEntry};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff;overflow-wrap:anywhere}\
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}th{text-align:left}\
td,th{padding:.2rem .6rem .2rem 0;border-bottom:1px solid #ddd;vertical-align:top}a{color:#0550ae}\
pre{background:#f4f5f7;padding:.6rem;white-space:pre-wrap}.place{color:#59636e;font-family:monospace;font-size:.85rem}.failed td{font-weight:600}\
@media(prefers-color-scheme:dark){body{color:#e6e8ea;background:#16191d}a{color:#79b8ff}pre{background:#22262c}td,th{border-color:#3a4049}.place{color:#a0a8b2}}";

/// The report as HTML.
pub fn to_html(report: &Report) -> String {
    let mut body = String::new();
    draw(&mut body, report).unwrap_or_default();
    html_page(&headline(report), &body)
}

/// One file without anything from elsewhere; the title is text, the body HTML.
pub(crate) fn html_page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
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
            .map(|f| format!("{} {}: {}", f.code, f.subject, f.message)),
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
        subject,
        message,
        ..
    } = &told.finding;
    let hits = hit_count(&told.finding)
        .map(|n| format!(", hits {n}"))
        .unwrap_or_default();
    writeln!(
        out,
        "<h2>{code} {name}: {}</h2>",
        escape(&subject.to_string())
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
