//! A report as a page of the runbook: what was found, how to confirm it, repair it, verify it and
//! back out.

use std::fmt::Write;

use super::headline;
use meshladder_judge::finding::{Finding, FixKind, Risk};
use meshladder_judge::report::{Report, ReportEntry, Verdict};
use meshladder_mesh::ObjectRef;

/// The page for this incident. `again` is the command that made the report: it confirms and
/// verifies.
pub fn to_runbook(report: &Report, again: &str) -> String {
    let mut out = String::new();
    draw(&mut out, report, again).unwrap_or_default();
    out
}

fn draw(out: &mut String, report: &Report, again: &str) -> std::fmt::Result {
    writeln!(out, "# {}\n", headline(report))?;
    writeln!(
        out,
        "Asked: {}. Verdict: **{}**.",
        report.about,
        report.verdict.word()
    )?;
    if let Some(time) = report.taken_at {
        writeln!(out, "State of the mesh at {time}.")?;
    }
    let roots = report
        .findings
        .iter()
        .filter(|told| told.finding.is_loud() && told.finding.caused_by.is_empty());
    for (at, told) in roots.enumerate() {
        page(out, told, report, at, again)?;
    }
    if report.verdict != Verdict::Broken {
        writeln!(out, "\n## What to do\n")?;
        let advice = match report.verdict {
            Verdict::Undecided => {
                "Get the missing fact that the first line names, then ask again. Change nothing before."
            }
            _ => {
                "Nothing here is wrong. If users still see errors, ask about the very request: `meshladder why --from … --to … --seen CODE/FLAGS`."
            }
        };
        writeln!(out, "{advice}")?;
    }
    writeln!(out, "\n## Escalate\n")?;
    writeln!(
        out,
        "Hand over this page and the capture it was made from. The report as one file:\n"
    )?;
    writeln!(out, "```sh\n{again} -o html > ticket.html\n```")
}

fn page(
    out: &mut String,
    told: &ReportEntry,
    report: &Report,
    at: usize,
    again: &str,
) -> std::fmt::Result {
    let Finding {
        code,
        name,
        message,
        confidence,
        hits,
        ..
    } = &told.finding;
    let which = if at == 0 { "Root cause" } else { "Also" };
    writeln!(
        out,
        "\n## {which}: {}\n\n{message}. ({code} {name}, {})",
        told.finding.told_subject(),
        confidence.word()
    )?;
    if !hits.is_empty() {
        let few: Vec<String> = hits.iter().take(8).map(ToString::to_string).collect();
        let more = if hits.len() > 8 {
            format!(" and {} more", hits.len() - 8)
        } else {
            String::new()
        };
        writeln!(out, "\nHits {}{more}.", few.join(", "))?;
    }
    let id = told.finding.id();
    let follows: Vec<&ReportEntry> = report
        .findings
        .iter()
        .filter(|other| other.finding.caused_by.contains(&id))
        .collect();
    for other in follows {
        writeln!(
            out,
            "\nExplains {}: {}.",
            other.finding.code, other.finding.message
        )?;
    }
    writeln!(out, "\n### Evidence\n")?;
    for (evidence, shown) in told.finding.evidence.iter().zip(&told.shown) {
        let line = shown
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        writeln!(out, "- {} (`{}{line}`)", evidence.shows, evidence.doc)?;
        if !shown.excerpt.is_empty() {
            writeln!(out, "\n```\n{}\n```\n", shown.excerpt)?;
        }
    }
    confirm(out, &told.finding, again)?;
    repair(out, &told.finding)?;
    writeln!(
        out,
        "\n### Verify\n\nTake a new capture and ask again; the answer must be `healthy`, or another cause:\n"
    )?;
    writeln!(out, "```sh\n{again}\n```")?;
    roll_back(out, &told.finding)
}

fn confirm(out: &mut String, finding: &Finding, again: &str) -> std::fmt::Result {
    writeln!(out, "\n### Confirm\n\n```sh\n{again}")?;
    for fix in finding
        .fixes
        .iter()
        .filter(|fix| fix.kind == FixKind::Command && fix.risk == Risk::ReadOnly)
    {
        writeln!(out, "{}", fix.text)?;
    }
    writeln!(out, "meshladder explain {}\n```", finding.code)
}

fn repair(out: &mut String, finding: &Finding) -> std::fmt::Result {
    writeln!(out, "\n### Repair\n")?;
    let mut fixes = finding
        .fixes
        .iter()
        .filter(|fix| fix.risk != Risk::ReadOnly || fix.kind == FixKind::Advice)
        .peekable();
    if fixes.peek().is_none() {
        return writeln!(
            out,
            "No repair is offered: `meshladder explain {}` says what to change.",
            finding.code
        );
    }
    if let Some(object) = finding.subject.object()
        && finding.fixes.iter().any(|fix| fix.kind == FixKind::Patch)
    {
        writeln!(
            out,
            "Keep what is there:\n\n```sh\n{} > before.yaml\n```\n",
            get(object)
        )?;
    }
    for fix in fixes {
        match fix.kind {
            FixKind::Advice => writeln!(out, "- {}", fix.text)?,
            _ => writeln!(out, "{}:\n\n```sh\n{}\n```\n", fix.risk.word(), fix.text)?,
        }
    }
    Ok(())
}

fn roll_back(out: &mut String, finding: &Finding) -> std::fmt::Result {
    writeln!(out, "\n### Roll back\n")?;
    if finding.subject.object().is_some()
        && finding.fixes.iter().any(|fix| fix.kind == FixKind::Patch)
    {
        return writeln!(out, "```sh\nkubectl apply -f before.yaml\n```");
    }
    writeln!(
        out,
        "Undo what you changed; nothing was changed by this page."
    )
}

fn get(
    ObjectRef {
        kind,
        namespace,
        name,
    }: &ObjectRef,
) -> String {
    let place = if namespace.is_empty() {
        String::new()
    } else {
        format!(" -n {namespace}")
    };
    format!("kubectl get {} {name}{place} -o yaml", kind.to_lowercase())
}
