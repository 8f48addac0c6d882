use super::*;

const DUMP: &str = r#"{"configs": [
  {"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": {"node": {"id": "x"}}},
  {"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump", "version_info": "v9",
   "static_clusters": [{"cluster": {"@type": "c", "name": "agent"}, "last_updated": "t0"}],
   "dynamic_active_clusters": [
     {"version_info": "v1", "cluster": {"name": "a", "type": "EDS"}, "last_updated": "t1"},
     {"version_info": "v1", "cluster": {"name": "b"}, "error_state": {"details": "bad", "version_info": "v2", "last_update_attempt": "t2"}}],
   "dynamic_warming_clusters": [{"cluster": {"name": "c"}}]},
  {"dynamic_listeners": [
     {"name": "l", "active_state": {"version_info": "v1", "listener": {"name": "l"}}, "warming_state": {"version_info": "v2", "listener": {"name": "l"}}},
     {"name": "refused", "error_state": {"details": "no"}, "client_status": "NACKED"}],
   "@type": "type.googleapis.com/envoy.admin.v3.ListenersConfigDump"},
  {"@type": "type.googleapis.com/envoy.admin.v3.EndpointsConfigDump", "dynamic_endpoint_configs": [{"endpoint_config": {"cluster_name": "a"}}]},
  {"@type": "type.googleapis.com/envoy.admin.v9.Later", "x": [1]}
]}"#;

fn index<'a>(doc: &'a str, wanted: &[Section]) -> Dump<'a> {
    Dump::index(doc, wanted).expect("the test's document is a dump")
}

/// Name, state and version of each resource.
fn listed(dump: &Dump<'_>) -> Vec<(String, ResourceState, String)> {
    dump.resources
        .iter()
        .map(|r| (r.name.to_string(), r.state, r.version.to_string()))
        .collect()
}

#[test]
fn resources_come_with_name_state_version_and_bytes() {
    let dump = index(DUMP, &Section::ALL);
    let expected = [
        ("agent", ResourceState::Static, ""),
        ("a", ResourceState::Active, "v1"),
        ("b", ResourceState::Active, "v1"),
        ("c", ResourceState::Warming, ""),
        ("l", ResourceState::Active, "v1"),
        ("l", ResourceState::Warming, "v2"),
        ("refused", ResourceState::Error, ""),
        ("a", ResourceState::Active, ""),
    ];
    assert_eq!(
        listed(&dump),
        expected.map(|(n, s, v)| (n.to_owned(), s, v.to_owned()))
    );
    assert_eq!(
        dump.resources[1].raw.map(Raw::text),
        Some(r#"{"name": "a", "type": "EDS"}"#)
    );
    assert_eq!(dump.resources[1].last_updated, "t1");
    assert!(
        dump.resources[3].entry.text().starts_with('{')
            && dump.resources[3].entry.text().ends_with('}')
    );
    assert!(dump.fault.is_none());
}

#[test]
fn a_refused_update_is_kept_with_envoys_words() {
    let dump = index(DUMP, &Section::ALL);
    let refused = dump.resources[2].error.clone().expect("b has an error");
    assert_eq!(
        (
            &*refused.details,
            &*refused.version,
            &*refused.last_update_attempt
        ),
        ("bad", "v2", "t2")
    );
    assert_eq!(
        dump.resources[6].error.as_ref().map(|e| &*e.details),
        Some("no")
    );
}

#[test]
fn sections_nobody_asked_for_are_known_but_not_read() {
    let dump = index(DUMP, &[Section::Endpoints]);
    assert_eq!(
        listed(&dump),
        [("a".to_owned(), ResourceState::Active, String::new())]
    );
    let sections: Vec<_> = dump.sections.iter().map(|(s, _)| *s).collect();
    assert_eq!(
        sections,
        [
            Section::Bootstrap,
            Section::Clusters,
            Section::Listeners,
            Section::Endpoints
        ]
    );
    assert_eq!(dump.unknown, ["type.googleapis.com/envoy.admin.v9.Later"]);
}

#[test]
fn the_type_may_stand_anywhere_in_its_section() {
    let dump = index(DUMP, &[Section::Listeners]);
    assert_eq!(dump.resources.len(), 3);
    assert!(
        dump.section(Section::Listeners)
            .is_some_and(|s| s.text().ends_with("ListenersConfigDump\"}"))
    );
}

#[test]
fn a_dump_cut_in_the_middle_yields_what_came_before_the_cut() {
    let cut = DUMP.find("\"b\"").expect("the cluster b is in the dump");
    let dump = index(&DUMP[..cut], &Section::ALL);
    assert_eq!(dump.resources.iter().filter(|r| r.raw.is_some()).count(), 2);
    assert_eq!(
        dump.fault.map(|f| (f.at, f.what)),
        Some((cut, "the document is cut short".to_owned()))
    );
}

#[test]
fn what_is_no_dump_is_refused_with_the_reason() {
    for (doc, what) in [
        ("", "the document is empty"),
        (
            "[]",
            "not a config dump: a list where an object with `configs` belongs",
        ),
        ("{}", "not a config dump: it has no list `configs`"),
        (
            r#"{"configs": NaN}"#,
            "not a config dump: it has no list `configs`",
        ),
        (
            r#"{"configs": {"a": 1}}"#,
            "not a config dump: it has no list `configs`",
        ),
        ("{\"configs\"", "the document is cut short"),
        ("NaN", "not a config dump: no JSON object"),
    ] {
        assert_eq!(
            Dump::index(doc, &Section::ALL)
                .map(|_| ())
                .map_err(|f| f.what),
            Err(what.to_owned()),
            "{doc}"
        );
    }
    assert!(
        index(r#"{"configs": []}"#, &Section::ALL)
            .resources
            .is_empty()
    );
}

#[test]
fn what_is_of_the_wrong_kind_is_noted_with_its_place_and_left_out() {
    let doc = r#"{"configs":[7,[],{"x":1},{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump",
      "static_clusters":{"a":1},"dynamic_active_clusters":[[1],{"cluster":[1]},{"cluster":{"name":["a"]}},"x",
      {"version_info":NaN,"cluster":{"name":"b"}},{"cluster":{"name":"good"}}]}]}"#;
    let dump = index(doc, &Section::ALL);
    assert_eq!(
        listed(&dump),
        [("good".to_owned(), ResourceState::Active, String::new())]
    );
    let odd: Vec<_> = dump
        .odd
        .iter()
        .map(|fault| &doc[fault.at..fault.at + 3])
        .collect();
    assert_eq!(
        odd,
        [
            "7,[", "[],", "{\"x", "{\"a", "[1]", "[1]", "[\"a", "\"x\"", "NaN"
        ]
    );
}
