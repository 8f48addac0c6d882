//! Fields that do not decide where a request goes, in words.

use crate::message;
use meshladder_text::json::{Raw, ValueKind};

/// A field worth showing, and what it says.
pub(super) fn read(key: &str, value: Raw<'_>) -> Option<(&'static str, Box<str>)> {
    match key {
        "timeout" => Some(("timeout", value.string()?.into())),
        "idle_timeout" => Some(("idle_timeout", value.string()?.into())),
        "max_stream_duration" => {
            let duration = value.string_at("max_stream_duration")?;
            Some(("max_stream_duration", duration.into()))
        }
        "retry_policy" => Some(("retry_policy", retry(value))),
        "hash_policy" => {
            let policies: Vec<_> = value.elements().map(hash).collect();
            Some(("hash_policy", policies.join(", ").into()))
        }
        "priority" => Some(("priority", value.string()?.into())),
        _ => None,
    }
}

fn retry(policy: Raw<'_>) -> Box<str> {
    // "num_retries: … This parameter is optional and defaults to 1."
    let times = message::optional_number(policy, "num_retries").unwrap_or(1);
    let on = message::text(policy, "retry_on");
    match policy.string_at("per_try_timeout") {
        Some(timeout) => format!("{times} on {on}, {timeout} each").into(),
        None => format!("{times} on {on}").into(),
    }
}

fn hash(policy: Raw<'_>) -> String {
    let is_specifier = |(_, value): &(_, Raw<'_>)| value.kind() == ValueKind::Object;
    let Some((kind, value)) = policy.members().find(is_specifier) else {
        return "unknown".to_owned();
    };
    match &*kind {
        "header" => format!("header {}", message::text(value, "header_name")),
        "cookie" => format!("cookie {}", message::text(value, "name")),
        "query_parameter" => format!("query parameter {}", message::text(value, "name")),
        "filter_state" => format!("filter state {}", message::text(value, "key")),
        "connection_properties" => "source address".to_owned(),
        other => other.to_owned(),
    }
}
