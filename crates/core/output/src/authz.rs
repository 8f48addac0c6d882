//! The answer of `authz check` to one request, as text and as JSON v1.

mod json;

pub use json::to_json;

use std::fmt::Write;

use meshladder_judge::authz::{
    AuthzCheck, AuthzDecision, AuthzVerdict, Basis, CallerAnswer, DecidingRule,
};

/// The answer to read; `question` is the request in a line.
pub fn to_text(check: &AuthzCheck, call: &str) -> String {
    let decision = &check.decision;
    let mut out = format!(
        "{}: {}\n\n",
        word(decision.verdict).to_uppercase(),
        sentence(decision)
    );
    let _ = writeln!(
        out,
        "  {call}\n  at {} port {}, from {}",
        check.server, check.port, check.caller
    );
    let basis = match check.basis {
        Basis::Dump => "as the server's proxy would decide, by its config dump",
        Basis::Objects => "by the objects alone, as istiod would compile them",
    };
    let _ = writeln!(out, "  {basis}");
    write_reasons(&mut out, decision);
    if let Some(objects) = &check.objects {
        let _ = writeln!(
            out,
            "\nThe objects say otherwise: {}: {}\nThe proxy does not have what the objects say.",
            word(objects.verdict).to_uppercase(),
            sentence(objects)
        );
        // The lines may stand above already, as those of a rule that nearly matched.
        let is_new =
            |by: &&DecidingRule| !decision.near.iter().any(|(rule, _)| rule.frame == by.frame);
        write_frame(&mut out, objects.by.as_ref().filter(is_new));
    }
    out
}

fn sentence(decision: &AuthzDecision) -> String {
    match decision.verdict {
        AuthzVerdict::Undecided => format!("it depends on {}", decision.because),
        AuthzVerdict::Allow | AuthzVerdict::Deny => decision.because.clone(),
    }
}

fn write_reasons(out: &mut String, decision: &AuthzDecision) {
    if decision.by.is_some() {
        out.push('\n');
        write_frame(out, decision.by.as_ref());
    }
    if let Some(seen) = &decision.seen {
        let _ = writeln!(out, "\nThe caller will see {}", seen_words(seen));
    }
    if !decision.near.is_empty() {
        out.push_str("\nNearly matched, but for one thing:\n");
    }
    for (rule, why) in &decision.near {
        let action = rule
            .action
            .as_ref()
            .map(|action| format!("{action} "))
            .unwrap_or_default();
        let _ = writeln!(out, "  {action}{rule}: {why}");
        write_frame(out, Some(rule));
    }
    for (denies, rule) in &decision.dry_run {
        let by = rule
            .as_ref()
            .map_or("as no ALLOW policy matches".to_owned(), |rule| {
                format!("by {rule}")
            });
        let word = if *denies { "denied" } else { "allowed" };
        let _ = writeln!(out, "\nOnly tried out (dry-run): it would be {word} {by}");
    }
}

fn write_frame(out: &mut String, rule: Option<&DecidingRule>) {
    let Some(frame) = rule.and_then(|rule| rule.frame.as_ref()) else {
        return;
    };
    let last = frame.line + frame.lines.len();
    let gutter = last.to_string().len();
    let _ = writeln!(out, "  --> {}:{}", frame.origin, frame.line);
    for (number, line) in (frame.line..).zip(&frame.lines) {
        let _ = writeln!(out, "  {number:>gutter$} | {line}");
    }
    if frame.is_cut {
        let _ = writeln!(out, "  {:>gutter$} | …", "");
    }
}

fn seen_words(seen: &CallerAnswer) -> String {
    match seen {
        CallerAnswer::Answer {
            code,
            body,
            details,
        } => {
            let body = body.map(|body| format!(" `{body}`")).unwrap_or_default();
            let code = if *code == 200 {
                "200 with a grpc-status".to_owned()
            } else {
                code.to_string()
            };
            format!("{code}{body}; the log of the server's proxy will say {details}")
        }
        CallerAnswer::Closed { details } if details.is_empty() => "a closed connection".to_owned(),
        CallerAnswer::Closed { details } => {
            format!("a closed connection; the log of the server's proxy will say {details}")
        }
    }
}

fn word(verdict: AuthzVerdict) -> &'static str {
    match verdict {
        AuthzVerdict::Allow => "allow",
        AuthzVerdict::Deny => "deny",
        AuthzVerdict::Undecided => "undecided",
    }
}
