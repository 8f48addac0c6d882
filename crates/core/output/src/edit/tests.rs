//! Files before and after.

use super::*;
use meshladder_judge::finding::{Op, Patch};
use meshladder_mesh::ObjectRef;
use meshladder_text::json::Raw;

fn merge(patch: &str) -> Change {
    let raw = Raw::of(patch).expect("a value");
    let patch = Node::from_json(raw).expect("JSON").value;
    Change {
        object: ObjectRef::default(),
        patch: Patch::Merge(patch),
    }
}

fn operations(ops: impl Into<Vec<Op>>) -> Change {
    Change {
        object: ObjectRef::default(),
        patch: Patch::Json(ops.into()),
    }
}

#[track_caller]
fn becomes(before: &str, pointer: &str, change: &Change, after: &str) {
    let splices = splices(before, pointer, change).expect("it can be made");
    assert_eq!(apply(before, &splices), after);
}

const RULE: &str = "# who owns it
apiVersion: networking.istio.io/v1
kind: DestinationRule   # istio
metadata: {name: db, labels: {}}
spec:
  host: 'db.example.com'  # the database

  trafficPolicy:
    tls:
      mode: SIMPLE # no CA
  subsets:
  # the old one
  - name: v1
    labels:
      version: v1
  - name: v2
    labels: {version: v2, track: beta}
";

#[test]
fn a_scalar_keeps_its_quotes_and_its_comment() {
    let after = RULE.replace("'db.example.com'", "'it''s'");
    becomes(RULE, "", &merge(r#"{"spec":{"host":"it's"}}"#), &after);
    let after = RULE.replace("SIMPLE", "MUTUAL");
    becomes(
        RULE,
        "",
        &merge(r#"{"spec":{"trafficPolicy":{"tls":{"mode":"MUTUAL"}}}}"#),
        &after,
    );
    let after = RULE.replace("mode: SIMPLE", "mode: \"on\"");
    becomes(
        RULE,
        "",
        &merge(r#"{"spec":{"trafficPolicy":{"tls":{"mode":"on"}}}}"#),
        &after,
    );
}

#[test]
fn a_member_is_added_below_the_last_and_between_brackets_behind_it() {
    let after = RULE.replace(
        "# no CA\n",
        "# no CA\n      caCertificates: /etc/ca.pem\n      sni: a\n",
    );
    let patch = r#"{"spec":{"trafficPolicy":{"tls":{"caCertificates":"/etc/ca.pem","sni":"a"}}}}"#;
    becomes(RULE, "", &merge(patch), &after);
    let after = RULE.replace("labels: {}}", "labels: {a/b: c}, annotations: {x: \"1\"}}");
    becomes(
        RULE,
        "",
        &merge(r#"{"metadata":{"labels":{"a/b":"c"},"annotations":{"x":"1"}}}"#),
        &after,
    );
    let after = RULE.replace(
        "# no CA\n",
        "# no CA\n    connectionPool:\n      tcp:\n        maxConnections: 1\n",
    );
    becomes(
        RULE,
        "",
        &merge(r#"{"spec":{"trafficPolicy":{"connectionPool":{"tcp":{"maxConnections":1}}}}}"#),
        &after,
    );
}

#[test]
fn a_member_is_removed_with_its_lines() {
    let after = RULE.replace(
        "  trafficPolicy:\n    tls:\n      mode: SIMPLE # no CA\n",
        "",
    );
    becomes(
        RULE,
        "",
        &merge(r#"{"spec":{"trafficPolicy":null}}"#),
        &after,
    );
    let after = RULE
        .replace("    tls:\n      mode: SIMPLE # no CA\n", "")
        .replace("trafficPolicy:\n", "trafficPolicy: {} # no CA\n");
    becomes(
        RULE,
        "",
        &merge(r#"{"spec":{"trafficPolicy":{"tls":null}}}"#),
        &after,
    );
    let after = RULE.replace("{version: v2, track: beta}", "{version: v2}");
    becomes(
        RULE,
        "",
        &operations([Op::remove("/spec/subsets/1/labels/track")]),
        &after,
    );
    let after = RULE.replace("- name: v1\n    labels:\n", "- labels:\n");
    becomes(
        RULE,
        "",
        &operations([Op::remove("/spec/subsets/0/name")]),
        &after,
    );
}

#[test]
fn a_member_with_another_name_keeps_its_place_and_its_comments() {
    let ops = [
        Op::add("/b", Value::object([("c", 1_u16)])),
        Op::remove("/a"),
    ];
    for (before, after) in [
        (
            "a:   # why\n    c: 1 # one\nz: 2\n",
            "b:   # why\n    c: 1 # one\nz: 2\n",
        ),
        ("a: {c: 1}\r\nz: 2", "b: {c: 1}\r\nz: 2"),
        ("{a: {c: 1}, z: 2}\n", "{b: {c: 1}, z: 2}\n"),
        (r#"{"a": {"c": 1}}"#, r#"{"b": {"c": 1}}"#),
        ("'a': &x {c: 1}\nz: *x\n", "'b': &x {c: 1}\nz: *x\n"),
        (
            "y: &x {c: 1}\na: *x # as there\n",
            "y: &x {c: 1}\nb: *x # as there\n",
        ),
    ] {
        becomes(before, "", &operations(ops.clone()), after);
    }
}

#[test]
fn items_are_added_and_removed() {
    let after = RULE.replace("  - name: v2\n    labels: {version: v2, track: beta}\n", "");
    becomes(
        RULE,
        "",
        &operations([Op::remove("/spec/subsets/1")]),
        &after,
    );
    let new = "  - labels:\n      version: v3\n    name: v3\n";
    let add = |at: &str| {
        let labels = Value::object([("version", "v3")]);
        let subset = Value::object([("name", Value::from("v3")), ("labels", labels)]);
        operations([Op::add(format!("/spec/subsets/{at}"), subset)])
    };
    becomes(RULE, "", &add("-"), &format!("{RULE}{new}"));
    becomes(
        RULE,
        "",
        &add("1"),
        &RULE.replace("  - name: v2", &format!("{new}  - name: v2")),
    );
    let hosts = "hosts: [a, 'b' , c] # all\n";
    for (op, after) in [
        (Op::remove("/hosts/0"), "hosts: ['b' , c] # all\n"),
        (Op::remove("/hosts/2"), "hosts: [a, 'b'] # all\n"),
        (
            Op::add("/hosts/-", "d, e"),
            "hosts: [a, 'b' , c, \"d, e\"] # all\n",
        ),
        (Op::add("/hosts/0", "*"), "hosts: ['*', a, 'b' , c] # all\n"),
        (Op::replace("/hosts/1", "x"), "hosts: [a, x , c] # all\n"),
        (
            Op::replace("/hosts", Value::Array(Box::default())),
            "hosts: [] # all\n",
        ),
    ] {
        becomes(hosts, "", &operations([op]), after);
    }
}

#[test]
fn values_change_their_shape() {
    for (before, patch, after) in [
        ("a:\nb: 1\n", r#"{"a":{"c":1}}"#, "a:\n  c: 1\nb: 1\n"),
        ("a: x # c\n", r#"{"a":["z"]}"#, "a:\n  - z # c\n"),
        ("a:\n- 1\n- 2\nb: 1\n", r#"{"a":[]}"#, "a: []\nb: 1\n"),
        ("a:\n- x: 1\n", r#"{"a":"s"}"#, "a: s\n"),
        ("a: |\n  x\n  y\nb: 1\n", r#"{"a":"z"}"#, "a: z\nb: 1\n"),
        ("a: 1", r#"{"b":2}"#, "a: 1\nb: 2"),
        (
            "a: 1\r\nb: 2\r\n",
            r#"{"c":{"d":1}}"#,
            "a: 1\r\nb: 2\r\nc:\r\n  d: 1\r\n",
        ),
        (
            "{\"a\": {\"b\": [1]}}",
            r#"{"a":{"b":[1,2],"c":"x"}}"#,
            "{\"a\": {\"b\": [1, 2], \"c\": \"x\"}}",
        ),
    ] {
        becomes(before, "", &merge(patch), after);
    }
}

#[test]
fn other_documents_and_other_items_of_a_list_stay() {
    let two = format!("{RULE}---\n{RULE}");
    let after = format!("{RULE}---\n{}", RULE.replace("SIMPLE", "MUTUAL"));
    becomes(
        &two,
        "/1",
        &merge(r#"{"spec":{"trafficPolicy":{"tls":{"mode":"MUTUAL"}}}}"#),
        &after,
    );
    let list = "kind: List\nitems:\n- kind: A\n  x: 1\n- kind: B\n  x: 1\n";
    becomes(
        list,
        "/items/1",
        &merge(r#"{"x":2,"z":3}"#),
        "kind: List\nitems:\n- kind: A\n  x: 1\n- kind: B\n  x: 2\n  z: 3\n",
    );
}

#[test]
fn what_stands_for_something_else_is_refused() {
    for (before, patch) in [
        ("a: &a {x: 1}\nb: *a\n", r#"{"a":{"x":2}}"#),
        (
            "a: &a {x: 1}\nb:\n  <<: *a\n  y: 1\n",
            r#"{"b":{"x":null}}"#,
        ),
    ] {
        assert!(splices(before, "", &merge(patch)).is_err(), "{before}");
    }
    becomes(
        "a: &a {x: 1}\nb: *a\n",
        "",
        &merge(r#"{"b":{"x":2}}"#),
        "a: &a {x: 1}\nb:\n  x: 2\n",
    );
    assert!(
        splices("a: 1\n", "/3", &merge("{}")).is_err(),
        "no such document"
    );
}

#[test]
fn a_diff_is_what_patch_takes() {
    let splices = splices(
        RULE,
        "",
        &merge(r#"{"metadata":{"labels":{"a":"b"}},"spec":{"subsets":null}}"#),
    )
    .expect("made");
    let lines: Vec<String> = unified("a/db.yaml", RULE, &splices)
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(lines[..2], ["--- a/a/db.yaml", "+++ b/a/db.yaml"]);
    assert_eq!(lines[2], "@@ -1,17 +1,10 @@");
    assert_eq!(
        lines.iter().filter(|line| line.starts_with('-')).count(),
        1 + 1 + 7
    );
    assert_eq!(
        lines.iter().filter(|line| line.starts_with('+')).count(),
        1 + 1
    );
}

/// A small generator of our own: the same numbers each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }

    fn word(&mut self) -> &'static str {
        [
            "a",
            "b",
            "it's",
            "on",
            "1",
            "x: y",
            "#c",
            "",
            "a,b",
            "é",
            "null",
            "two words",
            "-",
            "l1\nl2\n",
        ][self.below(14)]
    }

    /// A value as JSON text.
    fn json(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 3 } else { 5 }) {
            0 => meshladder_text::json::escape(self.word()),
            1 => self.below(99).to_string(),
            2 => ["true", "false"][self.below(2)].to_owned(),
            3 => {
                let items: Vec<_> = (0..self.below(4)).map(|_| self.json(depth - 1)).collect();
                format!("[{}]", items.join(","))
            }
            _ => {
                let members: Vec<_> = (0..self.below(4))
                    .map(|i| format!("\"k{i}\":{}", self.json(depth - 1)))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }

    /// A value as YAML, in any style, with comments.
    fn yaml(&mut self, column: usize, depth: usize) -> String {
        let pad = " ".repeat(column);
        let comment = if self.below(3) == 0 { " # comment" } else { "" };
        match self.below(if depth == 0 { 2 } else { 4 }) {
            0 => format!(" {}{comment}\n", meshladder_text::json::escape(self.word())),
            1 => format!(
                " {}{comment}\n",
                self.json(depth.min(1))
                    .replace(':', ": ")
                    .replace(',', ", ")
            ),
            2 => {
                let members = (0..=self.below(3))
                    .map(|i| format!("{pad}k{i}:{}", self.yaml(column + 2, depth - 1)));
                format!("\n{}", members.collect::<Vec<_>>().concat())
            }
            _ => {
                let items = (0..=self.below(3))
                    .map(|_| format!("{pad}- item:{}", self.yaml(column + 4, depth - 1)));
                format!("\n{}", items.collect::<Vec<_>>().concat())
            }
        }
    }
}

#[test]
fn whatever_is_patched_comes_out_as_the_patched_object() {
    let mut random = Random(7);
    let (mut made, mut refused) = (0, 0);
    for _ in 0..3000 {
        let text = format!("# head\nroot:{}k0:{}", random.yaml(2, 4), random.yaml(2, 3));
        let before = yaml::load(&text);
        let [old] = &before.documents[..] else {
            panic!("one document: {text}\n{:?}", before.problems)
        };
        let change = merge(&format!(
            "{{\"root\":{},\"k0\":{}}}",
            random.json(3),
            random.json(3)
        ));
        let new = change.apply(old).expect("it stays");
        match splices(&text, "", &change) {
            Ok(splices) => {
                let after = yaml::load(&apply(&text, &splices));
                assert!(
                    after.documents.len() == 1 && same(&after.documents[0], &new),
                    "{text}\n{change:?}"
                );
                made += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(
        refused * 50 < made,
        "{refused} of {} were refused",
        made + refused
    );
}
