//! What was probably meant.

use super::describe::{FieldType, KindSchema, MessageSchema};
use crate::schema::describe::DurationRule;
use meshladder_text::near;
use meshladder_text::tree::{Node, Value};

/// The field that a name was meant to be, when only one is near.
pub(super) fn field(message: &'static MessageSchema, key: &str) -> Option<&'static str> {
    name(message.fields.iter().map(|field| field.name), key)
}

/// The one of the names that is near: the same but for case and separators, or a slip of the
/// finger.
pub(super) fn name(
    names: impl Iterator<Item = &'static str>,
    wanted: &str,
) -> Option<&'static str> {
    let bare = bare(wanted);
    let most = match bare.len() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    let mut found: Vec<(usize, &str)> = names
        .map(|name| (distance(&bare, &self::bare(name)), name))
        .collect();
    found.sort_unstable();
    match found[..] {
        [(best, name), ..] if best <= most && found.get(1).is_none_or(|(next, _)| *next > best) => {
            Some(name)
        }
        _ => None,
    }
}

/// Two letters in the wrong order are one slip.
fn distance(a: &str, b: &str) -> usize {
    let differs: Vec<usize> = (0..a.len().min(b.len()))
        .filter(|&at| a.as_bytes()[at] != b.as_bytes()[at])
        .collect();
    match differs[..] {
        [i, j]
            if a.len() == b.len()
                && j == i + 1
                && a.as_bytes()[i] == b.as_bytes()[j]
                && a.as_bytes()[j] == b.as_bytes()[i] =>
        {
            1
        }
        _ => near::distance(a, b),
    }
}

fn bare(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// `per_try_timeout` as `perTryTimeout`; none for a name without an underscore.
pub(super) fn camel_case(key: &str) -> Option<String> {
    let mut words = key.split('_');
    let first = words.next()?.to_owned();
    (first.len() < key.len()).then(|| {
        words.fold(first, |mut name, word| {
            let mut letters = word.chars();
            name.extend(letters.next().map(|c| c.to_ascii_uppercase()));
            name.push_str(letters.as_str());
            name
        })
    })
}

/// Where in the kind there is a field of that name, when there is one place: `spec.http[]`.
pub(super) fn home(kind: &'static KindSchema, key: &str) -> Option<String> {
    let mut found = Vec::new();
    homes(kind.spec, key, "spec", &mut found);
    match &found[..] {
        [only] => Some(only.clone()),
        _ => None,
    }
}

fn homes(message: &'static MessageSchema, key: &str, path: &str, found: &mut Vec<String>) {
    if message.field(key).is_some() {
        found.push(path.to_owned());
    }
    for field in message.fields {
        let mut path = format!("{path}.{}", field.name);
        let mut of = &field.of;
        while let FieldType::List(inner, ..) | FieldType::Map(_, inner) = of {
            path.push_str("[]");
            of = inner;
        }
        if let FieldType::Of(inner) = of {
            homes(inner, key, &path, found);
        }
    }
}

/// The value in the type that was asked for, where it is plain: a number in quotes, one entry as a
/// list.
pub(super) fn in_type(node: &Node, of: &FieldType) -> Option<Value> {
    match (of, &node.value) {
        (FieldType::Text(_), Value::Number(text)) => Some(Value::String(text.clone())),
        (FieldType::Bool, Value::String(text)) if matches!(&**text, "true" | "false") => {
            Some(Value::Bool(&**text == "true"))
        }
        (FieldType::List(FieldType::Text(_), ..), Value::String(_))
        | (FieldType::List(FieldType::Of(_), ..), Value::Object(_)) => Some(Value::list([node])),
        _ => None,
    }
}

/// A type, for people.
pub(super) fn in_words(of: &FieldType) -> &'static str {
    match of {
        FieldType::Any | FieldType::Map(..) | FieldType::Of(_) => "an object",
        FieldType::Bool => "true or false",
        FieldType::Text(_) => "text",
        FieldType::Int(..) => "a whole number",
        FieldType::Number(..) => "a number",
        FieldType::Time(DurationRule::Gateway) => "a duration such as \"10s\"",
        FieldType::Time(_) => "a duration such as \"1.5s\"",
        FieldType::Enum(_) => "a name",
        FieldType::List(..) => "a list",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_near_name_is_a_guess_and_two_are_none() {
        for (wanted, names, guess) in [
            ("retry", &["retries", "route"][..], None),
            ("retrys", &["retries", "route"], Some("retries")),
            (
                "perTryTimeOut",
                &["perTryTimeout", "retryOn"],
                Some("perTryTimeout"),
            ),
            ("strict", &["UNSET", "STRICT", "DISABLE"], Some("STRICT")),
            ("simple_tls", &["SIMPLE", "MUTUAL"], None),
            ("host", &["hosts"], Some("hosts")),
            ("mtsl", &["mtls", "selector"], Some("mtls")),
            ("ab", &["ac"], None),
            ("paths", &["path1", "path2"], None),
        ] {
            assert_eq!(name(names.iter().copied(), wanted), guess, "{wanted}");
        }
    }

    #[test]
    fn underscores_become_capitals() {
        for (snake, camel) in [
            ("per_try_timeout", Some("perTryTimeout")),
            ("consecutive_5xx_errors", Some("consecutive5xxErrors")),
            ("http2_max_requests", Some("http2MaxRequests")),
            ("timeout", None),
            ("_", Some("")),
        ] {
            assert_eq!(camel_case(snake).as_deref(), camel, "{snake}");
        }
    }
}
