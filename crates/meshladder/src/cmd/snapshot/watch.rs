//! `snapshot --watch-for`: look again and again until something appears, then keep what was read.

use std::time::Duration;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Need, Shape, Snapshot};
use meshladder_capture::{access_log, flags};
use meshladder_collect::live::{ProxyWish, Purpose, Wish};
use meshladder_judge::ladder::Scope;
use meshladder_judge::rules::{self, Rule};
use meshladder_mesh::Mesh;

use super::{logs, objects, write};
use crate::args::Global;
use crate::args::snapshot::Snapshot as Args;
use crate::cmd::{ladder, live};
use crate::exit::{Failure, INTERRUPTED, Outcome, USAGE};
use crate::out;

/// Lines younger than this count as new, so that none falls between two looks.
const LEAST_WINDOW: Duration = Duration::from_secs(60);

/// What is waited for.
enum Trigger {
    Finding(&'static Rule),
    Flag(&'static str),
}

pub(super) fn run(global: &Global, args: &Args, text: &str) -> Outcome {
    let watched = Trigger::parse(text)?;
    let since = args
        .reading
        .since
        .unwrap_or_else(|| LEAST_WINDOW.max(args.every * 2));
    loop {
        match look(global, args, since, &watched) {
            Ok(None) => return Ok(INTERRUPTED),
            Ok(Some(snapshot)) => {
                if let Some(seen) = watched.seen_in(&snapshot) {
                    out::note(&format!("{text} appeared: {seen}"));
                    write(&snapshot, args)?;
                    return Ok(0);
                }
            }
            // A night is long: a cluster that does not answer now may do so at the next look.
            Err(failure) => out::warn(&format!("{}; looking again later", failure.message())),
        }
        std::thread::sleep(args.every);
    }
}

/// One look, with a deadline of its own; none when it was interrupted. Logs tell a flag, so only
/// when one has it is all the rest read: a night has a thousand looks.
fn look(
    global: &Global,
    args: &Args,
    since: Duration,
    watched: &Trigger,
) -> Result<Option<Snapshot>, Failure> {
    if matches!(watched, Trigger::Flag(_)) {
        let glance = glance(global, args, since)?;
        if glance
            .as_ref()
            .is_none_or(|glance| watched.seen_in(glance).is_none())
        {
            return Ok(glance);
        }
    }
    let mut session = live::connect_only(global)?;
    let (snapshot, choice) = objects(&mut session, global, args, Some(since))?;
    let snapshot = live::read(
        &mut session,
        snapshot,
        choice,
        logs(args, Some(since)),
        false,
    )?;
    Ok((!session.is_interrupted()).then_some(snapshot))
}

/// The logs of the proxies that would be read, and nothing else of them.
fn glance(global: &Global, args: &Args, since: Duration) -> Result<Option<Snapshot>, Failure> {
    let mut session = live::connect_only(global)?;
    let needs = [Need::Objects(Kind::Pod)].into();
    let snapshot = session.objects(&Wish {
        needs,
        ..live::wish(global, Purpose::Snapshot, None)
    })?;
    let Some(choice) = live::choice(global, &snapshot, args.reading.proxies.as_ref())? else {
        return Ok(Some(snapshot));
    };
    let logs = Some(logs(args, Some(since)).unwrap_or_default());
    let wish = ProxyWish {
        choice,
        shapes: vec![Shape::Log],
        sections: Vec::new(),
        port: 0,
        logs,
        is_enough: true,
    };
    let snapshot = session.proxies(snapshot, &wish)?;
    Ok((!session.is_interrupted()).then_some(snapshot))
}

impl Trigger {
    fn parse(text: &str) -> Result<Self, Failure> {
        let rule = rules::named(text).map(Self::Finding);
        rule.or_else(|| flags::named(text).map(|flag| Self::Flag(flag.code))).ok_or_else(|| {
            Failure::new(USAGE, format!("nothing is known of `{text}`")).hint(
                "name a rule by its code or name (ML0701), or a response flag (UH); `meshladder flags` lists them",
            )
        })
    }

    /// Where it was seen.
    fn seen_in(&self, snapshot: &Snapshot) -> Option<String> {
        match self {
            Self::Finding(rule) => {
                let mesh = Mesh::build(snapshot);
                let report = ladder::climb(snapshot, &mesh, Scope::Mesh, None);
                let told = report
                    .findings
                    .iter()
                    .find(|told| told.finding.code == rule.code);
                told.map(|told| told.finding.message.clone())
            }
            Self::Flag(flag) => snapshot
                .ids()
                .filter(|id| id.shape() == Shape::Log)
                .find_map(|id| {
                    let log = snapshot.open(id).ok()?;
                    access_log::lines(&log)
                        .find(|line| line.has(flag))
                        .map(|line| format!("{id}:{}", line.number))
                }),
        }
    }
}
