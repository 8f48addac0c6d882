//! Findings as SARIF 2.1.0, the format of code scanning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::edit::FileEdit;
use crate::json::to_pretty;
use meshladder_judge::finding::{Evidence, Severity};
use meshladder_judge::report::{Citation, Report, ReportEntry};
use meshladder_judge::rules::{self, Rule};
use meshladder_text::place::Place;
use serde::Serialize;

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
    let mut results = Vec::new();
    for told in &report.findings {
        let index = rules.iter().position(|rule| rule.code == told.finding.code);
        results.push(SarifResult::new(told, index, fixes.get(&told.finding.id())));
    }
    let driver = Driver {
        name: "meshladder",
        semantic_version: env!("CARGO_PKG_VERSION"),
        rules: rules.into_iter().map(Descriptor::from).collect(),
    };
    let log = SarifLog {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Tool { driver },
            // Columns count characters here; SARIF's default is UTF-16 units.
            column_kind: "unicodeCodePoints",
            results,
        }],
    };
    to_pretty(&log, 2)
}

#[derive(Serialize)]
struct SarifLog<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    column_kind: &'static str,
    results: Vec<SarifResult<'a>>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Descriptor>,
}

/// A rule, as code scanning shows it beside its results.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: &'static str,
    name: &'static str,
    short_description: Message<String>,
    full_description: Message<String>,
    help: Help,
    default_configuration: Configuration,
    properties: Properties,
}

#[derive(Clone, Serialize)]
struct Message<T> {
    text: T,
}

#[derive(Serialize)]
struct Help {
    text: &'static str,
    markdown: &'static str,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct Properties {
    tags: &'static [&'static str],
}

impl From<&Rule> for Descriptor {
    fn from(rule: &Rule) -> Self {
        Self {
            id: rule.code,
            name: rule.name,
            short_description: Message {
                text: rule.name.replace('-', " "),
            },
            full_description: Message {
                text: format!("Holds when {}.", rule.claim),
            },
            help: Help {
                text: rule.docs,
                markdown: rule.docs,
            },
            default_configuration: Configuration {
                level: level(rule.severity),
            },
            properties: Properties { tags: rule.aka },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'a> {
    rule_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Message<String>,
    locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<EvidenceLocation<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    code_flows: Vec<CodeFlow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixes: Option<[SarifFix<'a>; 1]>,
    partial_fingerprints: Fingerprints,
}

#[derive(Serialize)]
struct Fingerprints {
    #[serde(rename = "meshladderFinding/v1")]
    finding: String,
}

impl<'a> SarifResult<'a> {
    fn new(told: &'a ReportEntry, rule_index: Option<usize>, fix: Option<&'a FileEdit>) -> Self {
        let finding = &told.finding;
        let mut places = Vec::new();
        for (evidence, shown) in finding.evidence.iter().zip(&told.shown) {
            if let Some(place) = PhysicalLocation::of(shown) {
                places.push(EvidenceLocation::new(evidence, place));
            }
        }
        // One place alone is the location already.
        if places.len() == 1 {
            places.clear();
        }
        let mut related = Vec::new();
        for (id, place) in places.iter().skip(1).enumerate() {
            related.push(EvidenceLocation {
                id: Some(id),
                ..place.clone()
            });
        }
        Self {
            rule_id: finding.code,
            rule_index,
            level: level(finding.severity),
            message: Message {
                text: format!("{}: {}", finding.subject, finding.message),
            },
            locations: [Location {
                physical_location: told.shown.first().and_then(PhysicalLocation::of),
                logical_locations: [LogicalLocation {
                    fully_qualified_name: finding.subject.to_string(),
                    kind: "resource",
                }],
            }],
            related_locations: related,
            code_flows: CodeFlow::through(places),
            fixes: fix.map(|edit| [SarifFix::from(edit)]),
            partial_fingerprints: Fingerprints {
                finding: finding.id(),
            },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<PhysicalLocation>,
    logical_locations: [LogicalLocation; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation {
    fully_qualified_name: String,
    kind: &'static str,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Artifact,
    region: Region,
}

impl PhysicalLocation {
    fn of(shown: &Citation) -> Option<Self> {
        let (start, end) = shown.region?;
        Some(Self {
            artifact_location: Artifact::of(&shown.origin),
            region: Region::new(start, end),
        })
    }
}

/// A place of evidence with what it shows. Those that results refer to have an id.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct EvidenceLocation<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    physical_location: PhysicalLocation,
    message: Message<&'a str>,
}

impl<'a> EvidenceLocation<'a> {
    fn new(evidence: &'a Evidence, place: PhysicalLocation) -> Self {
        Self {
            id: None,
            physical_location: place,
            message: Message {
                text: &evidence.shows,
            },
        }
    }
}

/// The evidence as a walk from place to place, which code scanning lets people step through.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CodeFlow<'a> {
    thread_flows: [ThreadFlow<'a>; 1],
}

#[derive(Serialize)]
struct ThreadFlow<'a> {
    locations: Vec<FlowStep<'a>>,
}

#[derive(Serialize)]
struct FlowStep<'a> {
    location: EvidenceLocation<'a>,
}

impl<'a> CodeFlow<'a> {
    fn through(places: Vec<EvidenceLocation<'a>>) -> Vec<Self> {
        if places.is_empty() {
            return Vec::new();
        }
        let locations = places
            .into_iter()
            .map(|location| FlowStep { location })
            .collect();
        vec![Self {
            thread_flows: [ThreadFlow { locations }],
        }]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifFix<'a> {
    description: Message<&'a str>,
    artifact_changes: [ArtifactChange; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactChange {
    artifact_location: Artifact,
    replacements: Vec<Replacement>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    deleted_region: Region,
    inserted_content: Message<String>,
}

impl<'a> From<&'a FileEdit> for SarifFix<'a> {
    fn from(edit: &'a FileEdit) -> Self {
        let mut replacements = Vec::new();
        for (start, end, text) in edit.regions() {
            replacements.push(Replacement {
                deleted_region: Region::new(start, end),
                inserted_content: Message { text },
            });
        }
        Self {
            description: Message { text: &edit.what },
            artifact_changes: [ArtifactChange {
                artifact_location: Artifact::of(&edit.origin),
                replacements,
            }],
        }
    }
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
}

impl Region {
    fn new(start: Place, end: Place) -> Self {
        Self {
            start_line: start.line,
            start_column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

#[derive(Clone, Serialize)]
struct Artifact {
    uri: String,
}

impl Artifact {
    /// A path as a URI: relative as it is named, absolute with its scheme.
    fn of(path: &str) -> Self {
        let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
        for byte in path.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                    uri.push(char::from(byte));
                }
                // A String takes all text.
                byte => drop(write!(uri, "%{byte:02X}")),
            }
        }
        Self { uri }
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}
