//! Log levels: of each proxy, and what is not at its default.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Table;
use crate::json::to_line;
use meshladder_capture::envoy::logging::{ComponentLevel, LogLevels};
use serde::Serialize;

/// The levels of one proxy, or why they are not known.
#[derive(Clone, Debug)]
pub struct ProxyLevels {
    /// `pod.namespace`
    pub pod: String,
    /// What `/logging` tells.
    pub levels: Result<LogLevels, String>,
}

/// A component of a proxy, or a scope of an istiod, that is not at its default.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RaisedLevel {
    /// `pod.namespace`
    pub pod: String,
    /// Such as `rbac`.
    pub component: String,
    /// What it is at.
    pub level: String,
    /// What it starts with.
    pub default: String,
}

/// A proxy a row: the level of most components, and those that have another.
pub fn levels(rows: &[ProxyLevels]) -> Table<'_> {
    let mut table = Table::new(3, &["POD", "LEVEL", "EXCEPT"]);
    for row in rows {
        let (level, except) = match &row.levels {
            Ok(levels) => told(levels),
            Err(_) => ("unknown".to_owned(), String::new()),
        };
        let except = if except.is_empty() {
            "-".to_owned()
        } else {
            except
        };
        table.row([
            Cow::Borrowed(row.pod.as_str()),
            Cow::Owned(level),
            Cow::Owned(except),
        ]);
    }
    table
}

fn told(levels: &LogLevels) -> (String, String) {
    let Some(usual) = levels.usual() else {
        return ("unknown".to_owned(), String::new());
    };
    let except: Vec<String> = levels
        .except(usual)
        .map(|(name, level)| format!("{name}:{level}"))
        .collect();
    (usual.to_string(), except.join(","))
}

/// A component or scope a row.
pub fn audit(all: &[RaisedLevel]) -> Table<'_> {
    let mut table = Table::new(3, &["POD", "COMPONENT", "LEVEL", "DEFAULT"]);
    for off in all {
        table.row(
            [&off.pod, &off.component, &off.level, &off.default]
                .map(|cell| Cow::Borrowed(cell.as_str())),
        );
    }
    table
}

/// The levels of each proxy; one that could not be asked has `unknown` instead.
pub fn levels_json(rows: &[ProxyLevels]) -> String {
    let mut pods = Vec::new();
    for row in rows {
        let levels = row.levels.as_ref();
        pods.push(PodLevels {
            pod: &row.pod,
            levels: levels.ok().map(|LogLevels(levels)| words(levels)),
            unknown: levels.err().map(String::as_str),
        });
    }
    to_line(&LevelsJson { pods })
}

fn words(levels: &BTreeMap<String, ComponentLevel>) -> BTreeMap<&str, String> {
    let mut words = BTreeMap::new();
    for (component, level) in levels {
        words.insert(component.as_str(), level.to_string());
    }
    words
}

/// What is not at its default, and the pods that could not be asked with why.
pub fn audit_json(all: &[RaisedLevel], unknown: &[(String, String)], examined: usize) -> String {
    let mut lost = Vec::new();
    for (pod, why) in unknown {
        lost.push(UnknownPod { pod, why });
    }
    to_line(&AuditJson {
        not_at_default: all,
        unknown: lost,
        examined,
    })
}

#[derive(Serialize)]
struct LevelsJson<'a> {
    pods: Vec<PodLevels<'a>>,
}

#[derive(Serialize)]
struct PodLevels<'a> {
    pod: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    levels: Option<BTreeMap<&'a str, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<&'a str>,
}

#[derive(Serialize)]
struct AuditJson<'a> {
    not_at_default: &'a [RaisedLevel],
    unknown: Vec<UnknownPod<'a>>,
    examined: usize,
}

#[derive(Serialize)]
struct UnknownPod<'a> {
    pod: &'a str,
    why: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<ProxyLevels> {
        let levels =
            LogLevels::parse("active loggers:\n  a: warning\n  b: warning\n  rbac: debug\n")
                .expect("levels");
        let plain = LogLevels::parse("active loggers:\n  a: info\n").expect("levels");
        vec![
            ProxyLevels {
                pod: "cart-1.shop".to_owned(),
                levels: Ok(levels),
            },
            ProxyLevels {
                pod: "cart-2.shop".to_owned(),
                levels: Ok(plain),
            },
            ProxyLevels {
                pod: "z.mesh".to_owned(),
                levels: Err("no \"Envoy\"".to_owned()),
            },
        ]
    }

    #[test]
    fn a_proxy_is_told_by_its_usual_level_and_what_differs() {
        let expected = "POD           LEVEL     EXCEPT\ncart-1.shop   warning   rbac:debug\ncart-2.shop   info      -\nz.mesh        unknown   -\n";
        assert_eq!(levels(&rows()).to_string(), expected);
        let expected = r#"{"pods":[{"pod":"cart-1.shop","levels":{"a":"warning","b":"warning","rbac":"debug"}},{"pod":"cart-2.shop","levels":{"a":"info"}},{"pod":"z.mesh","unknown":"no \"Envoy\""}]}"#;
        assert_eq!(levels_json(&rows()), expected);
    }

    #[test]
    fn what_is_not_at_its_default_is_told_with_its_default() {
        let off = RaisedLevel {
            pod: "cart-1.shop".to_owned(),
            component: "rbac".to_owned(),
            level: "debug".to_owned(),
            default: "warning".to_owned(),
        };
        assert_eq!(
            audit(std::slice::from_ref(&off)).to_string(),
            "POD           COMPONENT   LEVEL   DEFAULT\ncart-1.shop   rbac        debug   warning\n"
        );
        let expected = r#"{"not_at_default":[{"pod":"cart-1.shop","component":"rbac","level":"debug","default":"warning"}],"unknown":[{"pod":"x","why":"gone"}],"examined":2}"#;
        assert_eq!(
            audit_json(&[off], &[("x".to_owned(), "gone".to_owned())], 2),
            expected
        );
    }
}
