//! Findings as the commands that a GitHub workflow turns into annotations.

use std::fmt::Write;

use super::aka;
use meshladder_judge::finding::Severity;
use meshladder_judge::report::{Report, ReportEntry};

/// One line a finding: `::warning file=db.yaml,line=7,col=10,title=ML2101 tls-without-ca::…`
pub fn to_github(report: &Report) -> String {
    let mut out = String::new();
    for told in &report.findings {
        // A String takes all text.
        let _ = writeln!(out, "{}", annotation(told));
    }
    out
}

fn annotation(told: &ReportEntry) -> String {
    let finding = &told.finding;
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let mut properties = Vec::new();
    if let Some((shown, (start, end))) = told
        .shown
        .first()
        .and_then(|shown| Some((shown, shown.region?)))
    {
        properties.push(format!("file={}", property(&shown.origin)));
        // The end of what ends with its line is the start of the next one.
        let last = if end.column == 1 && end.line > start.line {
            end.line - 1
        } else {
            end.line
        };
        properties.push(format!("line={},endLine={last}", start.line));
        if start.line == end.line {
            properties.push(format!("col={},endColumn={}", start.column, end.column));
        }
    }
    let title = format!("{} {} {}", finding.code, finding.name, aka(finding));
    properties.push(format!("title={}", property(title.trim_end())));
    let text = format!("{}: {}", finding.subject, finding.message);
    format!("::{level} {}::{}", properties.join(","), data(&text))
}

/// What the runner's own toolkit does to a message.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// And to the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
