//! `log-level`: log levels of running proxies: shown, held up for a while, audited, set back.

use std::cell::RefCell;
use std::collections::BTreeMap;

use meshladder_core::envoy::logging::{Change, Defaults, Levels, Wanted};
use meshladder_core::tables::log_level::{Row, levels, levels_json};

use super::live;
use crate::args::log_level::LogLevel;
use crate::args::{Global, TextOrJson};
use crate::exit::{Failure, NOT_ALLOWED, Outcome, UNREADABLE, USAGE};
use crate::out;

mod audit;
pub(super) mod pods;
mod raise;
mod told;

use pods::Found;

/// More pods than this need a yes.
const MANY: usize = 5;

pub(super) fn run(global: &Global, args: &LogLevel) -> Outcome {
    if !global.source.is_empty() {
        let hint = "`meshladder pc log POD -s PATH` lists the levels of a capture";
        return Err(Failure::new(USAGE, "log-level asks running proxies, not what -s names").hint(hint));
    }
    let wanted = |text: &str| Wanted::parse(text).map_err(|why| Failure::new(USAGE, why));
    if let Some(text) = &args.level {
        return raise::run(global, args, &wanted(text)?);
    }
    let restore = args.restore.as_deref().map(wanted).transpose()?;
    if restore.is_some() && args.targets.is_empty() {
        return Err(Failure::new(USAGE, "--restore needs a pod: the levels are those of one"));
    }
    let session = live::connect(global)?;
    let found = pods::find(session, global, &args.targets, args.reset || args.audit)?;
    match restore {
        Some(wanted) => set(&found, args, &|_, levels| wanted.on(levels).map_err(pods::no_component)),
        None if args.audit => audit::run(&found, args),
        None if args.reset => reset(&found, args),
        None => show(&found, args),
    }
}

fn show(found: &Found, args: &LogLevel) -> Outcome {
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
    if why.starts_with("no right") { NOT_ALLOWED } else { UNREADABLE }
}

/// What each proxy says.
fn rows(found: &Found, port: u16) -> Vec<Row> {
    let read = |text: String| Levels::parse(&text).ok_or_else(|| "it lists no loggers".to_owned());
    let answers = found.session.levels(&found.pods, port).into_iter();
    answers.map(|(pod, answer)| Row { pod: pod.to_string(), levels: answer.and_then(read) }).collect()
}

fn reset(found: &Found, args: &LogLevel) -> Outcome {
    let plan = |defaults: &Defaults, levels: &Levels| {
        let missed = defaults.missed_by(levels);
        let step = |(name, to)| levels.0.get(&name).map(|from| (name, (*from, to)));
        Change { steps: missed.into_iter().filter_map(step).collect(), wanted: Wanted::default() }
    };
    if found.pods.len() > MANY && !args.yes {
        let rows = rows(found, args.proxy_admin_port);
        let off = rows.iter().filter(|row| {
            let pod = found.pods.iter().find(|pod| pod.to_string() == row.pod);
            let levels = row.levels.as_ref().ok();
            pod.zip(levels).is_some_and(|(pod, levels)| !plan(&found.defaults(pod), levels).steps.is_empty())
        });
        let names: Vec<&str> = off.map(|row| row.pod.as_str()).collect();
        if names.len() > MANY {
            let message = format!("levels of {} pods would be set: {}", names.len(), names.join(", "));
            return Err(Failure::new(USAGE, message).hint("--yes does it"));
        }
    }
    let code = set(found, args, &|pod, levels| Ok(plan(&found.defaults(pod), levels)))?;
    let scopes = if args.targets.is_empty() { audit::reset_scopes(found) } else { 0 };
    Ok(code.max(scopes))
}

/// Sets what is planned, and tells what changed.
fn set(found: &Found, args: &LogLevel, plan: &meshladder_collect::live::Plan<'_>) -> Outcome {
    let changes = RefCell::new(BTreeMap::new());
    let noted = |pod: &_, levels: &Levels| {
        let change = plan(pod, levels)?;
        changes.borrow_mut().insert(format!("{pod}"), change.clone());
        Ok(change)
    };
    let answers = found.session.set_levels(&found.pods, args.proxy_admin_port, &noted);
    let changes = changes.into_inner();
    let mut code = 0;
    for (pod, answer) in answers {
        match (answer, changes.get(&pod.to_string())) {
            (Ok(_), Some(change)) if !change.steps.is_empty() => out::note(&format!("{pod}: {}", told::steps(change))),
            (Ok(_), _) => out::note(&format!("{pod}: nothing to set")),
            (Err(why), _) => {
                out::warn(&format!("{pod}: {why}"));
                code = unread_code(&why);
            }
        }
    }
    Ok(code)
}
