//! A report, drawn: for the terminal, as JSON v1, as Markdown and as one HTML file.

mod html;
mod json;
mod markdown;
mod runbook;
mod text;

pub use html::to_html;
pub(crate) use json::ReportJson;
pub use json::to_json;
pub use markdown::to_markdown;
pub use runbook::to_runbook;
pub use text::to_text;

use meshladder_capture::Kind;
use meshladder_judge::report::{Report, Verdict};

/// The answer, in one line of plain words.
pub(super) fn headline(report: &Report) -> String {
    let first = report
        .findings
        .first()
        .map(|told| &told.finding)
        .filter(|finding| finding.is_loud());
    match (report.verdict, first) {
        (Verdict::Healthy, _) | (Verdict::Broken, None) => {
            format!("Nothing is wrong with {}.", report.about)
        }
        (Verdict::Broken, Some(finding)) => format!("{}.", capital(&finding.message)),
        (Verdict::Undecided, Some(finding)) => format!("Undecided: {}.", finding.message),
        (Verdict::Undecided, None) => "Undecided.".to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + chars.as_str())
        .unwrap_or_default()
}

/// How many pods a finding hits, in words.
fn hit_count(finding: &meshladder_judge::finding::Finding) -> Option<String> {
    let pods = finding.hits.iter().filter(|hit| hit.is(Kind::Pod)).count();
    match pods {
        0 => None,
        1 => Some("1 pod".to_owned()),
        n => Some(format!("{n} pods")),
    }
}
