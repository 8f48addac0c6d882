//! As Markdown, for a ticket or a chat.

use std::fmt::Write;

use super::text::headline;
use super::{LogReport, clock, place, shown, thousands, title};
use crate::{markdown, report};
use meshladder_judge::logs::{AnswerClass, LineGroup, LogCause};

/// The summary as Markdown.
pub fn to_markdown(told: &LogReport<'_>) -> String {
    let mut out = String::new();
    draw(&mut out, told).unwrap_or_default();
    out
}

fn draw(out: &mut String, told: &LogReport<'_>) -> std::fmt::Result {
    writeln!(
        out,
        "# Access logs\n\n{}.\n",
        headline(told.summary, told.sources.len())
    )?;
    writeln!(
        out,
        "| count | code | flags | details | cluster | at | answered by | first | last | over time |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|")?;
    let groups = told
        .summary
        .groups
        .iter()
        .filter(|group| group.judgement.class != AnswerClass::Fine);
    groups
        .take(told.most)
        .try_for_each(|group| row(out, group))?;
    for (i, cause) in told.summary.causes.iter().take(told.most).enumerate() {
        one(out, i, cause, told)?;
    }
    Ok(())
}

fn row(out: &mut String, group: &LineGroup) -> std::fmt::Result {
    let (first, last) = group
        .between
        .map_or((String::new(), String::new()), |(a, b)| {
            (clock(a), clock(b))
        });
    let code = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            markdown::code(&shown(text))
        }
    };
    writeln!(
        out,
        "| {} | {} | {} | {} | {} | {} | {} | {first} | {last} | {} |",
        thousands(group.count),
        group.code,
        markdown::prose(&group.flags_text()),
        code(&group.details),
        code(&group.cluster),
        group.judgement.side.id(),
        group.judgement.by.words(),
        group.histogram.sparkline(),
    )
}

fn one(out: &mut String, i: usize, cause: &LogCause, told: &LogReport<'_>) -> std::fmt::Result {
    let group = &told.summary.groups[cause.group];
    writeln!(
        out,
        "\n## {} × {}{}\n",
        thousands(group.count),
        markdown::prose(&title(group)),
        markdown::prose(&place(group))
    )?;
    cause
        .says
        .iter()
        .try_for_each(|text| writeln!(out, "- {}", markdown::prose(&shown(text))))?;
    for (other, count) in &cause.also {
        let other = &told.summary.groups[*other];
        writeln!(
            out,
            "- also seen as {} × {}{}",
            thousands(*count),
            markdown::prose(&title(other)),
            markdown::prose(&place(other))
        )?;
    }
    if !cause.leads.is_empty() {
        writeln!(out, "\nMay be behind it:\n")?;
        cause.leads.iter().try_for_each(|lead| {
            writeln!(out, "- {}: {}", lead.what, markdown::code(&lead.confirm))
        })?;
    }
    for example in &group.examples {
        let source = told.sources.get(example.source).map_or("", String::as_str);
        writeln!(
            out,
            "\n{}",
            markdown::code(&format!("{source}:{}", example.number))
        )?;
        markdown::code_block(out, "", "", &shown(&example.text))?;
    }
    if let Some((_, found)) = told.explained.iter().find(|(of, _)| *of == i) {
        writeln!(
            out,
            "\n**Why**: {}",
            markdown::prose(&report::headline(found))
        )?;
    }
    match told.commands.get(i) {
        Some(Some(command)) => writeln!(out, "\nAsk: {}", markdown::code(command)),
        _ => Ok(()),
    }
}
