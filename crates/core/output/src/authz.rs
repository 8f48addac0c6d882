//! The answer of `authz check` to one request, as text and as JSON v1.

use std::fmt::Write;

use super::json::{self, Style};
use meshladder_judge::authz::{Basis, Check, Decision, Frame, Rule, Seen, Verdict};
use meshladder_text::json::{Raw, escape};

/// The answer to read; `question` is the request in a line.
pub fn to_text(check: &Check, call: &str) -> String {
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
        let is_new = |by: &&Rule| !decision.near.iter().any(|(rule, _)| rule.frame == by.frame);
        write_frame(&mut out, objects.by.as_ref().filter(is_new));
    }
    out
}

fn sentence(decision: &Decision) -> String {
    match decision.verdict {
        Verdict::Undecided => format!("it depends on {}", decision.because),
        Verdict::Allow | Verdict::Deny => decision.because.clone(),
    }
}

fn write_reasons(out: &mut String, decision: &Decision) {
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

fn write_frame(out: &mut String, rule: Option<&Rule>) {
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

fn seen_words(seen: &Seen) -> String {
    match seen {
        Seen::Answer {
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
        Seen::Closed { details } if details.is_empty() => "a closed connection".to_owned(),
        Seen::Closed { details } => {
            format!("a closed connection; the log of the server's proxy will say {details}")
        }
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Deny => "deny",
        Verdict::Undecided => "undecided",
    }
}

/// The answer as pretty JSON. `request` is what was asked, as a JSON object.
pub fn to_json(check: &Check, request: &str) -> String {
    let notes: Vec<_> = check.notes.iter().map(|note| escape(note)).collect();
    let text = format!(
        "{{\"apiVersion\":\"meshladder.dev/v1\",\"kind\":\"AuthzCheck\",\"request\":{request},\"workload\":{},\"port\":{},\"caller\":{},\"basis\":\"{}\",{},\"objectsSay\":{},\"notes\":[{}]}}",
        escape(&check.server),
        check.port,
        escape(&check.caller),
        if check.basis == Basis::Dump {
            "dump"
        } else {
            "objects"
        },
        decision_fields(&check.decision),
        check
            .objects
            .as_ref()
            .map_or("null".to_owned(), |objects| format!(
                "{{{}}}",
                decision_fields(objects)
            )),
        notes.join(",")
    );
    let mut pretty = String::new();
    // An object was just written, and a String takes everything.
    if let Ok(raw) = Raw::of(&text) {
        let _ = json::write(
            &mut pretty,
            raw,
            Style {
                indent: 2,
                ..Style::PRETTY
            },
        );
    }
    pretty
}

fn decision_fields(decision: &Decision) -> String {
    let near = decision
        .near
        .iter()
        .map(|(rule, why)| format!("{{\"rule\":{},\"why\":{}}}", rule_json(rule), escape(why)));
    let dry_run = decision.dry_run.iter().map(|(denies, rule)| {
        let rule = rule.as_ref().map_or("null".to_owned(), rule_json);
        format!(
            "{{\"verdict\":\"{}\",\"by\":{rule}}}",
            if *denies { "deny" } else { "allow" }
        )
    });
    format!(
        "\"verdict\":\"{}\",\"because\":{},\"by\":{},\"callerSees\":{},\"nearMisses\":[{}],\"dryRun\":[{}]",
        word(decision.verdict),
        escape(&sentence(decision)),
        decision.by.as_ref().map_or("null".to_owned(), rule_json),
        decision.seen.as_ref().map_or("null".to_owned(), seen_json),
        near.collect::<Vec<_>>().join(","),
        dry_run.collect::<Vec<_>>().join(",")
    )
}

fn rule_json(rule: &Rule) -> String {
    let optional = |text: Option<&String>| text.map_or("null".to_owned(), |text| escape(text));
    format!(
        "{{\"kind\":\"{}\",\"namespace\":{},\"name\":{},\"rule\":{},\"action\":{},\"evidence\":{}}}",
        rule.kind,
        escape(&rule.namespace),
        escape(&rule.name),
        rule.rule.map_or("null".to_owned(), |rule| rule.to_string()),
        optional(rule.action.as_ref()),
        rule.frame.as_ref().map_or("null".to_owned(), frame_json)
    )
}

fn frame_json(frame: &Frame) -> String {
    format!(
        "{{\"doc\":{},\"file\":{},\"line\":{},\"pointer\":{},\"excerpt\":{}}}",
        escape(frame.doc.as_str()),
        escape(&frame.origin),
        frame.line,
        frame
            .pointer
            .as_ref()
            .map_or("null".to_owned(), |pointer| escape(pointer)),
        escape(&frame.lines.join("\n"))
    )
}

fn seen_json(seen: &Seen) -> String {
    match seen {
        Seen::Answer {
            code,
            body,
            details,
        } => format!(
            "{{\"code\":{code},\"body\":{},\"details\":{},\"closed\":false}}",
            body.map_or("null".to_owned(), escape),
            escape(details)
        ),
        Seen::Closed { details } => {
            format!(
                "{{\"code\":0,\"body\":null,\"details\":{},\"closed\":true}}",
                escape(details)
            )
        }
    }
}
