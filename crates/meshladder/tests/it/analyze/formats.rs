//! SARIF and JUnit, held to what their specifications ask for.

use serde_json::Value;

use super::{ALL, file};
use crate::support::{meshladder, with_stdin};

/// The properties that SARIF 2.1.0 gives the objects we write: name, type, and `!` for those that
/// must be there. A type is a JSON type, `[type]` for an array, or an object of this table. All of
/// these objects close themselves to others.
const SARIF: &[(&str, &str)] = &[
    ("log", "$schema:string version!:string runs!:[run]"),
    ("run", "tool!:tool columnKind:string results:[result]"),
    ("tool", "driver!:driver"),
    (
        "driver",
        "name!:string semanticVersion:string informationUri:string rules:[rule]",
    ),
    (
        "rule",
        "id!:string name:string shortDescription:message fullDescription:message help:message defaultConfiguration:configuration properties:bag",
    ),
    ("configuration", "level:string"),
    ("bag", "tags:[string]"),
    ("message", "text!:string markdown:string"),
    (
        "result",
        "ruleId:string ruleIndex:integer level:string message!:message locations:[location] relatedLocations:[location] codeFlows:[codeFlow] fixes:[fix] partialFingerprints:strings",
    ),
    (
        "location",
        "id:integer physicalLocation:physicalLocation logicalLocations:[logicalLocation] message:message",
    ),
    ("logicalLocation", "fullyQualifiedName:string kind:string"),
    (
        "physicalLocation",
        "artifactLocation:artifactLocation region:region",
    ),
    ("artifactLocation", "uri:string"),
    (
        "region",
        "startLine:integer startColumn:integer endLine:integer endColumn:integer",
    ),
    ("codeFlow", "threadFlows!:[threadFlow]"),
    ("threadFlow", "locations!:[step]"),
    ("step", "location:location"),
    (
        "fix",
        "description:message artifactChanges!:[artifactChange]",
    ),
    (
        "artifactChange",
        "artifactLocation!:artifactLocation replacements!:[replacement]",
    ),
    (
        "replacement",
        "deletedRegion!:region insertedContent:message",
    ),
];

/// What is wrong with a value that should be of a type.
fn faults(value: &Value, kind: &str, at: &str, out: &mut Vec<String>) {
    if let Some(inner) = kind
        .strip_prefix('[')
        .and_then(|kind| kind.strip_suffix(']'))
    {
        let Some(items) = value.as_array() else {
            return out.push(format!("{at}: no array"));
        };
        items
            .iter()
            .enumerate()
            .for_each(|(i, item)| faults(item, inner, &format!("{at}/{i}"), out));
        return;
    }
    let Some((_, properties)) = SARIF.iter().find(|(name, _)| *name == kind) else {
        let fits = match kind {
            "string" => value.is_string(),
            "integer" => value.as_u64().is_some(),
            "strings" => value
                .as_object()
                .is_some_and(|object| object.values().all(Value::is_string)),
            kind => panic!("the table knows no {kind}"),
        };
        out.extend((!fits).then(|| format!("{at}: no {kind}")));
        return;
    };
    let Some(object) = value.as_object() else {
        return out.push(format!("{at}: no object"));
    };
    let properties: Vec<(&str, &str)> = properties
        .split(' ')
        .filter_map(|word| word.split_once(':'))
        .collect();
    for (name, _) in properties
        .iter()
        .filter_map(|(name, kind)| Some((name.strip_suffix('!')?, kind)))
    {
        if !object.contains_key(name) {
            out.push(format!("{at}: lacks {name}"));
        }
    }
    for (key, value) in object {
        match properties
            .iter()
            .find(|(name, _)| name.trim_end_matches('!') == key)
        {
            Some((_, kind)) => faults(value, kind, &format!("{at}/{key}"), out),
            None => out.push(format!("{at}: {key} is no property of {kind}")),
        }
    }
}

fn sarif(words: &[&str]) -> Value {
    let run = meshladder(&[&["analyze", "-o", "sarif"], words].concat());
    let log: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let mut wrong = Vec::new();
    faults(&log, "log", "", &mut wrong);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(log["version"], "2.1.0");
    log
}

#[test]
fn sarif_is_what_its_schema_asks_for() {
    let (_folder, path) = file(ALL);
    let log = sarif(&[&path]);
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    for result in run["results"].as_array().expect("results") {
        let index =
            usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("it is small");
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("a level")));
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
        assert!(
            uri.starts_with("file:///") && uri.ends_with("/a%20b%2Cc%25.yaml"),
            "{uri}"
        );
        let region = |name: &str| place["region"][name].as_u64().expect("a number");
        assert!(region("startLine") >= 1 && region("startColumn") >= 1);
        assert!(
            (region("endLine"), region("endColumn"))
                >= (region("startLine"), region("startColumn"))
        );
    }
    let of = |code: &str| {
        let results = run["results"].as_array().expect("results").iter();
        results
            .clone()
            .find(|result| result["ruleId"] == code)
            .unwrap_or_else(|| panic!("{code} is found"))
    };
    let tls = &of("ML2101")["locations"][0]["physicalLocation"]["region"];
    let region =
        ["startLine", "startColumn", "endLine", "endColumn"].map(|name| tls[name].as_u64());
    assert_eq!(region, [12, 10, 12, 24].map(Some));
    let fix = &of("ML2801")["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(
        fix["insertedContent"]["text"],
        "\n  labels:\n    istio-injection: enabled"
    );
    assert_eq!(
        (
            fix["deletedRegion"]["startLine"].as_u64(),
            fix["deletedRegion"]["endLine"].as_u64()
        ),
        (Some(4), Some(4))
    );
}

#[test]
fn sarif_without_findings_has_an_empty_list_of_results() {
    let (_folder, path) = file(ALL);
    let log = sarif(&[&path, "--ignore", "ML"]);
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(0));
}

/// The tags of a text of XML, opened ones as `name`, closed ones as `/name`; panics when it is not
/// well-formed.
fn tags(xml: &str) -> Vec<String> {
    let (mut open, mut seen) = (Vec::new(), Vec::new());
    let body = xml
        .strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
        .expect("a declaration");
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert!(is_escaped(text) && is_escaped(tag), "{piece}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag
            .trim_end_matches('/')
            .split(' ')
            .next()
            .expect("a name")
            .to_owned();
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop().as_deref(), Some(closed)),
            None if tag.ends_with('/') => {}
            None => open.push(name.clone()),
        }
        seen.push(name);
    }
    assert!(open.is_empty(), "{open:?} is left open");
    seen
}

fn is_escaped(text: &str) -> bool {
    let entities = ["amp;", "lt;", "gt;", "quot;", "#10;", "#13;", "#9;"];
    text.split('&')
        .skip(1)
        .all(|rest| entities.iter().any(|entity| rest.starts_with(entity)))
}

#[test]
fn junit_is_well_formed_and_counts_what_it_holds() {
    let odd = ALL.replace("host: db.example.com", "host: '<a href=\"x\">&</a>'");
    let run = with_stdin(&["analyze", "-", "-o", "junit"], odd.as_bytes());
    let tags = tags(&run.stdout);
    assert_eq!(tags.first().map(String::as_str), Some("testsuites"));
    let count = |name: &str| tags.iter().filter(|tag| *tag == name).count();
    let head = run.stdout.lines().nth(1).expect("a line");
    assert!(
        head.contains(&format!(
            "tests=\"{}\" failures=\"{}\"",
            count("testcase"),
            count("failure")
        )),
        "{head}"
    );
    assert!(
        count("failure") > 0 && count("testcase") > count("failure"),
        "{}",
        run.stdout
    );
    let none = with_stdin(
        &["analyze", "-", "-o", "junit", "--ignore", "ML"],
        ALL.as_bytes(),
    );
    assert_eq!(
        self::tags(&none.stdout)
            .iter()
            .filter(|tag| *tag == "testcase")
            .count(),
        1
    );
}
