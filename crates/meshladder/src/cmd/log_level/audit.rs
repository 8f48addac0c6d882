//! What is not at its default: components of proxies, scopes of istiods.

use std::collections::BTreeMap;

use meshladder_capture::istiod::scopes::{self, DefaultScopes, LogScope};
use meshladder_capture::snapshot::ProxyRef;
use meshladder_output::tables::log_level::{Off, audit, audit_json};

use super::pods::{Found, each_pod};
use super::{missed, rows};
use crate::args::TextOrJson;
use crate::args::log_level::LogLevel;
use crate::exit::{Outcome, UNDECIDED};
use crate::out;

/// Something is not at its default.
const OFF: u8 = 1;

pub(super) fn run(found: &Found, args: &LogLevel) -> Outcome {
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
                    Off {
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
            Ok(all) => off.extend(all.into_iter().map(|(scope, default)| Off {
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
    off: &[Off],
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

type Missed = Vec<(ProxyRef, Result<Vec<(LogScope, String)>, String>)>;

/// Of each istiod the scopes that are not at their default, with it.
fn scopes(found: &Found, istiods: &[ProxyRef]) -> Missed {
    let mut defaults = BTreeMap::new();
    each_pod(&found.snapshot, |pod, node| {
        if istiods.contains(&pod) {
            defaults.insert(pod, DefaultScopes::of_pod(node));
        }
    });
    let missed = |pod: &ProxyRef, text: String| {
        let all = scopes::read(&text).map_err(|_| "ControlZ did not list scopes".to_owned())?;
        let default = |scope: &LogScope| {
            defaults
                .get(pod)
                .map_or("info", |defaults| defaults.of(&scope.name))
                .to_owned()
        };
        let pairs = all.into_iter().map(|scope| (default(&scope), scope));
        Ok(pairs
            .filter(|(default, scope)| *default != scope.level)
            .map(|(default, scope)| (scope, default))
            .collect())
    };
    let answers = found.session.scopes(istiods).into_iter();
    answers
        .map(|(pod, answer)| (pod.clone(), answer.and_then(|text| missed(&pod, text))))
        .collect()
}

/// Sets scopes back; gives the exit code.
pub(super) fn reset_scopes(found: &Found) -> u8 {
    let mut code = 0;
    for (istiod, answer) in scopes(found, &found.session.istiods()) {
        let answer = answer.map_err(|why| format!("its scopes are not known: {why}"));
        let set = answer.and_then(|all| {
            let bodies: Vec<_> = all
                .iter()
                .map(|(scope, to)| (scope.name.clone(), scope.with_level(to)))
                .collect();
            if !bodies.is_empty() {
                let cannot = |why| format!("its scopes cannot be set: {why}");
                found.session.set_scopes(&istiod, &bodies).map_err(cannot)?;
            }
            Ok(all)
        });
        match set {
            Ok(all) => {
                for (scope, to) in all {
                    out::note(&format!("{istiod}: {} {} → {to}", scope.name, scope.level));
                }
            }
            Err(why) => {
                out::warn(&format!("{istiod}: {why}"));
                code = UNDECIDED;
            }
        }
    }
    code
}
