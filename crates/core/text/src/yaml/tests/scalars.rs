use super::*;

/// The JSON of a value written as the value of a key.
fn value(text: &str) -> String {
    json(
        sound(&format!("v: {text}\n"))
            .get("v")
            .expect("it is there"),
    )
}

#[test]
fn words_for_true_false_and_null_are_those_of_yaml_1_1() {
    for word in [
        "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON",
    ] {
        assert_eq!(value(word), "true", "{word}");
    }
    for word in [
        "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF",
    ] {
        assert_eq!(value(word), "false", "{word}");
    }
    for word in ["", "~", "null", "Null", "NULL"] {
        assert_eq!(value(word), "null", "{word}");
    }
    for word in [
        "yES", "tRUE", "nULL", "oN", "t", "f", "none", "nil", "yes.", "trueish", "~x", "é", "=",
        "<<",
    ] {
        assert_eq!(value(word), format!("{word:?}"), "{word}");
    }
}

#[test]
fn integers_are_written_as_json_writes_them() {
    for (text, expected) in [
        ("0", "0"),
        ("42", "42"),
        ("-7", "-7"),
        ("+5", "5"),
        ("-0", "0"),
        ("+0", "0"),
        ("1_000", "1000"),
        ("1__0_", "10"),
        ("+685_230", "685230"),
        ("0x10", "16"),
        ("0XfF", "255"),
        ("0x_0A_74_AE", "685230"),
        ("-0x10", "-16"),
        ("0b1010_0111_0100_1010_1110", "685230"),
        ("-0b101010", "-42"),
        ("0o17", "15"),
        ("0O17", "15"),
        ("0123", "83"),
        ("02472256", "685230"),
        ("-017", "-15"),
        ("00", "0"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"),
        ("0xffffffffffffffff", "18446744073709551615"),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn floats_are_written_as_json_writes_them() {
    for (text, expected) in [
        ("0.5", "0.5"),
        ("1.10", "1.10"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("+.5e-3", "0.5e-3"),
        ("1.", "1"),
        ("-1.e3", "-1e3"),
        ("6.8523e+5", "6.8523e+5"),
        ("685.230_15e+03", "685.23015e+03"),
        ("685_230.15", "685230.15"),
        (".1_8", "0.18"),
        ("-._8", "-0.8"),
        ("12e03", "12e03"),
        ("123456E1", "123456E1"),
        ("007.5", "7.5"),
        // Not octal, so go-yaml takes them for floats.
        ("08", "8"),
        ("-09", "-9"),
        // Too large for an integer.
        ("18446744073709551616", "18446744073709551616"),
        ("+18446744073709551615", "18446744073709551615"),
        ("-9223372036854775809", "-9223372036854775809"),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn what_only_looks_like_a_number_is_a_string() {
    for text in [
        "1.2.3",
        "1e",
        "1e+",
        "e5",
        ".",
        "..",
        "+",
        "-x",
        "+x",
        "0x",
        "0b",
        "0o",
        "0xg",
        "0b2",
        "0o8",
        "_1",
        "._8",
        ".8_",
        "1e999",
        "1 2",
        "12s",
        "100m",
        "1Gi",
        "10.0.0.1",
        "10.0.0.0/8",
        "::1",
        "1:30",
        "190:20:30",
        "2001-12-14",
        "2001-12-14t21:59:43.10-05:00",
        "50cent_of_dollar",
        "-b_c",
        "+b_c",
        "v1",
        "-",
        "--",
        "0x1p3",
        "1f",
        "0x1ffffffffffffffff",
        "inf",
        "nan",
        "NaN",
        ".infinity",
    ] {
        let text = if text == "-" { "'-'" } else { text };
        assert_eq!(
            value(text),
            format!("{:?}", text.trim_matches('\'')),
            "{text}"
        );
    }
}

#[test]
fn quoted_and_block_scalars_are_strings_whatever_they_say() {
    for (text, expected) in [
        ("'yes'", "\"yes\""),
        ("\"1\"", "\"1\""),
        ("''", "\"\""),
        ("|-\n  1", "\"1\""),
        (">-\n  null", "\"null\""),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn infinities_stay_strings_and_are_reported() {
    for text in [
        ".inf", ".Inf", ".INF", "+.inf", "-.INF", ".nan", ".NaN", ".NAN",
    ] {
        let whole = format!("é: {text}\n");
        assert_eq!(documents(&whole), [format!("{{\"é\":\"{text}\"}}")]);
        assert_eq!(
            problems(&whole),
            [(4, format!("`{text}` cannot be written as JSON"))]
        );
    }
}

#[test]
fn tags_say_what_a_scalar_is() {
    for (text, expected) in [
        ("!!str 1", "\"1\""),
        ("!!str", "\"\""),
        ("!!str null", "\"null\""),
        ("!!int '0x10'", "16"),
        ("!!float '1.1'", "1.1"),
        ("!!float -1", "-1"),
        ("!!bool 'on'", "true"),
        ("!!null ''", "null"),
        ("!!null", "null"),
        ("!!binary aGk=", "\"hi\""),
        ("!!binary |\n  aG\n  k=", "\"hi\""),
        ("!!binary gIGC", "\"\u{fffd}\u{fffd}\u{fffd}\""),
        ("!!timestamp 2001-12-14", "\"2001-12-14\""),
        ("!<tag:yaml.org,2002:int> '7'", "7"),
        ("! test", "\"test\""),
        ("! 12", "\"12\""),
        ("!", "\"\""),
        ("!custom 12", "\"12\""),
        ("!!unknown yes", "\"yes\""),
        ("!custom {a: 1}", "{\"a\":1}"),
        ("!!map {a: 1}", "{\"a\":1}"),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
    for (text, expected) in [
        ("!!int x", "`x` is not a !!int"),
        ("!!int 1.5", "`1.5` is not a !!int"),
        ("!!int 7.", "`7.` is not a !!int"),
        ("!!int 09", "`09` is not a !!int"),
        ("!!int .inf", "`.inf` is not a !!int"),
        ("!!float error", "`error` is not a !!float"),
        ("!!bool 1", "`1` is not a !!bool"),
        ("!!null x", "`x` is not a !!null"),
        ("!!binary ==", "!!binary value is not base64"),
    ] {
        let whole = format!("v: {text}\n");
        let at = whole.rfind(' ').expect("there is a space") + 1;
        assert_eq!(problems(&whole), [(at, expected.to_owned())], "{text}");
        assert_eq!(
            load(&whole).documents[0].str_at("v"),
            Some(&whole[at..whole.len() - 1]),
            "{text}"
        );
    }
}

#[test]
fn keys_that_are_not_strings_become_strings() {
    for (key, expected) in [
        ("80", "80"),
        ("0x50", "80"),
        ("010", "8"),
        ("-1", "-1"),
        ("y", "true"),
        ("on", "true"),
        ("No", "false"),
        ("1.10", "1.1"),
        ("0.5", "0.5"),
        ("1e3", "1000"),
        ("123456.0", "123456"),
        ("1234567.0", "1.234567e+06"),
        ("0.00001", "1e-05"),
        ("1e39", ".inf"),
        ("18446744073709551616", "1.8446744e+19"),
        ("'y'", "y"),
        ("\"1.10\"", "1.10"),
        ("!!str 1.10", "1.10"),
        ("2001-12-14", "2001-12-14"),
        ("? x\n", "x"),
        ("? |-\n  x\n", "x"),
    ] {
        let root = sound(&format!("{key}: v\n"));
        assert_eq!(root.members().len(), 1, "{key}");
        assert_eq!(&*root.members()[0].key, expected, "{key}");
    }
}

#[test]
fn what_cannot_be_a_key_is_reported_and_kept_as_written() {
    assert_eq!(
        problems("é: 1\n~: x\n"),
        [(6, "null cannot be a key".to_owned())]
    );
    assert_eq!(documents("~: x\n"), [r#"{"null":"x"}"#]);
    let template = "name: {{ .Values.name }}\n";
    assert_eq!(
        problems(template),
        [(7, "a mapping or a list cannot be a key".to_owned())]
    );
    assert_eq!(
        documents(template),
        [r#"{"name":{"{ .Values.name }":null}}"#]
    );
    assert_eq!(documents("? [a, b]\n: c\n"), [r#"{"[a, b]":"c"}"#]);
}
