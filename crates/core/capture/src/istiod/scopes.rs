//! ControlZ's `/scopej/`: what an istiod logs, scope by scope.

use std::collections::BTreeMap;

use crate::envoy::logging::defaults::{container_args, value_of};
use meshladder_text::json::{Raw, TextFault, ValueKind};
use meshladder_text::tree::{Node, Value};

/// One scope of an istiod's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogScope {
    /// `ads`, `default`, …
    pub name: String,
    /// `none`, `error`, `warn`, `info`, `debug`
    pub level: String,
    /// From which level on entries come with a stack trace.
    stack_trace_level: String,
    log_callers: bool,
    description: String,
}

/// Reads the list.
///
/// # Errors
/// When it is no list.
pub fn read(text: &str) -> Result<Vec<LogScope>, TextFault> {
    let list = Raw::of(text)?;
    if list.kind() != ValueKind::Array {
        return Err(TextFault::new(0, "it is no list of scopes"));
    }
    let mut scopes = Vec::new();
    for element in list.elements() {
        let scope = LogScope::of(element);
        if !scope.name.is_empty() && !scope.level.is_empty() {
            scopes.push(scope);
        }
    }
    Ok(scopes)
}

impl LogScope {
    fn of(scope: Raw<'_>) -> Self {
        let text = |key| scope.string_at(key).unwrap_or_default().into_owned();
        Self {
            name: text("name"),
            level: text("output_level"),
            stack_trace_level: text("stack_trace_level"),
            log_callers: scope.get("log_callers").and_then(Raw::bool) == Some(true),
            description: text("description"),
        }
    }

    /// What ControlZ takes at `/scopej/<name>` to set another level and keep the rest.
    pub fn with_level(&self, level: &str) -> String {
        let scope = [
            ("name", Value::from(&self.name)),
            ("description", Value::from(&self.description)),
            ("output_level", Value::from(level)),
            ("stack_trace_level", Value::from(&self.stack_trace_level)),
            ("log_callers", Value::from(self.log_callers)),
        ];
        Value::object(scope).to_json()
    }
}

/// The levels an istiod starts with: `--log_output_level=default:info,ads:debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultScopes {
    all: String,
    scopes: BTreeMap<String, String>,
}

impl DefaultScopes {
    /// What the pod's container `discovery` is started with; else Istio's own defaults:
    /// `default:info,grpc:none`.
    pub fn of_pod(pod: &Node) -> Self {
        let args = container_args(pod, "containers", "discovery").unwrap_or_default();
        let mut defaults = Self {
            all: "info".to_owned(),
            scopes: BTreeMap::from([("grpc".to_owned(), "none".to_owned())]),
        };
        let list = value_of(&args, "--log_output_level").unwrap_or_default();
        for part in list.split(',').map(str::trim) {
            match part.split_once(':') {
                Some(("default", level)) => level.clone_into(&mut defaults.all),
                Some(("all", level)) => {
                    level.clone_into(&mut defaults.all);
                    defaults.scopes.clear();
                }
                Some((scope, level)) => {
                    defaults.scopes.insert(scope.to_owned(), level.to_owned());
                }
                None if part.is_empty() => {}
                None => part.clone_into(&mut defaults.all),
            }
        }
        defaults
    }

    /// The level a scope starts with.
    pub fn of(&self, scope: &str) -> &str {
        self.scopes.get(scope).unwrap_or(&self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_and_written_back_with_another_level() {
        let text = r#"[{"name":"ads","description":"ads \"debugging\"","output_level":"debug","stack_trace_level":"none","log_callers":true},{"name":""}]"#;
        let scopes = read(text).expect("JSON");
        assert_eq!(scopes.len(), 1);
        assert_eq!(
            (scopes[0].name.as_str(), scopes[0].level.as_str()),
            ("ads", "debug")
        );
        let expected = r#"{"name":"ads","description":"ads \"debugging\"","output_level":"info","stack_trace_level":"none","log_callers":true}"#;
        assert_eq!(scopes[0].with_level("info"), expected);
        assert!(read("<html>").is_err());
    }

    #[test]
    fn an_istiod_starts_with_the_levels_of_its_arguments() {
        let of = |args: &str| {
            let pod =
                format!(r#"{{"spec":{{"containers":[{{"name":"discovery","args":{args}}}]}}}}"#);
            DefaultScopes::of_pod(&Node::from_json(Raw::of(&pod).expect("JSON")).expect("JSON"))
        };
        let named = of(r#"["discovery","--log_output_level=default:warn,ads:debug"]"#);
        assert_eq!((named.of("ads"), named.of("model")), ("debug", "warn"));
        assert_eq!((of("[]").of("ads"), of("[]").of("grpc")), ("info", "none"));
        assert_eq!(
            of(r#"["--log_output_level=all:debug"]"#).of("grpc"),
            "debug"
        );
        assert_eq!(of(r#"["--log_output_level","error"]"#).of("ads"), "error");
    }
}
