use super::*;

fn raw(doc: &str) -> Raw<'_> {
    Raw::of(doc).expect("the test's document has a value")
}

#[test]
fn members_are_walked_in_order_and_nested_values_are_skipped_whole() {
    let doc = r#" {"a": {"x": "}\"{", "y": [1, {"z": "]"}]}, "b" :[1,2], "c":-1.5e3 ,"d":null} "#;
    let seen: Vec<_> = raw(doc)
        .members()
        .map(|(k, v)| (k.into_owned(), v.text()))
        .collect();
    let expected = [
        ("a", r#"{"x": "}\"{", "y": [1, {"z": "]"}]}"#),
        ("b", "[1,2]"),
        ("c", "-1.5e3"),
        ("d", "null"),
    ];
    assert_eq!(seen, expected.map(|(k, v)| (k.to_owned(), v)));
}

#[test]
fn empty_brackets_have_no_items_and_no_fault() {
    let mut members = raw("{ }").members();
    assert!(members.next().is_none() && members.fault().is_none());
    let mut elements = raw("[]").elements();
    assert!(elements.next().is_none() && elements.fault().is_none());
}

#[test]
fn a_list_where_an_object_belongs_has_no_members() {
    assert_eq!(raw("[1]").members().count(), 0);
    assert_eq!(raw(r#"{"a":1}"#).elements().count(), 0);
    assert!(raw("[1]").get("a").is_none());
}

#[test]
fn a_document_cut_short_yields_what_is_whole_and_then_says_where_it_ends() {
    let doc = r#"[{"a":1},{"b":2},{"c":"#;
    let mut elements = raw(doc).elements();
    assert_eq!(elements.by_ref().count(), 2);
    assert_eq!(
        elements.fault(),
        Some(&TextFault::new(doc.len(), "the document is cut short"))
    );
}

#[test]
fn a_missing_comma_or_colon_is_a_fault_with_its_place() {
    let mut elements = raw("[1 2]").elements();
    assert_eq!(elements.by_ref().count(), 1);
    assert_eq!(elements.fault().map(|f| f.at), Some(3));
    let mut members = raw(r#"{"a" 1}"#).members();
    assert_eq!(members.by_ref().count(), 0);
    assert_eq!(members.fault().map(|f| f.at), Some(5));
}

#[test]
fn strings_are_unescaped_and_broken_escapes_become_a_replacement_character() {
    for (inside, expected) in [
        (r"plain", "plain"),
        (r#"a\"b\\c\/d\n\t"#, "a\"b\\c/d\n\t"),
        (r"\u00e9\ud83d\ude00", "é😀"),
        (r"\ud83d", "\u{fffd}"),
        (r"\ud83dx", "\u{fffd}x"),
        (r"\q", "\u{fffd}"),
        (r"\u12", "\u{fffd}"),
    ] {
        assert_eq!(unescape(inside), expected, "{inside}");
    }
}

#[test]
fn numbers_may_be_strings_as_proto3_writes_64_bit_integers() {
    assert_eq!(raw("7").number(), Some(7));
    assert_eq!(raw(r#""18446744073709551615""#).number(), Some(u64::MAX));
    assert_eq!(raw("NaN").number(), None);
    assert_eq!(raw("[7]").number(), None);
}

#[test]
fn deep_nesting_is_skipped_without_recursion() {
    let doc = format!("[{}{},1]", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(raw(&doc).elements().count(), 2);
}

#[test]
fn the_strict_reading_agrees_with_serde_json() {
    for doc in [
        "{}",
        "[]",
        "[[],{}]",
        r#"{"a":{"b":[1,-2.5e+3,true,false,null,"x\u0041"]}}"#,
        " 1 ",
        "\"\"",
        "-0",
        "0.1",
        "",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{,}",
        "[,1]",
        "[1 2]",
        "{\"a\" 1}",
        "{a:1}",
        "NaN",
        "[NaN]",
        "01",
        "1.",
        "1e",
        "-",
        "\"\u{1}\"",
        r#""\x""#,
        r#""\u12g4""#,
        "[1]]",
        "{\"a\":1]",
        "tru",
        "nul",
        "1 2",
        "\"abc",
        "[\"a\":1]",
    ] {
        let strict = check(doc).is_ok();
        let serde = serde_json::from_str::<serde_json::Value>(doc).is_ok();
        assert_eq!(strict, serde, "{doc:?}: {:?}", check(doc));
    }
}

#[test]
fn the_strict_reading_refuses_nesting_that_no_reader_should_follow() {
    let doc = "[".repeat(100_000);
    assert_eq!(
        check(&doc).map_err(|f| f.what),
        Err("nested too deep".to_owned())
    );
}

/// The names of the third level, read in one pass.
fn third_level(doc: &str) -> (Vec<String>, Option<TextFault>) {
    let mut names = Vec::new();
    let mut cursor = raw(doc).cursor();
    cursor.members(|key, value| {
        if key == "configs" {
            value.elements(|config| {
                config.members(|key, value| {
                    if key == "name" {
                        names.extend(value.string().map(Cow::into_owned));
                    }
                });
            });
        }
    });
    (names, cursor.fault())
}

#[test]
fn a_cursor_reads_what_is_asked_and_skips_the_rest() {
    let doc = r#"{"other":[{"name":"no"}],"configs":[{"x":{"name":"no"},"name":"a"},{},7,{"name":"b"}],"name":"no"}"#;
    assert_eq!(
        third_level(doc),
        (vec!["a".to_owned(), "b".to_owned()], None)
    );
}

#[test]
fn a_cursor_says_where_a_document_is_cut_or_broken() {
    let doc = r#"{"configs":[{"name":"a"},{"name":"b","x":{"#;
    let (names, fault) = third_level(doc);
    assert_eq!(names, ["a", "b"]);
    assert_eq!(
        fault,
        Some(TextFault::new(doc.len(), "the document is cut short"))
    );
    let (names, fault) = third_level(r#"{"configs":[{"name":"a"} {"name":"b"}]}"#);
    assert_eq!(names, ["a"]);
    assert_eq!(fault.map(|f| f.at), Some(25));
}

#[test]
fn what_is_escaped_reads_back_as_it_was() {
    let text = "a\"b\\c\n\r\t\u{1}é😀";
    let quoted = escape(text);
    assert!(check(&quoted).is_ok());
    assert_eq!(raw(&quoted).string().as_deref(), Some(text));
}

#[test]
fn a_document_that_is_a_string_may_end_early_or_in_white_space() {
    assert_eq!(raw("\"a\" \n").string().as_deref(), Some("a"));
    assert_eq!((raw("\"").string(), raw("\"a").string()), (None, None));
}

#[test]
fn brackets_in_strings_are_skipped_with_their_string() {
    for doc in [
        r#"[{"a":"{","b":"}}","c":"\\\"}","d":{}},1]"#,
        "[{\n \"a\": \"}\",\n \"{\": \"x\\\"}\"\n},\n1]",
        "[{\"k\":\"\\\\\"},1]",
        "[{ \"a\": \"{{{{\", \"b\": [\"]\", \"}\"] },\n 1]",
    ] {
        let texts: Vec<_> = raw(doc).elements().map(Raw::text).collect();
        assert_eq!((texts.len(), texts[1]), (2, "1"), "{doc}");
        assert!(check(texts[0]).is_ok(), "{doc}: {}", texts[0]);
    }
}

#[test]
fn a_string_full_of_brackets_costs_no_more_than_its_length() {
    let doc = format!("[{{\"a\":\"{}\"}},1]", "{".repeat(4_000_000));
    assert_eq!(raw(&doc).elements().count(), 2);
}
