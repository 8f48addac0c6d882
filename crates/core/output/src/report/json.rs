//! A report as JSON v1: an outward shape of its own, which may grow and keeps its names.

use crate::json::pretty;
use meshladder_judge::finding::{Evidence, Finding, Fix, Subject};
use meshladder_judge::report::{Outcome, Report, RungOutcome, Shown, Told};
use meshladder_judge::rules;
use meshladder_mesh::ObjectRef;
use meshladder_text::json::escape;

/// The report as pretty JSON.
pub fn to_json(report: &Report) -> String {
    pretty(&compact(report))
}

/// The report as JSON on one line.
pub(crate) fn compact(report: &Report) -> String {
    let findings = report.findings.iter().map(told);
    let rungs = report.rungs.iter().map(rung);
    let coverage = report.coverage.iter().map(|(need, coverage)| {
        let (need, why) = (escape(&need.to_string()), optional(coverage.why()));
        format!(
            "{{\"need\":{need},\"state\":\"{}\",\"why\":{why}}}",
            coverage.word()
        )
    });
    let unknown = report.unknown.iter().map(|fact| escape(&fact.to_string()));
    format!(
        "{{\"apiVersion\":\"meshladder.dev/v1\",\"kind\":\"Report\",\"takenAt\":{},\"question\":{},\"verdict\":\"{}\",\"brokenRung\":{},\"findings\":{},\"rungs\":{},\"coverage\":{},\"unknown\":{}}}",
        optional(report.taken_at.map(|time| time.to_string()).as_deref()),
        report.question,
        report.verdict.word(),
        optional(
            report
                .broken_rung()
                .map(meshladder_judge::finding::Rung::id)
        ),
        list(findings),
        list(rungs),
        list(coverage),
        list(unknown),
    )
}

fn told(told: &Told) -> String {
    let Finding {
        code,
        name,
        rung,
        severity,
        confidence,
        subject,
        message,
        ..
    } = &told.finding;
    let aka = rules::named(code).map_or(&[][..], |rule| rule.aka);
    let evidence = told
        .finding
        .evidence
        .iter()
        .zip(&told.shown)
        .map(|(e, shown)| evidence(e, shown));
    format!(
        "{{\"id\":{},\"code\":\"{code}\",\"name\":\"{name}\",\"aka\":{},\"rung\":\"{}\",\"severity\":\"{}\",\"confidence\":\"{}\",\"subject\":{},\"message\":{},\"evidence\":{},\"fixes\":{},\"hits\":{},\"causedBy\":{}}}",
        escape(&told.finding.id()),
        list(aka.iter().map(|aka| escape(aka))),
        rung.id(),
        severity.word(),
        confidence.word(),
        subject_json(subject),
        escape(message),
        list(evidence),
        list(told.finding.fixes.iter().map(fix)),
        list(told.finding.hits.iter().map(object)),
        list(told.finding.caused_by.iter().map(|id| escape(id))),
    )
}

fn object(object: &ObjectRef) -> String {
    reference(&object.kind, &object.namespace, &object.name)
}

fn subject_json(subject: &Subject) -> String {
    reference(subject.kind(), subject.namespace(), subject.name())
}

fn reference(kind: &str, namespace: &str, name: &str) -> String {
    let mut fields = vec![format!("\"kind\":{}", escape(kind))];
    if !namespace.is_empty() {
        fields.push(format!("\"namespace\":{}", escape(namespace)));
    }
    if !name.is_empty() {
        fields.push(format!("\"name\":{}", escape(name)));
    }
    format!("{{{}}}", fields.join(","))
}

fn evidence(evidence: &Evidence, shown: &Shown) -> String {
    format!(
        "{{\"doc\":{},\"pointer\":{},\"shows\":{},\"excerpt\":{},\"line\":{}}}",
        escape(evidence.doc.as_str()),
        optional(shown.pointer.as_deref()),
        escape(&evidence.shows),
        escape(&shown.excerpt),
        shown
            .line
            .map_or("null".to_owned(), |line| line.to_string()),
    )
}

fn fix(fix: &Fix) -> String {
    let checked = fix.change.is_some() && fix.why_untried().is_none();
    format!(
        "{{\"kind\":\"{}\",\"risk\":\"{}\",\"text\":{},\"checked\":{checked},\"unchecked\":{}}}",
        fix.kind.word(),
        fix.risk.word(),
        escape(&fix.text),
        optional(fix.why_untried()),
    )
}

fn rung(rung: &RungOutcome) -> String {
    let why = if let Outcome::Skipped(why) = &rung.outcome {
        Some(why.to_string())
    } else {
        None
    };
    format!(
        "{{\"rung\":\"{}\",\"outcome\":\"{}\",\"examined\":{},\"why\":{}}}",
        rung.rung.id(),
        rung.outcome.word(),
        rung.examined,
        optional(why.as_deref())
    )
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn optional(text: Option<&str>) -> String {
    text.map_or("null".to_owned(), escape)
}
