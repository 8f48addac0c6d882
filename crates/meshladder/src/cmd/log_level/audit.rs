//! What is not at its default: components of proxies, scopes of istiods.

use std::collections::BTreeMap;

use meshladder_capture::istiod::scopes::{self, DefaultScopes, LogScope};
use meshladder_capture::snapshot::ProxyRef;
use meshladder_output::tables::log_level::{RaisedLevel, audit, audit_json};

use super::pods::{PodSelection, each_pod};
use super::{missed, rows};
use crate::args::TextOrJson;
use crate::args::log_level::LogLevel;
use crate::exit::{Outcome, UNDECIDED};
use crate::out;

/// Something is not at its default.
const OFF: u8 = 1;

pub(super) fn run(found: &PodSelection, args: &LogLevel) -> Outcome {
    let (mut off, mut unknown) = (Vec::new(), Vec::new());
    for (pod, row) in found.pods.iter().zip(rows(found, args.proxy_admin_port)) {
        match row.levels {
            Err(why) => unknown.push((row.pod, why)),
            Ok(levels) if levels.is_fine_grain() => {
                unknown.push((
                    row.pod,
                    "its loggers are source files: what they are at is not told".to_owned(),
                ));
            }
            Ok(levels) => off.extend(missed(found, pod, &levels).into_iter().map(
                |(component, default)| {
                    let level = levels
                        .0
                        .get(&component)
                        .map(ToString::to_string)
                        .unwrap_or_default();
                    RaisedLevel {
                        pod: row.pod.clone(),
                        component,
                        level,
                        default: default.to_string(),
                    }
                },
            )),
        }
    }
    let istiods = if args.targets.is_empty() {
        found.session.istiods()
    } else {
        Vec::new()
    };
    for (istiod, answer) in scopes(found, &istiods) {
        match answer {
            Ok(all) => off.extend(all.into_iter().map(|(scope, default)| RaisedLevel {
                pod: istiod.to_string(),
                component: scope.name,
                level: scope.level,
                default,
            })),
            Err(why) => unknown.push((
                istiod.to_string(),
                format!("its scopes are not known: {why}"),
            )),
        }
    }
    off.sort();
    tell(args, &off, &unknown, (found.pods.len(), istiods.len()))?;
    Ok(match (off.is_empty(), unknown.is_empty()) {
        (false, _) => OFF,
        (true, false) => UNDECIDED,
        (true, true) => 0,
    })
}

fn tell(
    args: &LogLevel,
    off: &[RaisedLevel],
    unknown: &[(String, String)],
    (proxies, istiods): (usize, usize),
) -> std::io::Result<()> {
    if args.output == TextOrJson::Json {
        return out::text(&format!(
            "{}\n",
            audit_json(off, unknown, proxies + istiods)
        ));
    }
    if !off.is_empty() {
        out::text(&audit(off).to_string())?;
    }
    for (pod, why) in unknown {
        out::warn(&format!("{pod}: {why}"));
    }
    if off.is_empty() {
        let known = (proxies + istiods).saturating_sub(unknown.len());
        out::note(&format!(
            "{known} of {} proxies and istiods log at their defaults",
            proxies + istiods
        ));
    }
    Ok(())
}

type ScopeReadings = Vec<(ProxyRef, Result<Vec<(LogScope, String)>, String>)>;

/// Of each istiod the scopes that are not at their default, with it.
fn scopes(found: &PodSelection, istiods: &[ProxyRef]) -> ScopeReadings {
    let mut defaults = BTreeMap::new();
    each_pod(&found.snapshot, |pod, node| {
        if istiods.contains(&pod) {
            defaults.insert(pod, DefaultScopes::of_pod(node));
        }
    });
    let mut readings = Vec::new();
    for (pod, answer) in found.session.scopes(istiods) {
        let changed = answer.and_then(|text| changed_scopes(&text, defaults.get(&pod)));
        readings.push((pod, changed));
    }
    readings
}

/// The scopes that are not at their default, each with it.
fn changed_scopes(
    text: &str,
    defaults: Option<&DefaultScopes>,
) -> Result<Vec<(LogScope, String)>, String> {
    let all = scopes::read(text).map_err(|_| "ControlZ did not list scopes".to_owned())?;
    let mut changed = Vec::new();
    for scope in all {
        let default = defaults.map_or("info", |defaults| defaults.of(&scope.name));
        if scope.level != default {
            changed.push((scope, default.to_owned()));
        }
    }
    Ok(changed)
}

/// Sets scopes back; gives the exit code.
pub(super) fn reset_scopes(found: &PodSelection) -> u8 {
    let mut code = 0;
    for (istiod, answer) in scopes(found, &found.session.istiods()) {
        match answer {
            Ok(changed) => match set_back(found, &istiod, &changed) {
                Ok(()) => continue,
                Err(why) => out::warn(&format!("{istiod}: its scopes cannot be set: {why}")),
            },
            Err(why) => out::warn(&format!("{istiod}: its scopes are not known: {why}")),
        }
        code = UNDECIDED;
    }
    code
}

fn set_back(
    found: &PodSelection,
    istiod: &ProxyRef,
    changed: &[(LogScope, String)],
) -> Result<(), String> {
    if changed.is_empty() {
        return Ok(());
    }
    let mut bodies = Vec::new();
    for (scope, default) in changed {
        bodies.push((scope.name.clone(), scope.with_level(default)));
    }
    found.session.set_scopes(istiod, &bodies)?;
    for (scope, default) in changed {
        let LogScope { name, level, .. } = scope;
        out::note(&format!("{istiod}: {name} {level} → {default}"));
    }
    Ok(())
}
