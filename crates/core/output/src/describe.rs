//! A description for the terminal and as JSON.

use std::fmt::Write;

use meshladder_judge::describe::{Description, Fact, Section};
use meshladder_judge::finding::Subject;
use meshladder_mesh::ObjectRef;
use meshladder_text::json::{Raw, escape};

use super::json::{self, Style};
use super::report::Paint;

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
    let sections: Vec<String> = description.sections.iter().map(section).collect();
    let compact = format!(
        "{{\"apiVersion\":\"meshladder.dev/v1\",\"kind\":\"Description\",\"object\":{},\"sections\":[{}]}}",
        object(&description.object),
        sections.join(",")
    );
    let mut text = String::new();
    match Raw::of(&compact).map(|raw| json::write(&mut text, raw, Style::PRETTY)) {
        Ok(Ok(())) => text,
        _ => compact,
    }
}

fn section(section: &Section) -> String {
    let fact = |fact: &Fact| {
        let by = fact.by.as_ref().map_or_else(|| "null".to_owned(), subject);
        format!(
            "{{\"about\":{},\"says\":{},\"by\":{by}}}",
            escape(&fact.about),
            escape(&fact.says)
        )
    };
    let facts: Vec<String> = section.facts.iter().map(fact).collect();
    format!(
        "{{\"title\":{},\"facts\":[{}]}}",
        escape(section.title),
        facts.join(",")
    )
}

fn object(object: &ObjectRef) -> String {
    reference([&object.kind, &object.namespace, &object.name])
}

fn subject(subject: &Subject) -> String {
    reference([subject.kind(), subject.namespace(), subject.name()])
}

fn reference(parts: [&str; 3]) -> String {
    let [kind, namespace, name] = parts.map(escape);
    format!("{{\"kind\":{kind},\"namespace\":{namespace},\"name\":{name}}}")
}
