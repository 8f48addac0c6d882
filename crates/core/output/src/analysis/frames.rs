//! Findings on the lines of the files they are about, as compilers show them.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::aka;
use crate::paint::{Ink, Paint};
use meshladder_judge::finding::{Evidence, Finding, Fix, FixKind, Severity};
use meshladder_judge::report::{Citation, Report, ReportEntry};

/// How many lines of a place are shown.
const MOST_LINES: usize = 4;

/// All findings, each with every place it is about.
pub fn to_frames(report: &Report, paint: Paint) -> String {
    let mut out = String::new();
    for told in &report.findings {
        // A String takes all text.
        let _ = finding(&mut out, told, paint);
    }
    if !report.findings.is_empty() {
        let _ = writeln!(out, "{}", paint.bold(&count(report)));
    }
    out
}

fn finding(out: &mut String, told: &ReportEntry, paint: Paint) -> std::fmt::Result {
    let Finding {
        code,
        name,
        severity,
        subject,
        message,
        ..
    } = &told.finding;
    let head = paint.set(ink(*severity), &format!("{}[{code}]", severity.word()));
    let aka = Some(aka(&told.finding))
        .filter(|aka| !aka.is_empty())
        .map(|aka| format!(" ({aka})"));
    writeln!(
        out,
        "{head}{}",
        paint.bold(&format!(": {subject}: {message}"))
    )?;
    let width = told
        .shown
        .iter()
        .filter_map(|shown| shown.region)
        .map(|(_, end)| end.line)
        .max();
    let width = width.map_or(1, |line| (line + MOST_LINES).to_string().len());
    let mut files: Vec<&str> = Vec::new();
    for shown in told.shown.iter().filter(|shown| shown.region.is_some()) {
        if !files.contains(&shown.origin.as_str()) {
            files.push(&shown.origin);
        }
    }
    for (i, file) in files.iter().enumerate() {
        frame(out, told, file, i == 0, width, paint)?;
    }
    let bar = paint.dim(&format!("{:width$} =", ""));
    let nowhere = told
        .finding
        .evidence
        .iter()
        .zip(&told.shown)
        .filter(|(_, shown)| shown.region.is_none());
    for (evidence, _) in nowhere {
        writeln!(out, "{bar} {}: {}", evidence.doc, evidence.shows)?;
    }
    told.finding
        .fixes
        .iter()
        .take(2)
        .try_for_each(|fix| repair(out, fix, &bar))?;
    writeln!(
        out,
        "{bar} {name}{}: meshladder explain {code}\n",
        aka.unwrap_or_default()
    )
}

/// The places in one file, in the order of its lines.
fn frame(
    out: &mut String,
    told: &ReportEntry,
    file: &str,
    first: bool,
    width: usize,
    paint: Paint,
) -> std::fmt::Result {
    let mut lines: BTreeMap<usize, FrameLine<'_>> = BTreeMap::new();
    let pieces = told.finding.evidence.iter().zip(&told.shown).enumerate();
    let mut start = None;
    for (i, (evidence, shown)) in pieces.filter(|(_, (_, shown))| shown.origin == file) {
        let Some((from, _)) = shown.region else {
            continue;
        };
        start = start.or(Some(from));
        for (k, text) in shown.source.iter().take(MOST_LINES).enumerate() {
            lines.entry(from.line + k).or_insert_with(|| FrameLine {
                text,
                marks: Vec::new(),
            });
        }
        if let Some(line) = lines.get_mut(&from.line) {
            line.marks.push(FrameMark::new(evidence, shown, i == 0));
        }
    }
    let arrow = if first { "-->" } else { ":::" };
    let at = start.map(|at| format!(":{at}")).unwrap_or_default();
    writeln!(out, "{:width$}{} {file}{at}", "", paint.dim(arrow))?;
    let bar = paint.dim(&format!("{:width$} |", ""));
    writeln!(out, "{bar}")?;
    let mut last = None;
    for (number, line) in &lines {
        if last.is_some_and(|last| last + 1 < *number) {
            writeln!(out, "{}", paint.dim("..."))?;
        }
        last = Some(*number);
        writeln!(
            out,
            "{} {}",
            paint.dim(&format!("{number:width$} |")),
            line.text
        )?;
        for mark in &line.marks {
            writeln!(out, "{bar} {}", mark.draw(told.finding.severity, paint))?;
        }
    }
    Ok(())
}

struct FrameLine<'t> {
    text: &'t str,
    marks: Vec<FrameMark<'t>>,
}

struct FrameMark<'t> {
    column: usize,
    length: usize,
    is_main: bool,
    shows: &'t str,
}

impl<'t> FrameMark<'t> {
    fn new(evidence: &'t Evidence, shown: &Citation, is_main: bool) -> Self {
        let (start, end) = shown.region.unwrap_or_default();
        let line = shown
            .source
            .first()
            .map_or(0, |line| line.trim_end().chars().count());
        let until = if end.line == start.line {
            end.column
        } else {
            line + 1
        };
        Self {
            column: start.column,
            length: until.saturating_sub(start.column).max(1),
            is_main,
            shows: &evidence.shows,
        }
    }

    fn draw(&self, severity: Severity, paint: Paint) -> String {
        let mark = if self.is_main { "^" } else { "-" };
        let text = format!("{} {}", mark.repeat(self.length), self.shows);
        let ink = if self.is_main {
            ink(severity)
        } else {
            Ink::Remark
        };
        format!("{:1$}{2}", "", self.column - 1, paint.set(ink, &text))
    }
}

fn repair(out: &mut String, fix: &Fix, bar: &str) -> std::fmt::Result {
    let note = match (&fix.change, fix.why_untried()) {
        (Some(_), None) => " (tried: it goes away)",
        _ => "",
    };
    match fix.kind {
        FixKind::Advice => writeln!(out, "{bar} fix: {}", fix.text),
        FixKind::Patch | FixKind::Command => {
            writeln!(
                out,
                "{bar} fix{note}: {}",
                fix.text.lines().next().unwrap_or_default()
            )?;
            fix.text
                .lines()
                .skip(1)
                .try_for_each(|line| writeln!(out, "{line}"))
        }
    }
}

fn count(report: &Report) -> String {
    let of = |severity: Severity, one: &str, many: &str| match report
        .findings
        .iter()
        .filter(|told| told.finding.severity == severity)
        .count()
    {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let counts = [
        of(Severity::Error, "error", "errors"),
        of(Severity::Warning, "warning", "warnings"),
        of(Severity::Info, "remark", "remarks"),
    ];
    counts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn ink(severity: Severity) -> Ink {
    match severity {
        Severity::Error => Ink::Error,
        Severity::Warning => Ink::Warning,
        Severity::Info => Ink::Remark,
    }
}
