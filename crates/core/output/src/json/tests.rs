use super::*;

fn written(json: &str, style: Style) -> String {
    let mut out = String::new();
    write(
        &mut out,
        Raw::of(json).expect("the test's document has a value"),
        style,
    )
    .expect("a String takes it");
    out
}

/// The value as istioctl prints it, on one line.
fn renamed(json: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(&written(
        json,
        Style {
            drop_type: false,
            ..Style::ISTIOCTL
        },
    ))
    .expect("the output is JSON");
    value.to_string()
}

/// Asserts which names below `snake_case` change: both documents are compared as values.
fn assert_renamed(json: &str, expected: &str) {
    let expected: serde_json::Value =
        serde_json::from_str(expected).expect("the expectation is JSON");
    assert_eq!(renamed(json), expected.to_string());
}

#[test]
fn a_value_is_indented_and_its_fields_renamed() {
    let json = r#"{"name":"a_b","virtual_hosts":[{"domains":["x"],"retry_policy":{}},[]],"n":1.50,"include_x":true}"#;
    let expected = r#"{
    "name": "a_b",
    "virtualHosts": [
        {
            "domains": [
                "x"
            ],
            "retryPolicy": {}
        },
        []
    ],
    "n": 1.50,
    "includeX": true
}"#;
    assert_eq!(written(json, Style::ISTIOCTL), expected);
    assert_eq!(written(expected, Style::ISTIOCTL), expected);
}

#[test]
fn pretty_printing_leaves_every_name_alone() {
    let json = "{ \"a_b\" :\r\n[ {\"@type\":\"t\",\"c_d\":null} ] }";
    let expected = "{\n    \"a_b\": [\n        {\n            \"@type\": \"t\",\n            \"c_d\": null\n        }\n    ]\n}";
    assert_eq!(written(json, Style::PRETTY), expected);
}

#[test]
fn names_are_mapped_as_proto3_json_maps_them() {
    for (name, expected) in [
        ("http_protocol_options", "httpProtocolOptions"),
        ("http2_protocol_options", "http2ProtocolOptions"),
        ("http_1_1", "http11"),
        ("alreadyCamel", "alreadyCamel"),
        ("@type", "@type"),
        ("a__b_", "aB"),
        ("_a", "A"),
        ("ü_ü", "üü"),
    ] {
        assert_eq!(camel(name), expected);
    }
}

#[test]
fn the_type_of_the_entry_goes_and_the_types_inside_stay() {
    let json = r#"{"@type":"t/a.B","typed_config":{"@type":"t/c.D"}}"#;
    let flat = |style| written(json, style).replace(['\n', ' '], "");
    assert_eq!(
        flat(Style::ISTIOCTL),
        r#"{"typedConfig":{"@type":"t/c.D"}}"#
    );
    assert_eq!(
        flat(Style::PRETTY),
        r#"{"@type":"t/a.B","typed_config":{"@type":"t/c.D"}}"#
    );
    assert_eq!(written(r#"{"@type":"t/a.B"}"#, Style::ISTIOCTL), "{}");
}

#[test]
fn metadata_of_filters_is_data_to_the_last_level() {
    assert_renamed(
        r#"{"metadata":{"filter_metadata":{"my_filter":{"a_b":[{"c_d":1}]}},"typed_filter_metadata":{"x_y":{"@type":"t/a.B","e_f":1}}}}"#,
        r#"{"metadata":{"filterMetadata":{"my_filter":{"a_b":[{"c_d":1}]}},"typedFilterMetadata":{"x_y":{"@type":"t/a.B","eF":1}}}}"#,
    );
}

#[test]
fn metadata_of_a_node_is_data_but_a_metadata_matcher_is_a_message() {
    assert_renamed(
        r#"{"bootstrap":{"node":{"metadata":{"PROXY_CONFIG":{"discovery_address":"x"}},"user_agent_name":"e",
            "user_agent_build_version":{"metadata":{"ssl.version":"x_y","build_type":1}},
            "extensions":[{"type_urls":[],"version":{"metadata":{"a_b":1}}}]}}}"#,
        r#"{"bootstrap":{"node":{"metadata":{"PROXY_CONFIG":{"discovery_address":"x"}},"userAgentName":"e",
            "userAgentBuildVersion":{"metadata":{"ssl.version":"x_y","build_type":1}},
            "extensions":[{"typeUrls":[],"version":{"metadata":{"a_b":1}}}]}}}"#,
    );
    assert_renamed(
        r#"{"permissions":[{"metadata":{"filter":"f","value":{"string_match":{"safe_regex":{}}}}}]}"#,
        r#"{"permissions":[{"metadata":{"filter":"f","value":{"stringMatch":{"safeRegex":{}}}}}]}"#,
    );
}

#[test]
fn keys_of_maps_stay_and_their_values_are_messages() {
    for field in [
        "typed_per_filter_config",
        "typed_extension_protocol_options",
        "policies",
        "providers",
        "source_codes",
    ] {
        assert_renamed(
            &format!(r#"{{"{field}":{{"my_key":{{"shadow_rules":{{}}}}}}}}"#),
            &format!(
                r#"{{"{}":{{"my_key":{{"shadowRules":{{}}}}}}}}"#,
                camel(field)
            ),
        );
    }
    assert_renamed(
        r#"{"exact_match_map":{"map":{"a_b":{"matcher_tree":{"custom_match":{"typed_config":{}}}}}}}"#,
        r#"{"exactMatchMap":{"map":{"a_b":{"matcherTree":{"customMatch":{"typedConfig":{}}}}}}}"#,
    );
}

#[test]
fn a_list_where_another_message_has_a_map_is_a_list_of_messages() {
    assert_renamed(
        r#"{"load_balancing_policy":{"policies":[{"typed_extension_config":{}}]}}"#,
        r#"{"loadBalancingPolicy":{"policies":[{"typedExtensionConfig":{}}]}}"#,
    );
}

#[test]
fn the_same_field_is_a_map_or_a_message_depending_on_where_it_stands() {
    assert_renamed(
        r#"{"rules":[{"requires":{"requires_any":{}}}],"filter_state_rules":{"requires":{"a_b":{"requires_any":{}}}}}"#,
        r#"{"rules":[{"requires":{"requiresAny":{}}}],"filterStateRules":{"requires":{"a_b":{"requiresAny":{}}}}}"#,
    );
    assert_renamed(
        r#"{"transport_socket_matches":[{"match":{"tls_mode":"istio"},"transport_socket":{}}],"match":{"case_sensitive":true}}"#,
        r#"{"transportSocketMatches":[{"match":{"tls_mode":"istio"},"transportSocket":{}}],"match":{"caseSensitive":true}}"#,
    );
    assert_renamed(
        r#"{"google_grpc":{"config":{"a_b":1}},"config":{"root_id":"x"}}"#,
        r#"{"googleGrpc":{"config":{"a_b":1}},"config":{"rootId":"x"}}"#,
    );
}

#[test]
fn structs_are_data() {
    for field in [
        "static_layer",
        "json_format",
        "default_subset",
        "filter_context",
    ] {
        let json = format!(r#"{{"{field}":{{"a_b":{{"c_d":[{{"e_f":1}}]}}}}}}"#);
        assert_renamed(&json, &json.replace(field, &camel(field)));
    }
}

#[test]
fn the_value_of_a_typed_struct_is_data_however_deep_and_other_values_are_not() {
    for message in [
        "xds.type.v3.TypedStruct",
        "udpa.type.v1.TypedStruct",
        "google.protobuf.Struct",
    ] {
        let rest = r#""value":{"a_b":{"@type":"t/x.Y","value":{"c_d":1}}}}}"#;
        assert_renamed(
            &format!(
                r#"{{"typed_config":{{"@type":"type.googleapis.com/{message}","type_url":"u",{rest}"#
            ),
            &format!(
                r#"{{"typedConfig":{{"@type":"type.googleapis.com/{message}","typeUrl":"u",{rest}"#
            ),
        );
    }
    assert_renamed(
        r#"{"typed_config":{"@type":"t/envoy.config.accesslog.v3.X","comparison":{"value":{"default_value":1}}}}"#,
        r#"{"typedConfig":{"@type":"t/envoy.config.accesslog.v3.X","comparison":{"value":{"defaultValue":1}}}}"#,
    );
}

#[test]
fn the_type_of_an_any_does_not_reach_its_neighbours() {
    assert_renamed(
        r#"{"a":[{"@type":"t/xds.type.v3.TypedStruct","value":{"b_c":1}},{"value":{"b_c":1}}],"value":{"b_c":1}}"#,
        r#"{"a":[{"@type":"t/xds.type.v3.TypedStruct","value":{"b_c":1}},{"value":{"bC":1}}],"value":{"bC":1}}"#,
    );
}

#[test]
fn names_that_are_in_camel_case_already_are_recognized() {
    let json = r#"{"typedPerFilterConfig":{"a_b":{"cD":1}},"metadata":{"filterMetadata":{"e_f":{"g_h":1}}}}"#;
    assert_renamed(json, json);
}

#[test]
fn escapes_stay_as_they_are() {
    let json = r#"["\u003c\/\"\\ü😀",{"a\u005fb_c":"\n"}]"#;
    assert_eq!(
        written(json, Style::ISTIOCTL).replace(['\n', ' '], ""),
        r#"["\u003c\/\"\\ü😀",{"a\u005fb_c":"\n"}]"#
    );
}

#[test]
fn an_array_is_written_entry_by_entry() {
    let entries = Raw::of(r#"[{"@type":"t","a_b":1}, {}, 7]"#).expect("it has a value");
    let mut out = String::new();
    let mut array = Array::new(&mut out, Style::ISTIOCTL);
    for entry in entries.elements() {
        array.push(entry).expect("a String takes it");
    }
    array.finish().expect("a String takes it");
    assert_eq!(
        out,
        "[\n    {\n        \"aB\": 1\n    },\n    {},\n    7\n]"
    );
    let mut none = String::new();
    Array::new(&mut none, Style::PRETTY)
        .finish()
        .expect("a String takes it");
    assert_eq!(none, "[]");
}

#[test]
fn what_is_not_json_is_written_as_far_as_it_goes_and_closed() {
    for (json, expected) in [
        (r#"{"a":1,"b":[2,"#, r#"{"a":1,"b":[2]}"#),
        (r#"{"a":1,"b"#, r#"{"a":1}"#),
        (r#"{"a":1,"b":"#, r#"{"a":1}"#),
        (r#"{"a":1,"b":}"#, r#"{"a":1}"#),
        (r#"{"a":"x\"#, "{}"),
        (r#"{"a":[1}"#, r#"{"a":[1]}"#),
        ("[1 2]", "[1,2]"),
        ("[1]]", "[1]"),
        ("{1:2}", "{}"),
        ("]", ""),
        ("NaN", "NaN"),
        ("{\"é\\é", "{}"),
    ] {
        assert_eq!(
            written(json, Style::ISTIOCTL).replace(['\n', ' '], ""),
            expected,
            "{json}"
        );
    }
}

#[test]
fn what_nests_too_deep_is_written_as_it_stands() {
    let deep = format!("{}{{\"a_b\": [1,\n2]}}{}", "[".repeat(256), "]".repeat(256));
    let out = written(
        &deep,
        Style {
            indent: 0,
            ..Style::ISTIOCTL
        },
    );
    assert!(out.contains("[\n{\"a_b\": [1,\n2]}\n]"), "{out}");
    assert_eq!(out.matches(']').count(), 257);
    let hostile = written(&"[".repeat(1_000_000), Style::ISTIOCTL);
    assert_eq!(
        (hostile.matches('[').count(), hostile.matches(']').count()),
        (256, 256)
    );
}

#[test]
fn damaged_documents_are_written_without_a_panic() {
    let json = r#"{"@type":"t/x.Y","a_b":[{"typed_per_filter_config":{"k_k":{"ü":"\u00e9\\"}}},null,-1.5e3],"c":{}}"#;
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut sound = 0;
    for _ in 0..20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let mut damaged = json.as_bytes().to_vec();
        let at = usize::try_from(state >> 40).expect("24 bits") % damaged.len();
        damaged[at] = b"{}[]\",:\\ _x"[usize::try_from(state >> 32 & 0xff).expect("a byte") % 11];
        let Ok(text) = String::from_utf8(damaged) else {
            continue;
        };
        let out = written(&text, Style::ISTIOCTL);
        if meshladder_text::json::check(&text).is_ok() {
            serde_json::from_str::<serde_json::Value>(&out).expect("JSON stays JSON");
            sound += 1;
        }
    }
    assert!((1000..19_000).contains(&sound), "{sound}");
}
