//! `log-level`: log levels of running proxies: shown, held up for a while, audited, set back.

use std::cell::RefCell;
use std::collections::BTreeMap;

use meshladder_capture::envoy::logging::{ComponentLevel, LevelChange, LevelRequest, LogLevels};
use meshladder_capture::snapshot::ProxyRef;
use meshladder_collect::live::Plan;
use meshladder_output::tables::log_level::{ProxyLevels, levels, levels_json};

use super::live;
use crate::args::log_level::LogLevel;
use crate::args::{Global, TextOrJson};
use crate::exit::{Failure, NOT_ALLOWED, Outcome, UNREADABLE, USAGE};
use crate::out;

mod audit;
pub(super) mod pods;
mod raise;
mod told;

use pods::PodSelection;

/// The only logger that every ztunnel has, and no Envoy.
const ZTUNNEL: &str = "default";

/// More pods than this need a yes.
const MANY: usize = 5;

pub(super) fn run(global: &Global, args: &LogLevel) -> Outcome {
    if !global.source.is_empty() {
        let hint = "`meshladder pc log POD -s PATH` lists the levels of a capture";
        return Err(
            Failure::new(USAGE, "log-level asks running proxies, not what -s names").hint(hint),
        );
    }
    let wanted = |text: &str| LevelRequest::parse(text).map_err(|why| Failure::new(USAGE, why));
    if let Some(text) = &args.level {
        return raise::run(global, args, &wanted(text)?);
    }
    let restore = args.restore.as_deref().map(wanted).transpose()?;
    if restore.is_some() && args.targets.is_empty() {
        return Err(Failure::new(
            USAGE,
            "--restore needs a pod: the levels are those of one",
        ));
    }
    let session = live::connect_only(global)?;
    let mut found = pods::find(session, global, &args.targets, args.reset || args.audit)?;
    match restore {
        Some(wanted) => Ok(set(&found, args, &|_, levels| wanted.on(levels))),
        None if args.audit => audit::run(&found, args),
        None if args.reset => reset(&mut found, args),
        None => show(&found, args),
    }
}

fn show(found: &PodSelection, args: &LogLevel) -> Outcome {
    let rows = rows(found, args.proxy_admin_port);
    match args.output {
        TextOrJson::Json => out::text(&format!("{}\n", levels_json(&rows)))?,
        TextOrJson::Text => out::text(&levels(&rows).to_string())?,
    }
    let mut code = 0;
    for row in &rows {
        if let Err(why) = &row.levels {
            out::warn(&format!("{}: {why}", row.pod));
            code = unread_code(why);
        }
    }
    Ok(code)
}

fn unread_code(why: &str) -> u8 {
    if why.starts_with("no right") {
        NOT_ALLOWED
    } else {
        UNREADABLE
    }
}

/// What each proxy says; a ztunnel has other words for it.
fn rows(found: &PodSelection, port: u16) -> Vec<ProxyLevels> {
    let read = |text: String| {
        let levels = LogLevels::parse(&text).or_else(|| LogLevels::parse_ztunnel(&text));
        levels.ok_or_else(|| {
            format!(
                "it lists no loggers: {}",
                text.lines().next().unwrap_or_default()
            )
        })
    };
    let answers = found.session.levels(&found.pods, port).into_iter();
    answers
        .map(|(pod, answer)| ProxyLevels {
            pod: pod.to_string(),
            levels: answer.and_then(read),
        })
        .collect()
}

/// What is not at its default, with it. What a ztunnel starts with is `info`.
fn missed(
    found: &PodSelection,
    pod: &ProxyRef,
    levels: &LogLevels,
) -> BTreeMap<String, ComponentLevel> {
    match levels.0.get(ZTUNNEL) {
        Some(ComponentLevel::Info) => BTreeMap::new(),
        Some(_) => [(ZTUNNEL.to_owned(), ComponentLevel::Info)].into(),
        None => found.defaults(pod).missed_by(levels),
    }
}

fn reset(found: &mut PodSelection, args: &LogLevel) -> Outcome {
    let mut code = 0;
    let mut plans = BTreeMap::new();
    for (pod, row) in found.pods.iter().zip(rows(found, args.proxy_admin_port)) {
        match row.levels {
            Err(why) => {
                out::warn(&format!("{pod}: {why}"));
                code = unread_code(&why);
            }
            Ok(levels) if levels.0.contains_key(ZTUNNEL) => {}
            Ok(levels) => drop(plans.insert(pod.clone(), missed(found, pod, &levels))),
        }
    }
    plans.retain(|_, missed| !missed.is_empty());
    if plans.len() > MANY && !args.yes {
        let names: Vec<String> = plans.keys().map(ToString::to_string).collect();
        let message = format!(
            "levels of {} pods would be set: {}",
            names.len(),
            names.join(", ")
        );
        return Err(Failure::new(USAGE, message).hint("--yes does it"));
    }
    found.pods = plans.keys().cloned().collect();
    let plan = |pod: &ProxyRef, levels: &LogLevels| {
        let step = |(name, to): (&String, &ComponentLevel)| {
            levels.0.get(name).map(|from| (name.clone(), (*from, *to)))
        };
        let steps = plans
            .get(pod)
            .into_iter()
            .flatten()
            .filter_map(step)
            .collect();
        Ok(LevelChange {
            steps,
            wanted: LevelRequest::default(),
        })
    };
    let set = set(found, args, &plan);
    if found.pods.is_empty() && code == 0 {
        out::note("every proxy is at its defaults");
    }
    let scopes = if args.targets.is_empty() {
        audit::reset_scopes(found)
    } else {
        0
    };
    Ok(code.max(set).max(scopes))
}

/// Sets what is planned, and tells what changed.
fn set(found: &PodSelection, args: &LogLevel, plan: &Plan<'_>) -> u8 {
    let changes = RefCell::new(BTreeMap::new());
    let noted = |pod: &_, levels: &LogLevels| {
        let change = plan(pod, levels)?;
        changes
            .borrow_mut()
            .insert(format!("{pod}"), change.clone());
        Ok(change)
    };
    let answers = found
        .session
        .set_levels(&found.pods, args.proxy_admin_port, &noted);
    let changes = changes.into_inner();
    let mut code = 0;
    for (pod, answer) in answers {
        match (answer, changes.get(&pod.to_string())) {
            (Ok(_), Some(change)) if !change.steps.is_empty() => {
                out::note(&format!("{pod}: {}", told::steps(change)));
            }
            (Ok(_), _) => out::note(&format!("{pod}: nothing to set")),
            (Err(why), _) => {
                out::warn(&format!("{pod}: {why}"));
                code = unread_code(&why);
            }
        }
    }
    code
}
