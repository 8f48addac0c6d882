//! Label selectors (`metav1.LabelSelector`).

use std::fmt;

use meshladder_text::tree::{Node, Value};

/// Whether `labels` (an object of strings) carries every pair of `wanted` (another one).
pub fn has_labels(wanted: &Node, labels: Option<&Node>) -> bool {
    wanted.members().iter().all(|m| {
        labels
            .and_then(|l| l.get(&m.key))
            .is_some_and(|l| l.str() == m.value.str())
    })
}

/// Whether a `LabelSelector` accepts `labels`. "An empty label selector matches all objects. A null
/// label selector matches no objects."
pub fn accepts(selector: &Node, labels: Option<&Node>) -> bool {
    selector.value != Value::Null && unmet(selector, labels).is_none()
}

/// The first requirement of a `LabelSelector` that `labels` does not meet.
pub fn unmet<'a>(selector: &'a Node, labels: Option<&'a Node>) -> Option<LabelMismatch<'a>> {
    let label = |key: &str| labels.and_then(|l| l.get(key)).and_then(Node::str);
    let pairs = selector
        .get("matchLabels")
        .map_or(&[][..], Node::members)
        .iter();
    let mut pairs = pairs.filter(|m| label(&m.key).is_none_or(|has| Some(has) != m.value.str()));
    if let Some(pair) = pairs.next() {
        let wanted = LabelRule::Value(pair.value.str().unwrap_or_default());
        return Some(LabelMismatch {
            node: &pair.value,
            key: &pair.key,
            has: label(&pair.key),
            wanted,
        });
    }
    let expressions = selector
        .get("matchExpressions")
        .map_or(&[][..], Node::items);
    let node = expressions.iter().find(|e| !expression(e, labels))?;
    let key = node.str_at("key").unwrap_or_default();
    Some(LabelMismatch {
        node,
        key,
        has: label(key),
        wanted: LabelRule::Expression,
    })
}

/// A requirement that is not met. Its text goes on after the name of what has the labels: `has no
/// label app=cart`.
#[derive(Clone, Copy, Debug)]
pub struct LabelMismatch<'a> {
    /// The requirement: the value of a `matchLabels` pair, or a `matchExpressions` entry.
    pub node: &'a Node,
    /// The label's key.
    pub key: &'a str,
    /// The label's value, if there is such a label.
    pub has: Option<&'a str>,
    wanted: LabelRule<'a>,
}

#[derive(Clone, Copy, Debug)]
enum LabelRule<'a> {
    Value(&'a str),
    /// See the node.
    Expression,
}

impl fmt::Display for LabelMismatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            node,
            key,
            has,
            wanted,
        } = self;
        let values: Vec<&str> = match wanted {
            LabelRule::Value(value) => vec![value],
            LabelRule::Expression if node.str_at("operator") == Some("In") => node
                .get("values")
                .map_or(&[][..], Node::items)
                .iter()
                .filter_map(Node::str)
                .collect(),
            LabelRule::Expression => Vec::new(),
        };
        match (has, &values[..]) {
            (None, []) => write!(f, "has no label {key}"),
            (None, values) => write!(f, "has no label {key}={}", values.join("|")),
            (Some(has), []) => write!(f, "has label {key}={has}"),
            (Some(has), values) => write!(f, "has label {key}={has}, not {}", values.join("|")),
        }
    }
}

/// Whether the text of `kubectl -l` accepts `labels`: `app=cart,version!=v2,track,!legacy`. None
/// when it is no such text.
pub fn text_accepts(text: &str, labels: Option<&Node>) -> Option<bool> {
    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key.trim()))
            .and_then(Node::str)
    };
    let one = |part: &str| {
        let part = part.trim();
        let (key, fits) = if let Some((key, value)) = part.split_once("!=") {
            (key, label(key) != Some(value.trim()))
        } else if let Some((key, value)) = part.split_once('=') {
            (
                key,
                label(key) == Some(value.trim_start_matches('=').trim()),
            )
        } else if let Some(key) = part.strip_prefix('!') {
            (key, label(key).is_none())
        } else {
            (part, label(part).is_some())
        };
        let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        (!key.trim().is_empty() && key.trim().bytes().all(is_key)).then_some(fits)
    };
    let parts: Option<Vec<bool>> = text.split(',').map(one).collect();
    parts.map(|parts| parts.into_iter().all(|fits| fits))
}

fn expression(expression: &Node, labels: Option<&Node>) -> bool {
    let key = expression.str_at("key").unwrap_or_default();
    let label = labels.and_then(|l| l.get(key)).and_then(Node::str);
    let values = expression.get("values").map_or(&[][..], Node::items);
    let listed = label.is_some_and(|label| values.iter().any(|v| v.str() == Some(label)));
    match expression.str_at("operator") {
        Some("In") => listed,
        // "If the operator is NotIn […] an object without the key matches too."
        Some("NotIn") => !listed,
        Some("Exists") => label.is_some(),
        Some("DoesNotExist") => label.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_text::json::Raw;

    fn node(doc: &str) -> Node {
        Node::from_json(Raw::of(doc).expect("a value")).expect("JSON")
    }

    #[test]
    fn selectors_mean_what_kubernetes_says() {
        let labels = node(r#"{"app":"cart","version":"v1"}"#);
        for (selector, expected) in [
            ("{}", true),
            ("null", false),
            (r#"{"matchLabels":{"app":"cart"}}"#, true),
            (r#"{"matchLabels":{"app":"cart","tier":"x"}}"#, false),
            (
                r#"{"matchExpressions":[{"key":"app","operator":"In","values":["a","cart"]}]}"#,
                true,
            ),
            (
                r#"{"matchExpressions":[{"key":"app","operator":"NotIn","values":["cart"]}]}"#,
                false,
            ),
            (
                r#"{"matchExpressions":[{"key":"tier","operator":"NotIn","values":["x"]}]}"#,
                true,
            ),
            (
                r#"{"matchExpressions":[{"key":"tier","operator":"Exists"}]}"#,
                false,
            ),
            (
                r#"{"matchExpressions":[{"key":"tier","operator":"DoesNotExist"}]}"#,
                true,
            ),
            (
                r#"{"matchExpressions":[{"key":"app","operator":"Like"}]}"#,
                false,
            ),
        ] {
            assert_eq!(
                accepts(&node(selector), Some(&labels)),
                expected,
                "{selector}"
            );
        }
        assert!(!has_labels(&node(r#"{"a":"b"}"#), None) && has_labels(&node("{}"), None));
    }

    #[test]
    fn what_is_not_met_is_said() {
        let labels = node(r#"{"app":"cart"}"#);
        for (selector, expected) in [
            (
                r#"{"matchLabels":{"app":"cart","tier":"x"}}"#,
                "has no label tier=x",
            ),
            (
                r#"{"matchLabels":{"app":"web"}}"#,
                "has label app=cart, not web",
            ),
            (
                r#"{"matchExpressions":[{"key":"app","operator":"In","values":["a","b"]}]}"#,
                "has label app=cart, not a|b",
            ),
            (
                r#"{"matchExpressions":[{"key":"tier","operator":"In","values":["a","b"]}]}"#,
                "has no label tier=a|b",
            ),
            (
                r#"{"matchExpressions":[{"key":"app","operator":"NotIn","values":["cart"]}]}"#,
                "has label app=cart",
            ),
            (
                r#"{"matchExpressions":[{"key":"tier","operator":"Exists"}]}"#,
                "has no label tier",
            ),
            (
                r#"{"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]}"#,
                "has label app=cart",
            ),
        ] {
            let selector = node(selector);
            assert_eq!(
                unmet(&selector, Some(&labels))
                    .map(|unmet| unmet.to_string())
                    .as_deref(),
                Some(expected)
            );
        }
        assert!(unmet(&node("{}"), None).is_none());
    }

    #[test]
    fn a_selector_as_text_is_a_list_of_requirements() {
        let labels = node(r#"{"app":"cart","version":"v1"}"#);
        let fits = |text: &str| text_accepts(text, Some(&labels));
        for text in [
            "app=cart",
            "app==cart, version!=v2",
            "version",
            "!legacy,app=cart",
        ] {
            assert_eq!(fits(text), Some(true), "{text}");
        }
        for text in ["app=web", "app=cart,version!=v1", "track", "!app"] {
            assert_eq!(fits(text), Some(false), "{text}");
        }
        for text in ["", "app in (cart)", "=x", "app=cart,"] {
            assert_eq!(fits(text), None, "{text}");
        }
    }
}
