//! Fields that do not decide where a request goes, in words.

use meshladder_text::json::{Raw, ValueKind};

/// A field worth showing, and what it says.
pub(super) fn read(key: &str, value: Raw<'_>) -> Option<(&'static str, Box<str>)> {
    let (name, text) = match key {
        "timeout" => ("timeout", value.string()?.into()),
        "idle_timeout" => ("idle_timeout", value.string()?.into()),
        "max_stream_duration" => (
            "max_stream_duration",
            value.string_at("max_stream_duration")?.into(),
        ),
        "retry_policy" => ("retry_policy", retry(value)),
        "hash_policy" => (
            "hash_policy",
            value
                .elements()
                .map(hash)
                .collect::<Vec<_>>()
                .join(", ")
                .into(),
        ),
        "priority" => ("priority", value.string()?.into()),
        _ => return None,
    };
    Some((name, text))
}

fn retry(policy: Raw<'_>) -> Box<str> {
    // "num_retries: … This parameter is optional and defaults to 1."
    let times = policy.get("num_retries").and_then(Raw::number).unwrap_or(1);
    let on = policy.string_at("retry_on").unwrap_or_default();
    let each = policy
        .string_at("per_try_timeout")
        .map(|timeout| format!(", {timeout} each"))
        .unwrap_or_default();
    format!("{times} on {on}{each}").into()
}

fn hash(policy: Raw<'_>) -> String {
    let Some((kind, value)) = policy
        .members()
        .find(|(_, value)| value.kind() == ValueKind::Object)
    else {
        return "unknown".to_owned();
    };
    let named = |key: &str| value.string_at(key).unwrap_or_default();
    match &*kind {
        "header" => format!("header {}", named("header_name")),
        "cookie" => format!("cookie {}", named("name")),
        "query_parameter" => format!("query parameter {}", named("name")),
        "filter_state" => format!("filter state {}", named("key")),
        "connection_properties" => "source address".to_owned(),
        other => other.to_owned(),
    }
}
