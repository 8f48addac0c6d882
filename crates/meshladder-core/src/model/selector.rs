//! Label selectors (`metav1.LabelSelector`).

use crate::doc::tree::{Node, Value};

/// Whether `labels` (an object of strings) carries every pair of `wanted` (another one).
pub fn has_labels(wanted: &Node, labels: Option<&Node>) -> bool {
    wanted.members().iter().all(|m| labels.and_then(|l| l.get(&m.key)).is_some_and(|l| l.str() == m.value.str()))
}

/// Whether a `LabelSelector` accepts `labels`. "An empty label selector matches all objects. A null label selector
/// matches no objects."
pub fn accepts(selector: &Node, labels: Option<&Node>) -> bool {
    if selector.value == Value::Null {
        return false;
    }
    let pairs = selector.get("matchLabels").is_none_or(|wanted| has_labels(wanted, labels));
    let expressions = selector.get("matchExpressions").map_or(&[][..], Node::items);
    pairs && expressions.iter().all(|e| expression(e, labels))
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
    use crate::doc::json::Raw;

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
            (r#"{"matchExpressions":[{"key":"app","operator":"In","values":["a","cart"]}]}"#, true),
            (r#"{"matchExpressions":[{"key":"app","operator":"NotIn","values":["cart"]}]}"#, false),
            (r#"{"matchExpressions":[{"key":"tier","operator":"NotIn","values":["x"]}]}"#, true),
            (r#"{"matchExpressions":[{"key":"tier","operator":"Exists"}]}"#, false),
            (r#"{"matchExpressions":[{"key":"tier","operator":"DoesNotExist"}]}"#, true),
            (r#"{"matchExpressions":[{"key":"app","operator":"Like"}]}"#, false),
        ] {
            assert_eq!(accepts(&node(selector), Some(&labels)), expected, "{selector}");
        }
        assert!(!has_labels(&node(r#"{"a":"b"}"#), None) && has_labels(&node("{}"), None));
    }
}
