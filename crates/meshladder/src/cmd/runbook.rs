//! `runbook`: for the on-call, in general or for this very incident.

use meshladder_capture::snapshot::{DocId, redact};
use meshladder_text::shell;
use std::io::Write;

use meshladder_judge::ladder::Scope;
use meshladder_judge::rules;
use meshladder_output::markdown;
use meshladder_output::report::to_runbook;

use super::{ladder, source};
use crate::args::Global;
use crate::args::runbook::{PageOutput, Runbook};
use crate::exit::{Failure, Outcome, USAGE};
use crate::out;

/// The general part; `docs/` shows the same file.
static GENERAL: &str = include_str!("../../../../docs/runbook/README.md");
static SCRIPT: &str = include_str!("runbook/ladder.sh");

pub(super) fn run(global: &Global, args: &Runbook) -> Outcome {
    let page = match &args.code {
        _ if args.as_script => return print(SCRIPT),
        None => GENERAL.to_owned(),
        Some(code) => for_code(global, code)?,
    };
    match args.output {
        PageOutput::Markdown => print(&page),
        PageOutput::Html => print(&markdown::to_html(&page)),
    }
}

fn for_code(global: &Global, code: &str) -> Result<String, Failure> {
    let rule = rules::named(code).ok_or_else(|| {
        Failure::new(USAGE, format!("`{code}` is no rule"))
            .hint("a code such as ML0401, or a rule's name")
    })?;
    if global.source.is_empty() {
        return Ok(rule.docs.to_owned());
    }
    let snapshot = source::named(global, None, USAGE)?;
    let mesh = source::mesh(&snapshot);
    let scope = global
        .namespace
        .clone()
        .map_or(Scope::Mesh, Scope::Namespace);
    let mut report = ladder::climb(&snapshot, &mesh, scope, None);
    report
        .findings
        .retain(|told| told.finding.code == rule.code);
    if report.findings.is_empty() {
        out::note(&format!(
            "{} is not found in this source; this is the rule's own page",
            rule.code
        ));
        return Ok(rule.docs.to_owned());
    }
    Ok(to_runbook(&report, &again()))
}

/// The command as it was typed, without what only formats its output, to be run again.
pub(super) fn again() -> String {
    let mut words = std::env::args().skip(1).peekable();
    let mut kept = vec!["meshladder".to_owned()];
    let mut is_first = true;
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "--output" | "--for" => drop(words.next()),
            _ if word.starts_with("-o")
                || word.starts_with("--output=")
                || word.starts_with("--for=") => {}
            "runbook" if is_first => {
                kept.push("check".to_owned());
                is_first = false;
            }
            _ => kept.push(shell::word(&word)),
        }
    }
    let mut line = kept.join(" ").into_bytes();
    redact(&DocId::new("other/command.log"), &mut line);
    String::from_utf8_lossy(&line).into_owned()
}

fn print(text: &str) -> Outcome {
    let mut stdout = out::stdout();
    write!(stdout, "{text}")?;
    stdout.flush()?;
    Ok(0)
}
