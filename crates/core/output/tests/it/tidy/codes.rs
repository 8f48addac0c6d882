//! The codes of other tools beside our rules.

use std::collections::BTreeSet;

use meshladder_judge::rules::{self, CODES, Code, Rule};

/// The tables in `docs/analyze.md`.
pub(super) fn as_markdown() -> String {
    let (ist, kia): (Vec<&Code>, Vec<&Code>) =
        CODES.iter().partition(|code| code.code.starts_with("IST"));
    let table = |title: &str, says: &str, codes: Vec<&Code>| {
        let rows: String = codes.into_iter().map(row).collect();
        format!("### {title}\n\n| code | {says} | level | rule |\n|---|---|---|---|\n{rows}")
    };
    format!(
        "{}\n{}",
        table("istioctl", "istioctl's name", ist),
        table("Kiali", "what is wrong", kia)
    )
}

fn row(code: &Code) -> String {
    let link = |rule: &&Rule| format!("[{0}](rules/{0}.md) {1}", rule.code, rule.name);
    let (own, ladder): (Vec<&Rule>, Vec<&Rule>) =
        of(code.code).partition(|rule| rule.is_of_objects());
    let list = |rules: &[&Rule]| rules.iter().map(link).collect::<Vec<_>>().join(", ");
    let mut said = Vec::new();
    if !own.is_empty() {
        said.push(list(&own));
    } else if let Some(why) = code.without {
        said.push(why.word().to_owned());
    } else {
        said.push("not yet".to_owned());
    }
    if !ladder.is_empty() {
        said.push(format!("`check`: {}", list(&ladder)));
    }
    format!(
        "| {} | {} | {} | {} |\n",
        code.code,
        code.says,
        code.severity.word(),
        said.join("; ")
    )
}

fn of(code: &str) -> impl Iterator<Item = &'static Rule> {
    rules::all().filter(move |rule| rule.aka.contains(&code))
}

#[test]
fn every_code_of_another_tool_has_a_rule_of_analyze_or_a_reason_why_not() {
    let has_rule = |code: &Code| of(code.code).any(Rule::is_of_objects);
    let open: Vec<&str> = CODES
        .iter()
        .filter(|c| c.without.is_none() && !has_rule(c))
        .map(|c| c.code)
        .collect();
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn a_rule_names_only_codes_that_there_are_and_they_are_in_order() {
    let known: Vec<&str> = CODES.iter().map(|code| code.code).collect();
    let unknown: BTreeSet<&str> = rules::all()
        .flat_map(|r| r.aka)
        .filter(|aka| !known.contains(aka))
        .copied()
        .collect();
    assert_eq!(unknown, BTreeSet::new());
    let mut sorted = known.clone();
    sorted.sort_unstable_by_key(|code| (!code.starts_with("IST"), !code.starts_with("KIA"), *code));
    sorted.dedup();
    assert_eq!(known, sorted);
}
