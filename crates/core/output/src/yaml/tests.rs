use super::*;
use meshladder_text::json::Raw;
use meshladder_text::tree::Span;

fn yaml(json: &str) -> String {
    text(&tree(json))
}

fn tree(json: &str) -> Node {
    Node::from_json(Raw::of(json).expect("the test's document has a value")).expect("it is JSON")
}

/// How the one string is written.
fn scalar(text: &str) -> String {
    let node = Node {
        value: Value::String(text.into()),
        span: Span::default(),
    };
    super::text(&node).trim_end_matches('\n').to_owned()
}

#[test]
fn members_are_sorted_and_sequences_stand_under_their_key() {
    let json = r#"{"name":"http.80","domains":["a","b"],"routes":[{"name":"r","match":{"prefix":"/"}},[1,[2]]]}"#;
    let expected = "\
domains:
- a
- b
name: http.80
routes:
- match:
    prefix: /
  name: r
- - 1
  - - 2
";
    assert_eq!(yaml(json), expected);
}

#[test]
fn scalars_and_empty_brackets_stand_behind_their_key() {
    let json =
        r#"{"a":null,"b":true,"c":false,"d":1.10,"e":-2e+3,"f":{},"g":[],"h":"","i":[{},[],""]}"#;
    let expected = "a: null\nb: true\nc: false\nd: 1.10\ne: -2e+3\nf: {}\ng: []\nh: \"\"\ni:\n- {}\n- []\n- \"\"\n";
    assert_eq!(yaml(json), expected);
    assert_eq!(
        (yaml("[]"), yaml("7"), yaml("\"x\"")),
        ("[]\n".to_owned(), "7\n".to_owned(), "x\n".to_owned())
    );
}

#[test]
fn items_one_after_the_other_are_the_document_of_all_of_them() {
    let list = tree(r#"[{"b":["x"],"a":1},["w"],"z\n",{}]"#);
    let mut items = String::new();
    for node in list.items() {
        write_item(&mut items, node).expect("a String takes everything");
    }
    assert_eq!(items, text(&list));
    assert_eq!(items, "- a: 1\n  b:\n  - x\n- - w\n- |\n  z\n- {}\n");
}

#[test]
fn keys_sort_as_people_count() {
    let json =
        r#"{"p10":0,"p2":0,"P":0,"p":0,"p-1":0,"p02":0,"é":0,"@type":0,"10":0,"9":0,"p2a":0}"#;
    let keys: Vec<_> = yaml(json)
        .lines()
        .map(|line| line.trim_end_matches(": 0").to_owned())
        .collect();
    assert_eq!(
        keys,
        [
            "'@type'", "\"9\"", "\"10\"", "P", "p", "p-1", "p2", "p2a", "p02", "p10", "é"
        ]
    );
}

#[test]
fn any_two_keys_have_one_order() {
    let keys = [
        "",
        "a",
        "a1",
        "a01",
        "a12",
        "a1b",
        "a2",
        "a-",
        "-",
        "0",
        "00",
        "é",
        "A",
        "a99999999999999999999999",
    ];
    for (x, y) in keys.iter().flat_map(|x| keys.map(|y| (x, y))) {
        assert_eq!(
            order::compare(x, y),
            order::compare(y, x).reverse(),
            "{x} {y}"
        );
        assert_eq!(order::compare(x, y).is_eq(), *x == y, "{x} {y}");
        for z in keys {
            let circle = order::compare(x, y).is_lt()
                && order::compare(y, z).is_lt()
                && order::compare(z, x).is_lt();
            assert!(!circle, "{x} {y} {z}");
        }
    }
}

#[test]
fn of_two_members_with_one_name_the_first_is_written() {
    assert_eq!(yaml(r#"{"b":1,"a":2,"b":3}"#), "a: 2\nb: 1\n");
}

#[test]
fn a_string_that_reads_as_itself_is_plain() {
    for text in [
        "outbound|80||cart.shop.svc.cluster.local",
        "0s",
        "/api/*",
        "a:b",
        "a#b",
        "-x",
        "?x",
        ":x",
        "x-",
        "it's",
        "say \"x\"",
        "yEs",
        "yesterday",
        "1.2.3.4",
        "10.0.0.0/8",
        "1.30.0",
        "v1",
        "0xg",
        "1e",
        "e3",
        "+",
        "_1",
        "1:60",
        "1:2:x",
        "2026-11-15T06:30:44Z/1",
        "2026-11",
        "202-11-15",
        "2026-11-15 06",
        "a, b",
        "é\u{a0}x",
    ] {
        assert_eq!(scalar(text), text);
    }
}

#[test]
fn a_string_that_reads_as_another_type_is_in_double_quotes() {
    for text in [
        "",
        "~",
        "null",
        "Null",
        "y",
        "N",
        "yes",
        "NO",
        "On",
        "off",
        "true",
        "FALSE",
        "<<",
        "=",
        "0",
        "-1",
        "+1",
        "1.5",
        "1.",
        ".5",
        "-.5",
        "1e3",
        "1.5E-7",
        "1_000",
        "0x1F",
        "-0b10",
        "0o17",
        "012",
        "08",
        ".inf",
        "-.Inf",
        ".NaN",
        "1:30",
        "-190:20:30.5",
        "2026-11-15",
        "2026-1-5",
        "2026-11-15T06:30:44Z",
        "2026-11-15t6:30:44.5+02:00",
        "2026-11-15 06:30:44",
        "2026-11-15 06:30:44 -5",
        "99999999999999999999999999",
    ] {
        assert_eq!(scalar(text), format!("\"{text}\""));
    }
}

#[test]
fn a_string_with_an_indicator_is_in_single_quotes() {
    for text in [
        "*", "@type", "#x", "x #y", "x: y", "x:", "- x", "-", "? x", ": x", "---", "...x", "[x",
        "]x", "{x", "}x", ",x", "&x", "!x", "|x", ">x", "%x", "`x", "\"x", " x", "x ", " ",
    ] {
        assert_eq!(scalar(text), format!("'{text}'"));
    }
    assert_eq!(scalar("'x': y"), "'''x'': y'");
}

#[test]
fn a_string_that_cannot_be_shown_is_escaped() {
    for (text, expected) in [
        ("a\tb", r#""a\tb""#),
        ("\0\u{7}\u{8}\u{b}\u{c}\r\u{1b}", r#""\0\a\b\v\f\r\e""#),
        ("\u{1}\u{7f}\u{85}", r#""\x01\x7F\N""#),
        ("\"\\\t", r#""\"\\\t""#),
        ("a\u{2028}b\u{2029}", r#""a\Lb\P""#),
        ("\u{feff}x", r#""\uFEFFx""#),
        ("😀", r#""\U0001F600""#),
        ("a \nb", r#""a \nb""#),
        ("a\nb ", r#""a\nb ""#),
        ("a\n\tb", r#""a\n\tb""#),
    ] {
        assert_eq!(scalar(text), expected);
    }
}

#[test]
fn lines_are_a_block_that_keeps_its_first_spaces_and_last_line_ends() {
    for (text, expected) in [
        ("a\nb", "k: |-\n  a\n  b\n"),
        ("a\nb\n", "k: |\n  a\n  b\n"),
        ("a\n\n", "k: |+\n  a\n\n"),
        ("a\n\n  b: c\n", "k: |\n  a\n\n    b: c\n"),
        (" a\nb", "k: |2-\n   a\n  b\n"),
        ("\na", "k: |2-\n\n  a\n"),
        ("\n", "k: |2+\n\n"),
    ] {
        let json = serde_json::json!({ "k": text, "l": 1 }).to_string();
        assert_eq!(yaml(&json), format!("{expected}l: 1\n"));
    }
    assert_eq!(yaml(r#"[{"a":["x\ny"]}]"#), "- a:\n  - |-\n    x\n    y\n");
    assert_eq!(yaml(r#""x\ny""#), "|-\n  x\n  y\n");
}

#[test]
fn long_strings_are_never_folded() {
    let text = "word ".repeat(100) + "end";
    assert_eq!(scalar(&text), text);
}

#[test]
fn a_key_that_is_long_or_of_several_lines_is_an_explicit_one() {
    let long = "k".repeat(129);
    assert_eq!(
        yaml(&format!(r#"{{"{long}":[1,2]}}"#)),
        format!("? {long}\n: - 1\n  - 2\n")
    );
    assert_eq!(
        yaml(&format!(r#"{{"{}":1}}"#, &long[1..])),
        format!("{}: 1\n", &long[1..])
    );
    assert_eq!(
        yaml(r#"[{"a\nb":{"c":1,"d":2}}]"#),
        "- ? |-\n    a\n    b\n  : c: 1\n    d: 2\n"
    );
}
