//! For the terminal: one line that sums up, and the causes.

use std::fmt::Write;

use super::{LogReport, place, plural, shown, thousands, title};
use crate::report;
use meshladder_judge::logs::{AnswerClass, LineGroup, LogCause, LogSummary};

/// How many requests, how many failed, between which times, and what was not read.
pub fn headline(summary: &LogSummary, sources: usize) -> String {
    let stats = &summary.stats;
    let all = stats.requests + stats.connections;
    let mut parts = vec![plural(stats.requests, "request")];
    if stats.connections > 0 {
        parts.push(plural(stats.connections, "connection"));
    }
    let mut out = format!(
        "{} in {}",
        parts.join(" and "),
        plural(sources as u64, "log")
    );
    if let Some((first, last)) = stats.between {
        let _ = write!(out, ", {first} to {last}");
    }
    let failed = stats.of(AnswerClass::Failed);
    let tenths = (failed * 1000 + all / 2).checked_div(all).unwrap_or(0);
    let _ = write!(out, ": {} failed", thousands(failed));
    if failed > 0 && tenths == 0 {
        out.push_str(" (less than 0.1 %)");
    } else if failed > 0 {
        let _ = write!(out, " ({}.{} %)", tenths / 10, tenths % 10);
    }
    for (count, what) in [
        (
            stats.of(AnswerClass::Refused),
            "refused with 4xx by what they called",
        ),
        (
            stats.of(AnswerClass::Left),
            "ended by the client before an answer, which is no error of the mesh",
        ),
        (stats.left_out, "left out by filters"),
    ] {
        if count > 0 {
            let _ = write!(out, "; {} {what}", thousands(count));
        }
    }
    if stats.malformed > 0 {
        let _ = write!(
            out,
            "; {} malformed (--malformed shows them)",
            plural(stats.malformed, "line")
        );
    }
    if stats.ungrouped > 0 {
        let _ = write!(
            out,
            "; {} not told apart, there are too many kinds",
            thousands(stats.ungrouped)
        );
    }
    out
}

/// The causes, each with its meaning, leads and evidence.
pub fn causes(told: &LogReport<'_>, verbose: bool) -> String {
    let mut out = String::new();
    draw(&mut out, told, verbose).unwrap_or_default();
    out
}

fn draw(out: &mut String, told: &LogReport<'_>, verbose: bool) -> std::fmt::Result {
    let causes = &told.summary.causes;
    for (i, cause) in causes.iter().take(told.most).enumerate() {
        one(out, i, cause, told, verbose)?;
    }
    if causes.len() > told.most {
        writeln!(
            out,
            "\n{} more causes; --top shows more",
            causes.len() - told.most
        )?;
    }
    if told.summary.joined > 0 {
        writeln!(
            out,
            "\n{} seen at several hops, joined by request id",
            plural(told.summary.joined, "request")
        )?;
    }
    Ok(())
}

fn one(
    out: &mut String,
    i: usize,
    cause: &LogCause,
    told: &LogReport<'_>,
    verbose: bool,
) -> std::fmt::Result {
    let group = &told.summary.groups[cause.group];
    writeln!(
        out,
        "\n{}. {} × {}{}",
        i + 1,
        thousands(group.count),
        title(group),
        place(group)
    )?;
    cause
        .says
        .iter()
        .try_for_each(|text| writeln!(out, "   - {}", shown(text)))?;
    for (place_of, count) in &cause.also {
        let other = &told.summary.groups[*place_of];
        writeln!(
            out,
            "   also seen as: {} × {}{}",
            thousands(*count),
            title(other),
            place(other)
        )?;
    }
    numbers(out, group)?;
    let leads = if verbose { cause.leads.len() } else { 3 };
    for lead in cause.leads.iter().take(leads) {
        writeln!(out, "   maybe: {}\n          {}", lead.what, lead.confirm)?;
    }
    let examples = if verbose { group.examples.len() } else { 1 };
    for example in group.examples.iter().take(examples) {
        let source = told.sources.get(example.source).map_or("", String::as_str);
        writeln!(
            out,
            "   {source}:{}\n     {}",
            example.number,
            shown(&example.text)
        )?;
    }
    if let Some((_, report)) = told.explained.iter().find(|(cause, _)| *cause == i) {
        writeln!(out, "   why: {}", report::headline(report))?;
        if let Some(first) = report
            .findings
            .first()
            .filter(|told| told.finding.is_loud())
        {
            let finding = &first.finding;
            let (code, confidence) = (finding.code, finding.confidence.word());
            writeln!(
                out,
                "        {code} {}: {} ({confidence})",
                finding.name, finding.subject
            )?;
            if let Some(fix) = finding.fixes.first() {
                writeln!(
                    out,
                    "        fix: {}",
                    fix.text.replace('\n', "\n             ")
                )?;
            }
        }
    }
    match told.commands.get(i) {
        Some(Some(command)) => writeln!(out, "   ask: {command}"),
        _ => Ok(()),
    }
}

fn numbers(out: &mut String, group: &LineGroup) -> std::fmt::Result {
    let of = |top: &meshladder_judge::logs::Top| -> Vec<String> {
        let named = top
            .sorted()
            .into_iter()
            .filter(|(value, _)| !value.is_empty());
        let listed = named
            .take(3)
            .map(|(value, count)| format!("{} × {}", thousands(count), shown(value)));
        listed.collect()
    };
    for (what, values) in [
        ("requests", of(&group.requests)),
        ("upstreams", of(&group.upstreams)),
    ] {
        if !values.is_empty() {
            writeln!(out, "   {what}: {}", values.join(", "))?;
        }
    }
    match group.duration {
        Some((least, most, sum)) if group.count > 1 && most > 0 => {
            writeln!(
                out,
                "   took {least} to {most} ms, {} on average",
                sum / group.count
            )
        }
        _ => Ok(()),
    }
}
