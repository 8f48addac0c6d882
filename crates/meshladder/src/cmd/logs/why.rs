//! From causes in logs to root causes: `why` is asked of a bundle for each.

use meshladder_judge::ladder::Scope;
use meshladder_judge::logs::{Asking, LineGroup, LogCause, LogSide, LogSummary, call, command};
use meshladder_judge::report::Report;
use meshladder_sim::walk::Call;

use super::BundleContext;
use super::input::LogInput;
use crate::args::Global;
use crate::cmd::ladder::climb;

/// How many causes are asked about at most: each climbs the whole ladder.
const MOST: usize = 5;

/// Of each cause the command that asks `why`.
pub(super) fn commands(
    summary: &LogSummary,
    inputs: &[LogInput],
    behind: Option<&BundleContext>,
    global: &Global,
) -> Vec<Option<String>> {
    let source = global
        .source
        .iter()
        .map(|path| format!(" -s {}", path.display()))
        .collect::<Vec<_>>()
        .concat();
    let one = |cause: &LogCause| {
        let group = seen_by_client(summary, cause);
        let asking = behind.and_then(|behind| asking(group, inputs, behind));
        command(group, asking.as_ref(), &source)
    };
    summary.causes.iter().map(one).collect()
}

/// What `why` says of the first causes.
pub(super) fn ask(
    summary: &LogSummary,
    inputs: &[LogInput],
    behind: &BundleContext,
    most: usize,
) -> Vec<(usize, Report)> {
    let causes = summary.causes.iter().enumerate().take(most.min(MOST));
    causes
        .filter_map(|(i, cause)| {
            let Asking { call, seen } = asking(seen_by_client(summary, cause), inputs, behind)?;
            Some((
                i,
                climb(
                    &behind.snapshot,
                    &behind.mesh,
                    Scope::Request(Box::new(call)),
                    Some(seen),
                ),
            ))
        })
        .collect()
}

/// What `why` is asked of the first causes.
pub(super) fn calls(
    summary: &LogSummary,
    inputs: &[LogInput],
    behind: &BundleContext,
    most: usize,
) -> Vec<Call> {
    let causes = summary.causes.iter().take(most.min(MOST));
    causes
        .filter_map(|cause| Some(asking(seen_by_client(summary, cause), inputs, behind)?.call))
        .collect()
}

fn asking(group: &LineGroup, inputs: &[LogInput], behind: &BundleContext) -> Option<Asking> {
    let source = group.examples.first().map(|example| example.source)?;
    call(group, &inputs.get(source)?.document(), &behind.mesh)
}

/// The caller's own line says best what it called and saw.
fn seen_by_client<'s>(summary: &'s LogSummary, cause: &LogCause) -> &'s LineGroup {
    let also = cause.also.iter().map(|(place, _)| &summary.groups[*place]);
    let own = &summary.groups[cause.group];
    let outer =
        |group: &&LineGroup| matches!(group.judgement.side, LogSide::Client | LogSide::Gateway);
    if outer(&own) {
        own
    } else {
        also.into_iter().find(outer).unwrap_or(own)
    }
}
