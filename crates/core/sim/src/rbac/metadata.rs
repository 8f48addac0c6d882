//! `type.matcher.v3.MetadataMatcher` and `ValueMatcher`.

use crate::matcher::{StringMatcher, unmodelled};
use crate::message;
use crate::state::MetadataLookup;
use crate::{RequestState, Tri};
use meshladder_text::json::Raw;
use meshladder_text::tree::{Node, Value};

/// A compiled metadata matcher.
#[derive(Clone, Debug)]
pub struct MetadataMatcher {
    namespace: Box<str>,
    path: Vec<Box<str>>,
    value: ValueMatcher,
    invert: bool,
    /// Of the route instead of the request.
    of_route: bool,
}

/// A compiled value matcher.
#[derive(Clone, Debug)]
pub enum ValueMatcher {
    /// `null_match`
    Null,
    /// `double_match`: the end is not part of it.
    Between(f64, f64),
    /// `double_match`
    Number(f64),
    /// `string_match`
    String(StringMatcher),
    /// `bool_match`
    Bool(bool),
    /// `present_match`
    Present(bool),
    /// `list_match`: one of the list must match.
    OneOf(Box<ValueMatcher>),
    /// `or_match`
    Or(Vec<ValueMatcher>),
    /// Something else: the missing fact.
    Unmodelled(Box<str>),
}

impl MetadataMatcher {
    /// A matcher for the request's metadata.
    pub fn new(namespace: &str, path: &[&str], value: ValueMatcher) -> Self {
        let path = path.iter().map(|key| (*key).into()).collect();
        Self {
            namespace: namespace.into(),
            path,
            value,
            invert: false,
            of_route: false,
        }
    }

    /// Compiles a `MetadataMatcher`.
    pub fn compile(raw: Raw<'_>) -> Self {
        let mut path = Vec::new();
        for segment in raw.list("path") {
            path.push(message::text(segment, "key").into());
        }
        Self {
            namespace: message::text(raw, "filter").into(),
            path,
            value: match raw.get("value") {
                Some(value) => ValueMatcher::compile(value),
                None => ValueMatcher::Unmodelled(unmodelled("a value")),
            },
            invert: message::flag(raw, "invert"),
            of_route: false,
        }
    }

    /// Compiles a `SourcedMetadata`.
    pub(super) fn sourced(raw: Raw<'_>) -> Self {
        let matcher = raw.get("metadata_matcher").unwrap_or(raw);
        Self {
            of_route: message::text(raw, "metadata_source") == "ROUTE",
            ..Self::compile(matcher)
        }
    }

    /// Whether what is in the metadata matches.
    pub fn matches(&self, state: &RequestState<'_>) -> Tri {
        // What a route says of itself is known; what filters wrote may not be.
        let matched = match (self.of_route, state.route) {
            (false, _) => self.matches_request(state),
            (true, Some(route)) => self.matches_route(route),
            // "Return false if there's no route since we can't match its metadata": also inverted.
            (true, None) => return Tri::No,
        };
        // "If true, the match result will be inverted."
        if self.invert {
            matched.negate()
        } else {
            matched
        }
    }

    fn matches_request(&self, state: &RequestState<'_>) -> Tri {
        // Filters for other protocols write down what they read; that is not modelled.
        if !state.is_http && self.namespace.starts_with("envoy.filters.network.") {
            return Tri::unknown(format!(
                "what the filter {} writes into the metadata",
                self.namespace
            ));
        }
        match state.metadata.find(&self.namespace, &self.path) {
            MetadataLookup::Absent => self.value.matches(None),
            MetadataLookup::Value(value) => self.value.matches(Some(value)),
            MetadataLookup::Claim(values) => self.value.matches_claim(&values),
            MetadataLookup::Object => self.value.matches(Some(&Value::Object(Box::default()))),
            MetadataLookup::Unknown(fact) => Tri::unknown(fact),
        }
    }

    fn matches_route(&self, route: Raw<'_>) -> Tri {
        let Some(node) = self.in_route(route) else {
            return self.value.matches(None);
        };
        self.value.matches(Some(&node.value))
    }

    fn in_route(&self, route: Raw<'_>) -> Option<Node> {
        let metadata = route.at(["metadata", "filter_metadata"])?;
        let mut raw = metadata.get(&self.namespace)?;
        for key in &self.path {
            raw = raw.get(key)?;
        }
        Node::from_json(raw).ok()
    }

    /// What decided, in words: ``the claim groups `a` is not `admin` ``.
    pub(crate) fn why(&self, state: &RequestState<'_>) -> String {
        let name = self.name();
        let matched = self.matches(state) == Tri::Yes;
        let wanted = self.value.verb(matched != self.invert);
        if self.of_route {
            return format!("{name} {wanted}");
        }
        match state.metadata.find(&self.namespace, &self.path) {
            MetadataLookup::Absent => format!("{name} is absent"),
            MetadataLookup::Unknown(fact) => fact.to_owned(),
            MetadataLookup::Claim(values) => format!("{name} `{}` {wanted}", values.join(", ")),
            MetadataLookup::Value(value) => format!("{name} `{}` {wanted}", text_of(value)),
            MetadataLookup::Object => format!("{name} {wanted}"),
        }
    }

    /// What is looked at. The JWT filter keeps a token's claims below `payload`.
    fn name(&self) -> String {
        match self.path.split_first() {
            Some((payload, claim))
                if **payload == *"payload" && self.namespace.ends_with("jwt_authn") =>
            {
                format!("claim {}", claim.join("."))
            }
            _ => format!("metadata {} {}", self.namespace, self.path.join(".")),
        }
    }
}

impl ValueMatcher {
    fn compile(raw: Raw<'_>) -> Self {
        let Some((key, value)) = raw.members().next() else {
            return Self::Unmodelled(unmodelled("an empty value matcher"));
        };
        match &*key {
            "null_match" => Self::Null,
            "double_match" => double(value),
            "string_match" => Self::String(StringMatcher::compile(value)),
            "bool_match" => Self::Bool(value.bool().unwrap_or_default()),
            "present_match" => Self::Present(value.bool().unwrap_or_default()),
            "list_match" => match value.get("one_of") {
                Some(one_of) => Self::OneOf(Box::new(Self::compile(one_of))),
                None => Self::Unmodelled(unmodelled("a list matcher without `one_of`")),
            },
            "or_match" => Self::Or(value.list("value_matchers").map(Self::compile).collect()),
            other => Self::Unmodelled(unmodelled(&format!("a value matcher's `{other}`"))),
        }
    }

    /// Whether a value matches; `None` when there is none.
    fn matches(&self, value: Option<&Value>) -> Tri {
        match self {
            Self::Or(matchers) => {
                return Tri::any(matchers.iter().map(|matcher| matcher.matches(value)));
            }
            Self::Unmodelled(fact) => return Tri::Unknown(fact.clone()),
            Self::Present(present) => return (*present && value.is_some()).into(),
            _ => {}
        }
        // All others only match a value of their own type.
        match (self, value) {
            (Self::Null, Some(Value::Null)) => Tri::Yes,
            (Self::String(matcher), Some(Value::String(text))) => matcher.matches(text),
            (Self::Bool(wanted), Some(Value::Bool(flag))) => (wanted == flag).into(),
            (Self::Number(_) | Self::Between(..), Some(Value::Number(number))) => {
                self.matches_number(number).into()
            }
            // "one_of: If specified, at least one of the values in the list must match the value
            // specified."
            (Self::OneOf(matcher), Some(Value::Array(items))) => {
                Tri::any(items.iter().map(|item| matcher.matches(Some(&item.value))))
            }
            _ => Tri::No,
        }
    }

    fn matches_number(&self, number: &str) -> bool {
        let Ok(number) = number.parse::<f64>() else {
            return false;
        };
        match self {
            Self::Number(wanted) => same(number, *wanted),
            Self::Between(start, end) => (*start..*end).contains(&number),
            _ => false,
        }
    }

    /// A claim that a user stated, as a text or a list of texts: one value may be either.
    fn matches_claim(&self, values: &[&str]) -> Tri {
        match self {
            Self::OneOf(matcher) => {
                Tri::any(values.iter().map(|value| matcher.matches_claim(&[value])))
            }
            Self::Or(matchers) => {
                Tri::any(matchers.iter().map(|matcher| matcher.matches_claim(values)))
            }
            Self::String(matcher) if values.len() == 1 => matcher.matches(values[0]),
            Self::Present(present) => (*present).into(),
            Self::Unmodelled(fact) => Tri::Unknown(fact.clone()),
            _ => Tri::No,
        }
    }

    fn verb(&self, holds: bool) -> String {
        let not = if holds { "" } else { " not" };
        match self {
            Self::String(matcher) => matcher.verb(holds),
            Self::OneOf(matcher) => format!("has{not} one that {}", matcher.verb(true)),
            Self::Or(matchers) => {
                let verbs: Vec<_> = matchers.iter().map(|matcher| matcher.verb(holds)).collect();
                verbs.join(", ")
            }
            Self::Null => format!("is{not} null"),
            Self::Number(number) => format!("is{not} {number}"),
            Self::Between(start, end) => format!("is{not} in [{start}, {end})"),
            Self::Bool(flag) => format!("is{not} {flag}"),
            Self::Present(_) => format!("is{not} present"),
            Self::Unmodelled(fact) => fact.to_string(),
        }
    }
}

#[expect(clippy::float_cmp, reason = "Envoy compares doubles for equality")]
fn same(a: f64, b: f64) -> bool {
    a == b
}

fn double(raw: Raw<'_>) -> ValueMatcher {
    if let Some(exact) = raw.get("exact") {
        return ValueMatcher::Number(number(exact));
    }
    let Some(range) = raw.get("range") else {
        return ValueMatcher::Unmodelled(unmodelled("an empty double matcher"));
    };
    let start = range.get("start").map_or(0.0, number);
    let end = range.get("end").map_or(0.0, number);
    ValueMatcher::Between(start, end)
}

/// A double, which may be in quotes.
fn number(raw: Raw<'_>) -> f64 {
    raw.text().trim_matches('"').parse().unwrap_or_default()
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) | Value::Number(text) => text.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null => "null".to_owned(),
        Value::Array(items) => {
            let texts: Vec<_> = items.iter().map(|item| text_of(&item.value)).collect();
            texts.join(", ")
        }
        Value::Object(_) => "{…}".to_owned(),
    }
}
