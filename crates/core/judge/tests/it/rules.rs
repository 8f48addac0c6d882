//! The rules as a collection: every page complete, every example true.

use std::collections::BTreeSet;

use meshladder_capture::Kind;
use meshladder_judge::rules::{self, Lens, Rule};

use crate::expect::{expect_file, root};

mod codes;
mod example;
mod files;

use example::Example;

const HEADINGS: [&str; 6] = [
    "## What it means",
    "## Why it bites",
    "## Example",
    "## Fix",
    "## How to confirm",
    "## References",
];

/// Found by the ladder itself when nothing else decides, so no example of objects makes it fire.
const WITHOUT_EXAMPLES: [&str; 1] = ["ML0101"];

#[test]
fn codes_are_unique_and_in_order_and_names_tell_the_problem() {
    let codes: Vec<&str> = rules::all().map(|rule| rule.code).collect();
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(codes, sorted, "codes in order, none twice");
    for family in rules::FAMILIES {
        let is_sorted = family.windows(2).all(|pair| pair[0].code < pair[1].code);
        assert!(is_sorted, "the family of {}", family[0].code);
    }
    let names: BTreeSet<&str> = rules::all().map(|rule| rule.name).collect();
    assert_eq!(names.len(), codes.len(), "a name twice");
    for rule in rules::all() {
        let kebab = rule
            .name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        assert!(kebab, "{}: `{}` is not in kebab case", rule.code, rule.name);
        assert!(
            !rule.claim.ends_with('.') && !rule.claim.is_empty(),
            "{}: the claim",
            rule.code
        );
    }
}

#[test]
fn every_page_has_its_title_and_headings() {
    for rule in rules::all() {
        let title = format!("# {} {}\n", rule.code, rule.name);
        assert!(
            rule.docs.starts_with(&title),
            "{}: the page starts with `{}`",
            rule.code,
            title.trim()
        );
        for heading in HEADINGS {
            assert!(
                rule.docs.contains(heading),
                "{}: `{heading}` is missing",
                rule.code
            );
        }
    }
}

#[test]
fn every_rule_fires_on_its_examples_and_stays_quiet_on_the_others() {
    let mut wrong = Vec::new();
    for rule in rules::all().filter(|rule| !WITHOUT_EXAMPLES.contains(&rule.code)) {
        let examples = Example::all(rule.docs);
        if !examples.iter().any(|e| e.fires) || examples.iter().all(|e| e.fires) {
            wrong.push(format!(
                "{}: an example that fires and one that stays quiet",
                rule.code
            ));
        }
        wrong.extend(examples.iter().filter_map(|example| example.judge(rule)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_rule_declares_every_kind_of_object_it_reads() {
    let mut wrong = Vec::new();
    for rule in rules::all().filter(|rule| !WITHOUT_EXAMPLES.contains(&rule.code)) {
        let examples = Example::all(rule.docs);
        for lens in [Lens::Objects, Lens::Mesh] {
            let is_of_objects = matches!(lens, Lens::Objects);
            let read: BTreeSet<Kind> = examples
                .iter()
                .filter(|example| example.is_of_objects(rule) == is_of_objects)
                .flat_map(|example| example.kinds_read(rule))
                .collect();
            let (needs, uses) = (rule.needs(lens), rule.uses(lens));
            let declared: BTreeSet<Kind> =
                needs.kinds().iter().chain(uses.kinds()).copied().collect();
            let missing: Vec<_> = read.difference(&declared).collect();
            if !missing.is_empty() {
                wrong.push(format!(
                    "{}: reads {missing:?}, which is neither in `needs` nor in `uses`",
                    rule.code
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_manual_is_made_from_the_pages() {
    for rule in rules::all() {
        expect_file(&format!("docs/rules/{}.md", rule.code), rule.docs);
    }
    expect_file("docs/rules/README.md", &index());
    let known: BTreeSet<String> = rules::all()
        .map(|rule| format!("{}.md", rule.code))
        .collect();
    let folder = root().join("docs/rules");
    for entry in std::fs::read_dir(folder).expect("the manual is there") {
        let name = entry
            .expect("it can be listed")
            .file_name()
            .to_string_lossy()
            .into_owned();
        assert!(
            name == "README.md" || known.contains(&name),
            "docs/rules/{name} has no rule"
        );
    }
}

fn index() -> String {
    let row = |rule: &Rule| {
        let aka = rule.aka.join(" ");
        format!(
            "| [{0}]({0}.md) | {1} | {2} | {3} | {4} | {aka} |\n",
            rule.code,
            rule.name,
            rule.rung.id(),
            rule.severity.word(),
            rule.claim
        )
    };
    let rows: String = rules::all().map(row).collect();
    format!(
        "# Rules\n\n| code | name | rung | severity | holds when | elsewhere |\n|---|---|---|---|---|---|\n{rows}"
    )
}
