use super::*;
use crate::tree::{MAX_DEPTH, Value};

mod limits;
mod mutations;
mod places;
mod scalars;

/// The compact JSON text of a tree.
fn json(node: &Node) -> String {
    let quoted = |text: &str| serde_json::to_string(text).expect("strings are JSON");
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(text) => text.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(","))
        }
        Value::Object(members) => {
            let pair = |m: &crate::tree::Member| format!("{}:{}", quoted(&m.key), json(&m.value));
            format!(
                "{{{}}}",
                members.iter().map(pair).collect::<Vec<_>>().join(",")
            )
        }
    }
}

fn documents(text: &str) -> Vec<String> {
    load(text).documents.iter().map(json).collect()
}

/// The one document of a text without problems.
fn sound(text: &str) -> Node {
    let YamlStream {
        mut documents,
        problems,
    } = load(text);
    assert_eq!(problems, [], "{text}");
    assert_eq!(documents.len(), 1, "{text}");
    documents.remove(0)
}

fn problems(text: &str) -> Vec<(usize, String)> {
    load(text)
        .problems
        .into_iter()
        .map(|fault| (fault.at, fault.what))
        .collect()
}

#[test]
fn documents_are_told_apart_by_their_markers() {
    for (text, expected) in [
        ("a: 1\n---\nb: 2\n", &[r#"{"a":1}"#, r#"{"b":2}"#][..]),
        ("--- a\n--- 'b'\n---\tc\n", &[r#""a""#, r#""b""#, r#""c""#]),
        ("a: 1\n...\nb: 2\n", &[r#"{"a":1}"#, r#"{"b":2}"#]),
        (
            "a: 1\n...\n# c\n---\nb: 2\n...\n",
            &[r#"{"a":1}"#, r#"{"b":2}"#],
        ),
        (
            "a: ---b\nc: x\n  --- y\n",
            &[r#"{"a":"---b","c":"x --- y"}"#],
        ),
        ("---x: 1\n", &[r#"{"---x":1}"#]),
        (
            "a: |\n  ---\n  x\n---\nb: 1",
            &[r#"{"a":"---\nx\n"}"#, r#"{"b":1}"#],
        ),
        ("a: |\n  x\n--- |\n  y", &[r#"{"a":"x\n"}"#, r#""y""#]),
        (
            "---\r\na: 1\r\n---\r\nb: |\r\n  x\r\n  y\r\n",
            &[r#"{"a":1}"#, r#"{"b":"x\ny\n"}"#],
        ),
        ("\u{feff}---\na: 1\n", &[r#"{"a":1}"#]),
        ("\u{feff}a: 1\n", &[r#"{"a":1}"#]),
        (
            "%YAML 1.1\n---\na: 1\n...\n%TAG !y! tag:yaml.org,2002:\n# c\n---\nb: !y!str 2\n",
            &[r#"{"a":1}"#, r#"{"b":"2"}"#],
        ),
    ] {
        assert_eq!(documents(text), expected, "{text}");
        assert_eq!(problems(text), [], "{text}");
    }
}

#[test]
fn documents_without_content_give_nothing() {
    for text in [
        "",
        "\n \n",
        "# c\n",
        "---\n",
        "---\n# c\n---\n\n...\n",
        "--- # c\n...\n---",
        "\u{feff}",
        "...\n...\n",
    ] {
        assert_eq!(load(text), YamlStream::default(), "{text:?}");
    }
    assert_eq!(
        documents("# Source: a.yaml\n---\n# Source: b.yaml\na: 1\n---\n# end\n"),
        [r#"{"a":1}"#]
    );
    assert_eq!(documents("--- null\n--- ''\n"), ["null", "\"\""]);
}

#[test]
fn a_broken_document_is_a_problem_and_the_others_are_loaded() {
    for broken in [
        "b: [1, 2",
        "b: {x",
        "b: \"x",
        "b: 'x",
        "b: c: d",
        "b:\n\tc: 1",
        "b: @x",
        "- a\nb",
        "&",
        "b: {{ x }",
    ] {
        let text = format!("a: é\n---\n{broken}\n---\nc: 3\n...\nd: 4\n");
        let YamlStream {
            documents,
            problems,
        } = load(&text);
        let documents: Vec<_> = documents.iter().map(json).collect();
        assert_eq!(
            documents,
            [r#"{"a":"é"}"#, r#"{"c":3}"#, r#"{"d":4}"#],
            "{broken}"
        );
        assert_eq!(problems.len(), 1, "{broken}");
        let inside = "a: é\n---\n".len()..="a: é\n---\n\n".len() + broken.len();
        assert!(inside.contains(&problems[0].at), "{broken}: {problems:?}");
    }
}

#[test]
fn a_broken_document_says_where_and_what() {
    assert_eq!(
        problems("a: 1\n---\nb:\n\tc: 1\n"),
        [(13, "a tab cannot be used as indentation".to_owned())]
    );
    assert_eq!(
        problems("é: b: c\n"),
        [(
            5,
            "mapping values are not allowed in this context".to_owned()
        )]
    );
    assert_eq!(
        problems("é: [1, 2\n"),
        [(4, "unclosed bracket '['".to_owned())]
    );
}

#[test]
fn tabs_may_stand_where_they_do_not_indent() {
    assert_eq!(
        json(&sound("a:\t1\t# c\nb: [\t1,\n\t2 ]\nc: |\n  x\ty\n\n")),
        r#"{"a":1,"b":[1,2],"c":"x\ty\n"}"#
    );
}

#[test]
fn strings_are_read_in_every_style() {
    for (text, expected) in [
        ("a: 'it''s'", "it's"),
        ("a: \"\\x41\\u00e9\\U0001F600\\n\\e\"", "Aé😀\n\u{1b}"),
        ("a: \"\\ud83d\\ude00\"", "😀"),
        ("a: x\n  y\n\n  z", "x y\nz"),
        ("a: |\n  x\n   y\n\n", "x\n y\n"),
        ("a: |-\n  x\n\n", "x"),
        ("a: |\n  x", "x"),
        ("a: >+\n  x\n  y ", "x y "),
        ("a: |\n  x\n  ", "x\n"),
        ("a: |+\n  x\n\n", "x\n\n"),
        ("a: |2\n    x\n", "  x\n"),
        ("a: >\n  x\n  y\n\n  z\n", "x y\nz\n"),
        ("a: http://x:80/#y", "http://x:80/#y"),
        ("a: x # c", "x"),
    ] {
        assert_eq!(sound(text).str_at("a"), Some(expected), "{text}");
    }
}

#[test]
fn the_last_of_duplicate_keys_counts_and_is_reported_with_the_line_of_the_first() {
    let text = "x: 1\n---\nspec:\n  a: 1\n  b: 2\n  a: 3\n  \"a\": 4\n";
    assert_eq!(documents(text)[1], r#"{"spec":{"b":2,"a":4}}"#);
    let what = "duplicate key `a`, first on line 4".to_owned();
    assert_eq!(problems(text), [(31, what.clone()), (38, what)]);
    assert_eq!(
        problems("80: a\n'80': b\n"),
        [(6, "duplicate key `80`, first on line 1".to_owned())]
    );
}

#[test]
fn duplicate_keys_are_found_among_many() {
    let keys: Vec<_> = (0..1000).map(|i| format!("k{i}: {i}\n")).collect();
    let text = keys.concat() + "k500: again\n";
    assert_eq!(
        problems(&text),
        [(
            text.len() - 12,
            "duplicate key `k500`, first on line 501".to_owned()
        )]
    );
    let root = load(&text).documents.remove(0);
    assert_eq!(
        (root.members().len(), root.str_at("k500")),
        (1000, Some("again"))
    );
}

#[test]
fn merge_keys_are_expanded_as_go_yaml_does() {
    for (merge, expected) in [
        ("<<: *a\nw: 9", r#"{"x":1,"w":9}"#),
        ("<<: [*a, *b]", r#"{"z":4,"x":1,"w":2}"#),
        ("<<: {x: 7}\nk: v", r#"{"x":7,"k":"v"}"#),
        // The merge type's document wants the 9 to stay; go-yaml v2, and so Kubernetes, lets the
        // later one win.
        ("w: 9\n<<: *a", r#"{"x":1,"w":2}"#),
        ("!!merge '<<': *a", r#"{"x":1,"w":2}"#),
        ("! '<<': *a", r#"{"x":1,"w":2}"#),
        ("'<<': *a", r#"{"<<":{"x":1,"w":2}}"#),
    ] {
        let text = format!(
            "a: &a {{x: 1, w: 2}}\nb: &b {{x: 3, z: 4}}\nm:\n  {}\n",
            merge.replace('\n', "\n  ")
        );
        assert_eq!(
            sound(&text).get("m").map(json).as_deref(),
            Some(expected),
            "{merge}"
        );
    }
    for merge in ["<<: 1", "<<:", "<<: [{}, 1]"] {
        assert_eq!(problems(merge).len(), 1, "{merge}");
    }
    assert_eq!(
        problems("<<: {x: 1}\nx: 2\nx: 3\n"),
        [(16, "duplicate key `x`, first on line 2".to_owned())]
    );
}

#[test]
fn aliases_repeat_their_anchor() {
    let text = "a: &a [1, &b x]\nb: *a\nc: *b\n*b : &a 2\nd: *a\n";
    assert_eq!(
        json(&sound(text)),
        r#"{"a":[1,"x"],"b":[1,"x"],"c":"x","x":2,"d":2}"#
    );
    assert_eq!(
        problems("a: *b\nb: &b 1\n"),
        [(3, "no anchor `&b` stands before this alias".to_owned())]
    );
    assert_eq!(documents("a: *b\nb: &b 1\n"), [r#"{"a":null,"b":1}"#]);
    let own = "a: &a\n  b: *a\n  c: 1\n";
    assert_eq!(
        problems(own),
        [(
            11,
            "the alias stands inside the value of its own anchor".to_owned()
        )]
    );
    assert_eq!(documents(own), [r#"{"a":{"b":null,"c":1}}"#]);
    assert_eq!(
        problems("a: &a 1\n---\nb: *a\n").len(),
        1,
        "anchors end with their document"
    );
}

#[test]
fn json_is_read_the_same_with_and_without_a_yaml_parser() {
    for text in [
        r#"{"a": [1, -2.5e+3, "x\n\/\u00e9\ud83d\ude00", true, false, null], "é": {"b": {}, "c": []}}"#,
        "[\n\t{\"a\":1,\n\t\"b\":2}\n]",
        r#"{"y": "y", "1.10": 1.10, "<<": {"a": 1}, "k": "<<"}"#,
        r#"{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}"#,
    ] {
        let whole = format!("x: é\n---\n{text}\n");
        let part = &split(&whole)[1];
        let quick = part.json().expect("the document is JSON");
        assert_eq!(
            quick,
            EventReader::new(part, YamlLimits::default()).run(),
            "{text}"
        );
        let value: serde_json::Value = serde_json::from_str(text).expect("the document is JSON");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&json(&quick.documents[0])).ok(),
            Some(value),
            "{text}"
        );
    }
    assert_eq!(
        documents("{\"a\":1}\n---\n{\"b\":2}\n---\nc: 3\n"),
        [r#"{"a":1}"#, r#"{"b":2}"#, r#"{"c":3}"#]
    );
    assert_eq!(
        documents("---{a: 1}\n"),
        [r#"{"---{a":"1}"}"#],
        "this is no marker"
    );
    assert_eq!(documents("{a: 1, \"b\":2,}\n"), [r#"{"a":1,"b":2}"#]);
}

#[test]
fn parts_know_their_bytes_and_their_line() {
    let text = "# c\na: 1\n---\nb: 2\n...\n\n%YAML 1.1\n---\nc: 3\n---\n";
    let parts: Vec<_> = split(text)
        .into_iter()
        .map(|part| (part.as_str(), part.line()))
        .collect();
    let expected = [
        ("# c\na: 1\n", 1),
        ("---\nb: 2\n...\n", 3),
        ("\n%YAML 1.1\n---\nc: 3\n", 6),
        ("---\n", 10),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn yaml_between_brackets_is_no_json() {
    for (text, expected) in [
        (r#"{"kind": "Pod"}"#, true),
        ("\u{feff} [\n {\"a\": 1}]", true),
        ("{}", true),
        ("{", true),
        ("{kind: Pod}", false),
        ("{ # why\n  kind: Pod}", false),
        ("[{kind: Pod}]", false),
        ("{\"kind\": \"Pod\"}\n---\nkind: Pod\n", false),
        ("kind: Pod", false),
    ] {
        assert_eq!(is_json(text), expected, "{text}");
    }
}
