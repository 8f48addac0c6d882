//! What access logs come to, drawn: for the terminal, as JSON v1 and as Markdown; and single lines.

mod json;
mod line;
mod markdown;
mod text;

pub use json::to_json;
pub use line::{line_json, line_text};
pub use markdown::to_markdown;
pub use text::{causes, headline};

use meshladder_judge::logs::{LineGroup, LogSummary};
use meshladder_judge::report::Report;
use meshladder_text::time::Time;

/// All that is drawn.
#[derive(Debug)]
pub struct LogReport<'t> {
    /// What the lines come to.
    pub summary: &'t LogSummary,
    /// The logs, by the numbers that examples have.
    pub sources: &'t [String],
    /// Of each cause the command that asks `why`.
    pub commands: &'t [Option<String>],
    /// What `why` said, with the cause it was asked for.
    pub explained: &'t [(usize, Report)],
    /// How many groups and causes are told.
    pub most: usize,
}

/// A time of day, to the second.
pub fn clock(time: Time) -> String {
    let text = Time::from_seconds(time.seconds).to_string();
    text.get(11..19).unwrap_or(&text).to_owned()
}

/// Text from a log as it may be shown: control characters could rewrite the user's terminal.
pub fn shown(text: &str) -> String {
    if !text.contains(|c: char| c.is_control() && c != '\t') {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect()
            } else {
                vec![c]
            }
        })
        .collect()
}

/// `503 UC upstream_reset…, outbound|8080||cart`
fn title(group: &LineGroup) -> String {
    let details = if group.details.is_empty() {
        String::new()
    } else {
        format!(" {}", shown(&group.details))
    };
    let cluster = if group.cluster.is_empty() {
        String::new()
    } else {
        format!(", {}", shown(&group.cluster))
    };
    format!("{} {}{details}{cluster}", group.code, group.flags_text())
}

/// ` at the server`, when that is known.
fn place(group: &LineGroup) -> String {
    match group.judgement.side.id() {
        "unknown" => String::new(),
        side => format!(" at the {side}"),
    }
}

fn plural(count: u64, word: &str) -> String {
    format!(
        "{} {word}{}",
        thousands(count),
        if count == 1 { "" } else { "s" }
    )
}

/// `1,234,567`
fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
