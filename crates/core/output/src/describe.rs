//! A description for the terminal and as JSON.

use std::fmt::Write;

use crate::json::{API_VERSION, ObjectJson, to_pretty};
use crate::paint::Paint;
use meshladder_judge::describe::{Description, Fact};
use meshladder_mesh::ObjectRef;
use serde::Serialize;

/// For the terminal: a heading a question, a line an answer.
pub fn to_text(description: &Description, paint: Paint) -> String {
    let mut out = format!("{}\n", paint.bold(&description.object.to_string()));
    for section in &description.sections {
        writeln!(out, "\n{}", paint.bold(section.title)).unwrap_or_default();
        let width = section
            .facts
            .iter()
            .map(|fact| fact.about.chars().count())
            .max()
            .unwrap_or(0)
            .min(40);
        for fact in &section.facts {
            writeln!(out, "  {}", line(fact, width, &description.object)).unwrap_or_default();
        }
    }
    out
}

fn line(fact: &Fact, width: usize, about: &ObjectRef) -> String {
    let by = fact
        .by
        .as_ref()
        .filter(|by| **by != *about)
        .map(|by| format!("  [{by}]"))
        .unwrap_or_default();
    let gap = if width == 0 { "" } else { "  " };
    format!("{:width$}{gap}{}{by}", fact.about, fact.says)
        .trim_end()
        .to_owned()
}

/// As JSON v1.
pub fn to_json(description: &Description) -> String {
    let mut sections = Vec::new();
    for section in &description.sections {
        sections.push(SectionJson {
            title: section.title,
            facts: section.facts.iter().map(FactJson::from).collect(),
        });
    }
    let description = DescriptionJson {
        api_version: API_VERSION,
        kind: "Description",
        object: ObjectJson::from(&description.object),
        sections,
    };
    to_pretty(&description, 4)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DescriptionJson<'a> {
    api_version: &'static str,
    kind: &'static str,
    object: ObjectJson<'a>,
    sections: Vec<SectionJson<'a>>,
}

#[derive(Serialize)]
struct SectionJson<'a> {
    title: &'static str,
    facts: Vec<FactJson<'a>>,
}

#[derive(Serialize)]
struct FactJson<'a> {
    about: &'a str,
    says: &'a str,
    by: Option<ObjectJson<'a>>,
}

impl<'a> From<&'a Fact> for FactJson<'a> {
    fn from(fact: &'a Fact) -> Self {
        Self {
            about: &fact.about,
            says: &fact.says,
            by: fact.by.as_ref().map(ObjectJson::from),
        }
    }
}
