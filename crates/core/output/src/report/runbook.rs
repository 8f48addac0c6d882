//! A report as a page of the runbook: what was found, how to confirm it, repair it, verify it and
//! back out.

use std::fmt::Write;

use super::headline;
use crate::markdown::{code as span, code_block, prose};
use meshladder_judge::finding::{Finding, FixKind, Risk, on};
use meshladder_judge::report::{Report, ReportEntry, Verdict};
use meshladder_mesh::ObjectRef;
use meshladder_text::shell::ShellCommand;

/// The page for this incident. `again` is the command that made the report: it confirms and
/// verifies.
pub fn to_runbook(report: &Report, again: &str) -> String {
    let mut out = String::new();
    draw(&mut out, report, again).unwrap_or_default();
    out
}

fn draw(out: &mut String, report: &Report, again: &str) -> std::fmt::Result {
    writeln!(out, "# {}\n", prose(&headline(report)))?;
    writeln!(
        out,
        "Asked: {}. Verdict: **{}**.",
        prose(&report.about),
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
        "Hand over this page and the capture it was made from. The report as one file:"
    )?;
    code_block(out, "sh", "", &format!("{again} -o html > ticket.html"))
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
        "\n## {which}: {}\n\n{}. ({code} {name}, {})",
        prose(&told.finding.told_subject()),
        prose(message),
        confidence.word()
    )?;
    if !hits.is_empty() {
        let few: Vec<String> = hits.iter().take(8).map(ToString::to_string).collect();
        let more = if hits.len() > 8 {
            format!(" and {} more", hits.len() - 8)
        } else {
            String::new()
        };
        writeln!(out, "\nHits {}{more}.", prose(&few.join(", ")))?;
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
            other.finding.code,
            prose(&other.finding.message)
        )?;
    }
    writeln!(out, "\n### Evidence\n")?;
    for (evidence, shown) in told.finding.evidence.iter().zip(&told.shown) {
        let line = shown
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        let place = span(&format!("{}{line}", evidence.doc));
        writeln!(out, "- {} ({place})", prose(&evidence.shows))?;
        if !shown.excerpt.is_empty() {
            code_block(out, "", "", &shown.excerpt)?;
            writeln!(out)?;
        }
    }
    confirm(out, &told.finding, again)?;
    repair(out, &told.finding)?;
    writeln!(
        out,
        "\n### Verify\n\nTake a new capture and ask again; the answer must be `healthy`, or another cause:"
    )?;
    code_block(out, "sh", "", again)?;
    roll_back(out, &told.finding)
}

fn confirm(out: &mut String, finding: &Finding, again: &str) -> std::fmt::Result {
    writeln!(out, "\n### Confirm")?;
    let mut commands = vec![again.to_owned()];
    for fix in finding
        .fixes
        .iter()
        .filter(|fix| fix.kind == FixKind::Command && fix.risk == Risk::ReadOnly)
    {
        commands.push(fix.text.clone());
    }
    commands.push(format!("meshladder explain {}", finding.code));
    code_block(out, "sh", "", &commands.join("\n"))
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
        writeln!(out, "Keep what is there:")?;
        code_block(out, "sh", "", &format!("{} > before.yaml", get(object)))?;
        writeln!(out)?;
    }
    for fix in fixes {
        if fix.kind == FixKind::Advice {
            writeln!(out, "- {}", prose(&fix.text))?;
        } else {
            writeln!(out, "{}:", fix.risk.word())?;
            code_block(out, "sh", "", &fix.text)?;
            writeln!(out)?;
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

fn get(object: &ObjectRef) -> ShellCommand {
    on("kubectl get {} {}", object).then(&" -o yaml".into())
}
