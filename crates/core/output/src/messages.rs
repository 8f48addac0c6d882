//! Findings as the messages that `istioctl analyze` prints.

use std::fmt::Write;

use crate::json::to_pretty;
use crate::paint::{Ink, Paint};
use crate::yaml;
use meshladder_judge::finding::Severity;
use meshladder_judge::report::{Report, ReportEntry};
use meshladder_judge::rules;
use serde::Serialize;

/// One line a finding: `Warning [IST0128] (DestinationRule shop/db db.yaml:7) …`
pub fn to_log(report: &Report, paint: Paint) -> String {
    let mut out = String::new();
    for told in &report.findings {
        let place = Some(reference(told))
            .filter(|place| !place.is_empty())
            .map(|place| format!(" {place}"));
        let place = place.unwrap_or_default();
        let level = level(told.finding.severity);
        let level = match told.finding.severity {
            Severity::Error => paint.set(Ink::Error, level),
            Severity::Warning => paint.set(Ink::Warning, level),
            Severity::Info => level.to_owned(),
        };
        // A String takes all text.
        let _ = writeln!(
            out,
            "{level} [{}] ({}{place}) {}",
            rules::shown_code(&told.finding),
            told.finding.subject,
            told.finding.message
        );
    }
    out
}

/// istioctl's array.
pub fn to_json(report: &Report) -> String {
    to_pretty(&messages(report), 4)
}

/// istioctl's array, as YAML.
pub fn to_yaml(report: &Report) -> String {
    yaml::of(&messages(report))
}

/// A message as `istioctl analyze` prints it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageJson<'a> {
    code: &'a str,
    documentation_url: String,
    level: &'static str,
    message: &'a str,
    origin: String,
    reference: String,
}

fn messages(report: &Report) -> Vec<MessageJson<'_>> {
    report.findings.iter().map(message).collect()
}

fn message(told: &ReportEntry) -> MessageJson<'_> {
    let code = rules::shown_code(&told.finding);
    // Only codes of its own have a page there.
    let documentation_url = if code.starts_with("IST") {
        let code = code.to_lowercase();
        format!("https://istio.io/latest/docs/reference/config/analysis/{code}/")
    } else {
        String::new()
    };
    MessageJson {
        code,
        documentation_url,
        level: level(told.finding.severity),
        message: &told.finding.message,
        origin: told.finding.subject.to_string(),
        reference: reference(told),
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Info => "Info",
    }
}

/// `file:line`
fn reference(told: &ReportEntry) -> String {
    let Some(shown) = told.shown.first() else {
        return String::new();
    };
    shown
        .line
        .map(|line| format!("{}:{line}", shown.origin))
        .unwrap_or_default()
}
