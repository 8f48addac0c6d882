//! Findings as SARIF 2.1.0, the format of code scanning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::edit::FileEdit;
use crate::json::{self, Style};
use meshladder_judge::finding::{Evidence, Severity};
use meshladder_judge::report::{Report, Shown, Told};
use meshladder_judge::rules::{self, Rule};
use meshladder_text::json::{Raw, escape};
use meshladder_text::place::Place;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The report as SARIF. `fixes` are the changes of files that would make findings go away, by the
/// id of the finding.
pub fn to_sarif(report: &Report, fixes: &BTreeMap<String, FileEdit>) -> String {
    let codes: BTreeSet<&str> = report
        .findings
        .iter()
        .map(|told| told.finding.code)
        .collect();
    let rules: Vec<&Rule> = rules::all()
        .filter(|rule| codes.contains(rule.code))
        .collect();
    let results = report.findings.iter().map(|told| {
        let index = rules.iter().position(|rule| rule.code == told.finding.code);
        result(told, index, fixes.get(&told.finding.id()))
    });
    let driver = object([
        ("name", escape("meshladder")),
        ("semanticVersion", escape(env!("CARGO_PKG_VERSION"))),
        ("rules", list(rules.iter().map(|rule| descriptor(rule)))),
    ]);
    let run = object([
        ("tool", object([("driver", driver)])),
        // Columns count characters here; SARIF's default is UTF-16 units.
        ("columnKind", escape("unicodeCodePoints")),
        ("results", list(results)),
    ]);
    let text = object([
        ("$schema", escape(SCHEMA)),
        ("version", escape("2.1.0")),
        ("runs", list([run])),
    ]);
    let mut pretty = String::new();
    if let Ok(raw) = Raw::of(&text) {
        // A String takes all text.
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

fn descriptor(rule: &Rule) -> String {
    let tags = rule.aka.iter().map(|aka| escape(aka));
    object([
        ("id", escape(rule.code)),
        ("name", escape(rule.name)),
        ("shortDescription", message(&rule.name.replace('-', " "))),
        (
            "fullDescription",
            message(&format!("Holds when {}.", rule.claim)),
        ),
        (
            "help",
            object([("text", escape(rule.docs)), ("markdown", escape(rule.docs))]),
        ),
        (
            "defaultConfiguration",
            object([("level", escape(level(rule.severity)))]),
        ),
        ("properties", object([("tags", list(tags))])),
    ])
}

fn result(told: &Told, index: Option<usize>, fix: Option<&FileEdit>) -> String {
    let finding = &told.finding;
    let mut fields = vec![("ruleId", escape(finding.code))];
    fields.extend(index.map(|index| ("ruleIndex", index.to_string())));
    fields.push(("level", escape(level(finding.severity))));
    fields.push((
        "message",
        message(&format!("{}: {}", finding.subject, finding.message)),
    ));
    let name = object([
        ("fullyQualifiedName", escape(&finding.subject.to_string())),
        ("kind", escape("resource")),
    ]);
    let logical = ("logicalLocations", list([name]));
    let main = told.shown.first().and_then(physical);
    let main = main
        .into_iter()
        .map(|place| ("physicalLocation", place))
        .chain([logical]);
    fields.push(("locations", list([object(main)])));
    let places: Vec<(&Evidence, String)> = finding
        .evidence
        .iter()
        .zip(&told.shown)
        .filter_map(|(e, shown)| Some((e, physical(shown)?)))
        .collect();
    if places.len() > 1 {
        let related = places
            .iter()
            .skip(1)
            .enumerate()
            .map(|(i, (evidence, place))| located(evidence, place, Some(i)));
        fields.push(("relatedLocations", list(related)));
        let steps = places
            .iter()
            .map(|(evidence, place)| object([("location", located(evidence, place, None))]));
        let flow = object([("locations", list(steps))]);
        fields.push(("codeFlows", list([object([("threadFlows", list([flow]))])])));
    }
    fields.extend(fix.map(|edit| ("fixes", list([change(edit)]))));
    fields.push((
        "partialFingerprints",
        object([("meshladderFinding/v1", escape(&finding.id()))]),
    ));
    object(fields)
}

fn located(evidence: &Evidence, place: &str, id: Option<usize>) -> String {
    let id = id.map(|id| ("id", id.to_string()));
    let rest = [
        ("physicalLocation", place.to_owned()),
        ("message", message(&evidence.shows)),
    ];
    object(id.into_iter().chain(rest))
}

fn physical(shown: &Shown) -> Option<String> {
    let (start, end) = shown.region?;
    Some(object([
        ("artifactLocation", artifact(&shown.origin)),
        ("region", region(start, end)),
    ]))
}

fn change(edit: &FileEdit) -> String {
    let replacements = edit.regions().into_iter().map(|(start, end, text)| {
        let inserted = object([("text", escape(&text))]);
        object([
            ("deletedRegion", region(start, end)),
            ("insertedContent", inserted),
        ])
    });
    let changes = object([
        ("artifactLocation", artifact(&edit.origin)),
        ("replacements", list(replacements)),
    ]);
    object([
        ("description", message(&edit.what)),
        ("artifactChanges", list([changes])),
    ])
}

fn region(start: Place, end: Place) -> String {
    object([
        ("startLine", start.line.to_string()),
        ("startColumn", start.column.to_string()),
        ("endLine", end.line.to_string()),
        ("endColumn", end.column.to_string()),
    ])
}

/// A path as a URI: relative as it is named, absolute with its scheme.
fn artifact(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte))
            }
            // A String takes all text.
            byte => drop(write!(uri, "%{byte:02X}")),
        }
    }
    object([("uri", escape(&uri))])
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn message(text: &str) -> String {
    object([("text", escape(text))])
}

fn object(members: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let members: Vec<String> = members
        .into_iter()
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    format!("{{{}}}", members.join(","))
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}
