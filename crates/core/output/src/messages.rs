//! Findings as the messages that `istioctl analyze` prints.

use std::fmt::Write;

use crate::json::{self, Style};
use crate::report::Paint;
use crate::yaml;
use meshladder_judge::finding::Severity;
use meshladder_judge::report::{Report, Told};
use meshladder_judge::rules;
use meshladder_text::json::{Raw, escape};
use meshladder_text::tree::Node;

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
            Severity::Error if paint.colour => format!("\x1b[1;31m{level}\x1b[0m"),
            Severity::Warning if paint.colour => format!("\x1b[33m{level}\x1b[0m"),
            _ => level.to_owned(),
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
    let text = array(report);
    let mut pretty = String::new();
    if let Ok(raw) = Raw::of(&text) {
        // A String takes all text.
        let _ = json::write(
            &mut pretty,
            raw,
            Style {
                indent: 4,
                ..Style::PRETTY
            },
        );
    }
    pretty
}

/// istioctl's array, as YAML.
pub fn to_yaml(report: &Report) -> String {
    let text = array(report);
    let node = Raw::of(&text)
        .ok()
        .and_then(|raw| Node::from_json(raw).ok());
    node.map(|node| yaml::text(&node)).unwrap_or_default()
}

fn array(report: &Report) -> String {
    let messages: Vec<String> = report.findings.iter().map(message).collect();
    format!("[{}]", messages.join(","))
}

fn message(told: &Told) -> String {
    let code = rules::shown_code(&told.finding);
    let url = if code.starts_with("IST") {
        let code = code.to_lowercase();
        format!("https://istio.io/latest/docs/reference/config/analysis/{code}/")
    } else {
        String::new()
    };
    format!(
        "{{\"code\":\"{code}\",\"documentationUrl\":{},\"level\":\"{}\",\"message\":{},\"origin\":{},\"reference\":{}}}",
        escape(&url),
        level(told.finding.severity),
        escape(&told.finding.message),
        escape(&told.finding.subject.to_string()),
        escape(&reference(told)),
    )
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Info => "Info",
    }
}

/// `file:line`
fn reference(told: &Told) -> String {
    let Some(shown) = told.shown.first() else {
        return String::new();
    };
    shown
        .line
        .map(|line| format!("{}:{line}", shown.origin))
        .unwrap_or_default()
}
