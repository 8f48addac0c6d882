use super::*;

/// What stands in the text where the value at `pointer` is said to be.
fn slice<'a>(text: &'a str, pointer: &str) -> &'a str {
    let root = load(text).documents.remove(0);
    let node = root.pointer(pointer).expect("it is there");
    &text[node.span.range()]
}

#[test]
fn every_value_stands_where_its_span_says() {
    let text = "\u{feff}# ünïcödé 😀\n\
        plain: a b c  # c\n\
        many: x\n  y  # c\n\
        single: 'it''s'\n\
        double: \"é\\n\"\n\
        flow: [1, {a: ü, b: }, ]\n\
        block:\n  k: v\n\n  # c\n  l: w\n\n# c\n\
        list:\n  - a\n  # c\n  - b: 1\n    c: 2\n\n\
        same:\n- a\n-\n- - x\n  - y\n\
        tagged: !!str &t 5\n\
        anchored: &m\n  a: 1\n\
        alias: *m\n\
        nothing:\n\
        spaced :   # c\n\
        last: z\n";
    for (pointer, expected) in [
        ("/plain", "a b c"),
        ("/many", "x\n  y"),
        ("/single", "'it''s'"),
        ("/double", "\"é\\n\""),
        ("/flow", "[1, {a: ü, b: }, ]"),
        ("/flow/0", "1"),
        ("/flow/1", "{a: ü, b: }"),
        ("/flow/1/a", "ü"),
        ("/block", "k: v\n\n  # c\n  l: w"),
        ("/list", "- a\n  # c\n  - b: 1\n    c: 2"),
        ("/list/1", "b: 1\n    c: 2"),
        ("/same", "- a\n-\n- - x\n  - y"),
        ("/same/1", ""),
        ("/same/2", "- x\n  - y"),
        ("/tagged", "5"),
        ("/anchored", "a: 1"),
        ("/anchored/a", "1"),
        ("/alias", "*m"),
        // The parts of what an alias repeats stand where they are written.
        ("/alias/a", "1"),
        ("/nothing", ""),
        ("/last", "z"),
    ] {
        assert_eq!(slice(text, pointer), expected, "{pointer}");
    }
    let root = sound(text);
    assert_eq!(
        &text[root.span.range()],
        &text[text.find("plain").expect("it is there")..text.len() - 1]
    );
    for name in ["nothing", "spaced "] {
        let at = text.find(name).expect("it is there") + name.len() + 1;
        assert_eq!(
            root.get(name.trim_end()).map(|n| n.span.range()),
            Some(at..at),
            "{name}"
        );
    }
}

#[test]
fn a_block_scalar_stands_from_its_indicator_to_its_last_line() {
    for (text, expected) in [
        ("é: |\n  x\n  y\n\n\nb: 1\n", "|\n  x\n  y"),
        ("é: >-  # c | >\n\n  x\nb: 1\n", ">-  # c | >\n\n  x"),
        (
            "é: # | c\n  !<tag:x,2000:a> &a|b |2+\n    x\n\nb: 1\n",
            "|2+\n    x",
        ),
        ("é: |\n\n\nb: 1\n", "|"),
        ("é: |\n# c\nb: 1\n", "|"),
        ("é: |\r\n  x\r\nb: 1\r\n", "|\r\n  x"),
        ("é: |\n  x", "|\n  x"),
    ] {
        assert_eq!(slice(text, "/é"), expected, "{text}");
    }
    for (text, expected) in [
        ("- |\n x\n- >\n  y\n", [("/0", "|\n x"), ("/1", ">\n  y")]),
        (
            "- - 1\n- - |\n   x\n",
            [("/1", "- |\n   x"), ("/1/0", "|\n   x")],
        ),
    ] {
        for (pointer, expected) in expected {
            assert_eq!(slice(text, pointer), expected, "{text}");
        }
    }
    assert_eq!(slice("%YAML 1.1\n--- # |\n  |\n x\n", ""), "|\n x");
    let text = "? |\n  k\n: v\n";
    assert_eq!(&text[sound(text).members()[0].key_span.range()], "|\n  k");
}

#[test]
fn keys_stand_where_their_span_says() {
    let text = "é: 1\n\"ü\\n\": 2\n'x' : 3\n? y z\n: 4\n!!str &k 5: 6\n*k : 7\n";
    let root = load(text).documents.remove(0);
    let keys: Vec<_> = root
        .members()
        .iter()
        .map(|m| (&*m.key, &text[m.key_span.range()]))
        .collect();
    assert_eq!(
        keys,
        [
            ("é", "é"),
            ("ü\n", "\"ü\\n\""),
            ("x", "'x'"),
            ("y z", "y z"),
            ("5", "*k")
        ]
    );
    let flow = "{é: 1, \"b\": 2, [c]: 3}";
    let root = load(flow).documents.remove(0);
    let keys: Vec<_> = root
        .members()
        .iter()
        .map(|m| &flow[m.key_span.range()])
        .collect();
    assert_eq!(keys, ["é", "\"b\"", "[c]"]);
}

#[test]
fn merged_members_stand_where_they_are_written() {
    let text = "a: &a\n  é: 1\nb:\n  <<: *a\n  c: 2\n";
    let root = sound(text);
    let merged = &root.get("b").expect("it is there").members()[0];
    assert_eq!(
        (merged.key_span.range(), merged.value.span.range()),
        (8..10, 12..13)
    );
    assert_eq!(slice(text, "/b"), "<<: *a\n  c: 2");
}

#[test]
fn later_documents_stand_where_their_spans_say() {
    let text = "a: 😀\n---\n[bro\n---\nb: ü\n---\n{\"c\": \"ß\"}\n--- {\"d\": 1}\n";
    let loaded = load(text);
    let whole: Vec<_> = loaded
        .documents
        .iter()
        .map(|root| &text[root.span.range()])
        .collect();
    assert_eq!(whole, ["a: 😀", "b: ü", "{\"c\": \"ß\"}", "{\"d\": 1}"]);
    let values: Vec<_> = loaded
        .documents
        .iter()
        .map(|root| &text[root.members()[0].value.span.range()])
        .collect();
    assert_eq!(values, ["😀", "ü", "\"ß\"", "1"]);
    assert_eq!(loaded.problems[0].at, text.find('[').expect("it is there"));
}
