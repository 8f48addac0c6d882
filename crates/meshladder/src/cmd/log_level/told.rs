//! What was done and what it cost, in words.

use meshladder_text::shell;
use std::collections::BTreeMap;
use std::time::Duration;

use meshladder_capture::envoy::logging::{
    ComponentLevel, LevelChange, LogLevels, QueryStyle, queries,
};
use meshladder_capture::snapshot::ProxyRef;
use meshladder_collect::live::{Cost, End, Ending, StopReason};

use crate::args::Global;
use crate::args::log_level::LogLevel;
use crate::out;

/// `rbac warning → debug, jwt warning → debug`
pub(super) fn steps(change: &LevelChange) -> String {
    /// So many are told one by one.
    const TOLD: usize = 8;
    let one = |(name, (from, to)): (&String, &(ComponentLevel, ComponentLevel))| {
        format!("{name} {from} → {to}")
    };
    let told: Vec<String> = change.steps.iter().take(TOLD).map(one).collect();
    match change.steps.len().saturating_sub(TOLD) {
        0 => told.join(", "),
        more => format!("{}, and {more} more", told.join(", ")),
    }
}

pub(super) fn set(pod: &ProxyRef, change: &LevelChange, cost: &Cost, time: Duration) -> String {
    let rate = cost.before.map_or("an unknown amount".to_owned(), bytes);
    let cpu = match &cost.cpu_before {
        Some(Ok(millis)) => format!("{millis:.0} millicores"),
        Some(Err(why)) => format!("CPU not known ({why})"),
        None => "CPU not known".to_owned(),
    };
    format!(
        "{pod}: {} for {}; before: {rate} of log a second, {cpu}",
        steps(change),
        told_time(time)
    )
}

/// Tells how it ended for one proxy.
pub(super) fn ending(global: &Global, args: &LogLevel, ending: &Ending) {
    let Ending {
        pod,
        end,
        why,
        cost,
        ..
    } = ending;
    let seconds = told_time(cost.time);
    match why.as_ref().filter(|_| *end != End::Gone) {
        Some(StopReason::TooMuch(rate)) => {
            let (rate, max) = (bytes(*rate), bytes(args.max_rate));
            out::warn(&format!(
                "{pod}: {rate} in a second, over --max-rate {max}: set back after {seconds}"
            ));
        }
        Some(StopReason::Failed(why)) => {
            out::warn(&format!("{pod}: {why}: set back after {seconds}"));
        }
        Some(StopReason::Stopped) | None => {}
    }
    match end {
        End::Untouched(why) => out::warn(&format!("{pod}: nothing was changed: {why}")),
        End::Restored { loud } => {
            out::note(&format!(
                "{pod}: its levels are what they were; {}",
                costs(cost)
            ));
            if !loud.is_empty() {
                out::warn(&format!(
                    "{pod}: {} was so before this run: another run holds it, or has left it; \
                     `meshladder log-level --audit` tells when nobody does",
                    LogLevels(loud.clone()).told()
                ));
            }
        }
        End::Changed(levels) => out::error(
            &format!(
                "{pod}: somebody else has set {} meanwhile: left as it is",
                LogLevels(levels.clone()).told()
            ),
            Some(
                "`meshladder log-level --audit` shows what is not at its default, `--reset` sets it back",
            ),
        ),
        End::Gone => out::note(&format!("{pod} is no more: nothing is left to set back")),
        End::Left { levels, style, why } => {
            let commands = commands(global, args, ending, levels, *style).join("\n       ");
            let message = format!("{pod}: its levels could not be set back: {why}");
            out::error(
                &message,
                Some(&format!("to set them back, one of\n       {commands}")),
            );
        }
    }
}

fn costs(cost: &Cost) -> String {
    let millis = u64::try_from(cost.time.as_millis())
        .unwrap_or(u64::MAX)
        .max(1);
    let rate = bytes(cost.bytes.saturating_mul(1000) / millis);
    let (time, peak) = (told_time(cost.time), bytes(cost.peak));
    let before = cost.before.map_or("not known".to_owned(), bytes);
    let cpu = match (&cost.cpu_before, cost.cpu) {
        (Some(Ok(before)), Some(most)) => {
            format!("; CPU {most:.0} millicores at most, before {before:.0}")
        }
        (Some(Ok(_)), None) => "; CPU was not measured again in that time".to_owned(),
        _ => String::new(),
    };
    let dropped = match cost.dropped {
        0 => String::new(),
        lines => format!("; {lines} lines were not printed: nobody read fast enough"),
    };
    format!("{rate} of log a second over {time} ({peak} at most; before {before}){cpu}{dropped}")
}

/// What sets a proxy back by hand: ours, and without us.
fn commands(
    global: &Global,
    args: &LogLevel,
    ending: &Ending,
    levels: &BTreeMap<String, ComponentLevel>,
    style: QueryStyle,
) -> Vec<String> {
    let ProxyRef { namespace, pod, .. } = &ending.pod;
    let mut flags = String::new();
    if let Some(file) = &global.cluster.kubeconfig {
        let file = file.display().to_string();
        flags = format!(" --kubeconfig {}", shell::word(&file));
    }
    if !global.cluster.context.is_empty() {
        flags.extend([format!(" --context {}", shell::word(&ending.context))]);
    }
    let port = match args.proxy_admin_port {
        15000 => String::new(),
        port => format!(" --proxy-admin-port {port}"),
    };
    let told = LogLevels(levels.clone()).told();
    let exec = shell::command("kubectl exec -n {} {} -c istio-proxy", &[namespace, pod]);
    let (pod, namespace) = (shell::word(pod), shell::word(namespace));
    let told = shell::word(&told);
    let ours = format!("meshladder log-level {pod}.{namespace} --restore {told}{port}{flags}");
    let agent = |query: String| {
        format!(
            "{}{flags} -- pilot-agent request POST {}",
            exec.as_str(),
            shell::word(&format!("logging?{query}"))
        )
    };
    [ours]
        .into_iter()
        .chain(queries(levels, style).into_iter().map(agent))
        .collect()
}

/// `3 s`, `1.5 s`
fn told_time(time: Duration) -> String {
    let tenths = time.as_millis() / 100;
    if tenths.is_multiple_of(10) {
        format!("{} s", tenths / 10)
    } else {
        format!("{}.{} s", tenths / 10, tenths % 10)
    }
}

/// `120 B`, `1.2 kB`, `3.4 MB`
pub(super) fn bytes(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", tenths(1_000)),
        _ => format!("{} MB", tenths(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_told_in_their_unit() {
        assert_eq!(
            [0, 999, 1_500, 2_340_000].map(bytes),
            ["0 B", "999 B", "1.5 kB", "2.3 MB"]
        );
        assert_eq!(
            [1500, 300_000].map(|ms| told_time(Duration::from_millis(ms))),
            ["1.5 s", "300 s"]
        );
    }
}
