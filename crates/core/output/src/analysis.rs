//! Findings of `analyze` as people and CI systems take them.

mod frames;
mod github;
mod junit;
mod markdown;
mod sarif;

pub use frames::to_frames;
pub use github::to_github;
pub use junit::to_junit;
pub use markdown::to_markdown;
pub use sarif::to_sarif;

use meshladder_judge::finding::Finding;
use meshladder_judge::report::ReportEntry;
use meshladder_judge::rules;

/// Other tools' codes for it: `IST0128 KIA0203`.
fn aka(finding: &Finding) -> String {
    rules::foreign_codes(finding).collect::<Vec<_>>().join(" ")
}

/// `db.yaml:7`; the file alone, or nothing, when there is no line.
fn place(told: &ReportEntry) -> String {
    let Some(shown) = told.shown.first() else {
        return String::new();
    };
    shown.line.map_or_else(
        || shown.origin.clone(),
        |line| format!("{}:{line}", shown.origin),
    )
}

/// `&`, `<`, `>` and quotes as XML and HTML write them; what XML cannot hold at all as U+FFFD.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            // "Char ::= #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]"
            '\0'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
