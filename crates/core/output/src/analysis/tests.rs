//! A finding with places in two files.

use std::collections::BTreeMap;

use super::*;
use crate::paint::Paint;
use meshladder_capture::snapshot::{Builder, DocId};
use meshladder_judge::finding::{Confidence, Evidence, Fix, Rung, Severity, Spot};
use meshladder_judge::report::{self, Report, Topic, Verdict};
use meshladder_mesh::ObjectRef;

fn report() -> Report {
    let mut builder = Builder::new();
    builder.add(
        DocId::new("k8s/a.yaml"),
        "a.yaml",
        "kind: A\nspec:\n  host: h\u{e9}\n  more: x\n".into(),
    );
    builder.add(
        DocId::new("k8s/b.yaml"),
        "b.yaml",
        b"kind: B\nhosts: [x, y]\n".to_vec(),
    );
    let evidence = |doc: &str, pointer: &str, shows: &str| Evidence {
        doc: DocId::new(doc),
        spot: Spot::Pointer(pointer.to_owned()),
        shows: shows.to_owned(),
    };
    let finding = Finding {
        code: "ML2101",
        ist: Some("IST0128"),
        name: "tls-without-ca",
        rung: Rung::Config,
        severity: Severity::Error,
        confidence: Confidence::Proven,
        subject: ObjectRef::new("A", "n", "a").into(),
        message: "a & b: \"claimed\" <twice>\n, 100% | sure".to_owned(),
        evidence: vec![
            evidence("k8s/a.yaml", "/spec/host", "the host"),
            evidence("k8s/b.yaml", "/hosts/1", "the same host"),
            evidence("k8s/a.yaml", "/spec/more", "more"),
        ],
        fixes: vec![Fix::advice("do this")],
        hits: Vec::new(),
        when_asked: None,
        cluster: None,
        caused_by: Vec::new(),
        unsettled: Vec::new(),
        is_asked_for: false,
        is_side_effect: false,
    };
    Report {
        question: Topic::Objects,
        about: String::new(),
        cluster: None,
        clusters: std::collections::BTreeMap::new(),
        taken_at: None,
        verdict: Verdict::Broken,
        findings: report::tell(vec![finding], &builder.finish()),
        rungs: Vec::new(),
        coverage: Vec::new(),
        unknown: Vec::new(),
    }
}

#[test]
fn a_frame_has_every_place_of_every_file_in_the_order_of_its_lines() {
    let expected = "error[ML2101]: A n/a: a & b: \"claimed\" <twice>\n, 100% | sure
 --> a.yaml:3:9
  |
3 |   host: hé
  |         ^^ the host
4 |   more: x
  |         - more
 ::: b.yaml:2:12
  |
2 | hosts: [x, y]
  |            - the same host
  = fix: do this
  = tls-without-ca (IST0128): meshladder explain ML2101

1 error
";
    assert_eq!(to_frames(&report(), Paint::default()), expected);
}

#[test]
fn related_places_are_locations_and_a_flow() {
    let sarif: serde_json::Value =
        serde_json::from_str(&to_sarif(&report(), &BTreeMap::new())).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    let region = &result["locations"][0]["physicalLocation"]["region"];
    assert_eq!(
        (region["startColumn"].as_u64(), region["endColumn"].as_u64()),
        (Some(9), Some(11))
    );
    let files = |list: &serde_json::Value, at: &str| -> Vec<String> {
        let uri = |place: &serde_json::Value| {
            place
                .pointer(at)
                .and_then(|uri| uri.as_str())
                .map(str::to_owned)
        };
        list.as_array()
            .expect("a list")
            .iter()
            .filter_map(uri)
            .collect()
    };
    let place = "/physicalLocation/artifactLocation/uri";
    assert_eq!(
        files(&result["relatedLocations"], place),
        ["b.yaml", "a.yaml"]
    );
    let flow = &result["codeFlows"][0]["threadFlows"][0]["locations"];
    assert_eq!(
        files(flow, &format!("/location{place}")),
        ["a.yaml", "b.yaml", "a.yaml"]
    );
}

#[test]
fn text_cannot_break_out_of_its_format() {
    let github = to_github(&report());
    assert!(
        github.ends_with("::A n/a: a & b: \"claimed\" <twice>%0A, 100%25 | sure\n"),
        "{github}"
    );
    let junit = to_junit(&report());
    assert!(
        junit.contains("a &amp; b: &quot;claimed&quot; &lt;twice&gt;&#10;, 100% | sure"),
        "{junit}"
    );
    let markdown = to_markdown(&report());
    assert!(
        markdown.contains("| a &amp; b: \"claimed\" &lt;twice> , 100% \\| sure |"),
        "{markdown}"
    );
    assert_eq!(escape_xml("a\u{0}b\u{1b}"), "a\u{fffd}b\u{fffd}");
}
