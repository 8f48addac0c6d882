//! Truth tables of matchers, read from `tests/data/sim`. The oracle includes this file by
//! `#[path]`.

use std::fs;
use std::path::Path;

use meshladder_sim::Tri;
use meshladder_text::json::escape;
use meshladder_text::tree::{Node, Value};
use meshladder_text::yaml;

/// One matcher and what it says of requests.
#[derive(Debug)]
pub(crate) struct Row {
    /// File and number of the row, from 1.
    pub(crate) place: String,
    /// A `RouteMatch` with that matcher in it, as JSON.
    pub(crate) route_match: String,
    pub(crate) cases: Vec<Case>,
}

/// One request and whether the matcher takes it.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) expected: Tri,
}

/// Every row of every table.
pub(crate) fn rows() -> Vec<Row> {
    let kinds = [
        Kind::String,
        Kind::Regex,
        Kind::Header,
        Kind::Query,
        Kind::Cookie,
        Kind::Path,
    ];
    kinds.into_iter().flat_map(Kind::rows).collect()
}

/// What a table is about.
#[derive(Clone, Copy)]
enum Kind {
    String,
    Regex,
    Header,
    Query,
    Cookie,
    Path,
}

impl Kind {
    fn file(self) -> &'static str {
        match self {
            Self::String => "string.yaml",
            Self::Regex => "regex.yaml",
            Self::Header => "header.yaml",
            Self::Query => "query.yaml",
            Self::Cookie => "cookie.yaml",
            Self::Path => "path.yaml",
        }
    }

    fn rows(self) -> Vec<Row> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/sim")
            .join(self.file());
        let text = fs::read_to_string(&path).expect("the table is there");
        let loaded = yaml::load(&text);
        assert_eq!(loaded.problems, [], "{}", self.file());
        let [table] = &loaded.documents[..] else {
            panic!("{} has not one document", self.file())
        };
        table
            .items()
            .iter()
            .enumerate()
            .map(|(n, row)| self.row(n + 1, row))
            .collect()
    }

    fn row(self, number: usize, row: &Node) -> Row {
        let matcher = row.get("matcher").expect("a row has a matcher");
        let mut cases = Vec::new();
        for (key, expected) in [
            ("hits", Tri::Yes),
            ("misses", Tri::No),
            ("unknown", Tri::unknown("a fact")),
        ] {
            let items = row.get(key).map(Node::items).unwrap_or_default();
            cases.extend(
                items
                    .iter()
                    .map(|item| self.case(matcher, item, expected.clone())),
            );
        }
        assert!(
            !cases.is_empty(),
            "{}: row {number} has no case",
            self.file()
        );
        Row {
            place: format!("{}:{number}", self.file()),
            route_match: self.route_match(matcher),
            cases,
        }
    }

    fn route_match(self, matcher: &Node) -> String {
        let json = json(matcher);
        match self {
            Self::String => format!(
                r#"{{"prefix": "/", "headers": [{{"name": "x-a", "string_match": {json}}}]}}"#
            ),
            Self::Regex => {
                let matcher = format!(r#"{{"safe_regex": {{"regex": {json}}}}}"#);
                format!(
                    r#"{{"prefix": "/", "headers": [{{"name": "x-a", "string_match": {matcher}}}]}}"#
                )
            }
            Self::Header => format!(r#"{{"prefix": "/", "headers": [{json}]}}"#),
            Self::Query => format!(r#"{{"prefix": "/", "query_parameters": [{json}]}}"#),
            Self::Cookie => format!(r#"{{"prefix": "/", "cookies": [{json}]}}"#),
            Self::Path => matcher.str_at("template").map_or(json, template),
        }
    }

    fn case(self, matcher: &Node, item: &Node, expected: Tri) -> Case {
        let text = |node: &Node| {
            node.str()
                .unwrap_or_else(|| panic!("{node:?} is no string"))
                .to_owned()
        };
        let lines = |name: &str| {
            item.items()
                .iter()
                .map(|line| (name.to_ascii_lowercase(), text(line)))
                .collect()
        };
        let (path, headers) = match self {
            Self::String | Self::Regex => ("/".to_owned(), vec![("x-a".to_owned(), text(item))]),
            Self::Header => (
                "/".to_owned(),
                lines(matcher.str_at("name").expect("a header has a name")),
            ),
            Self::Cookie => ("/".to_owned(), lines("cookie")),
            Self::Query | Self::Path => (text(item), Vec::new()),
        };
        Case {
            path,
            headers,
            expected,
        }
    }
}

/// `path_match_policy` with a template.
fn template(text: &str) -> String {
    let message =
        "type.googleapis.com/envoy.extensions.path.match.uri_template.v3.UriTemplateMatchConfig";
    let config = format!(
        r#"{{"@type": "{message}", "path_template": {}}}"#,
        escape(text)
    );
    let name = "envoy.path.match.uri_template.uri_template_matcher";
    format!(r#"{{"path_match_policy": {{"name": "{name}", "typed_config": {config}}}}}"#)
}

fn json(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(text) => text.to_string(),
        Value::String(text) => escape(text),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(json).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|member| format!("{}: {}", escape(&member.key), json(&member.value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}
