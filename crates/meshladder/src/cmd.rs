//! One verb a file.

use crate::args::authz::ExperimentalCommand;
use crate::args::{Args, Command};
use crate::exit::Outcome;

mod analyze;
mod authz;
mod bundle;
mod canary;
mod clusters;
mod demo;
mod describe;
mod diff;
mod explain;
mod flag_rates;
mod ladder;
mod live;
mod log_level;
mod logs;
mod meta;
mod monitor;
mod prometheus;
mod proxy_config;
mod proxy_status;
mod rbac;
mod remote_clusters;
mod request;
mod runbook;
mod snapshot;
mod source;
mod target;
mod trace;
mod waypoint;
mod ztunnel_config;

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Command::ProxyStatus(status) => proxy_status::run(&args.global, status),
        Command::RemoteClusters => remote_clusters::run(&args.global),
        Command::ProxyConfig(config) => proxy_config::run(&args.global, config),
        Command::ZtunnelConfig(config) => ztunnel_config::run(&args.global, config),
        Command::Waypoint(waypoint) => waypoint::run(&args.global, waypoint),
        Command::Check(check) => ladder::check(&args.global, check),
        Command::Why(why) => ladder::why(&args.global, why),
        Command::Analyze(analyze) => analyze::run(&args.global, analyze),
        Command::Describe(describe) => describe::run(&args.global, describe),
        Command::Diff(diff) => diff::run(&args.global, diff),
        Command::Explain { what } => explain::run(&what.join(" ")),
        Command::Flags(flags) if flags.server.prometheus.is_some() => {
            flag_rates::run(&args.global, flags)
        }
        Command::Flags(flags) => explain::flags(&flags.codes),
        Command::Canary(canary) => canary::run(&args.global, canary),
        Command::Logs(logs) => logs::run(&args.global, logs),
        Command::Trace(trace) => trace::run(&args.global, trace),
        Command::Authz(authz) => authz::run(&args.global, authz),
        Command::Experimental(experimental) => match &experimental.command {
            ExperimentalCommand::Authz(authz) => authz::run(&args.global, authz),
        },
        Command::Monitor(monitor) => monitor::run(&args.global, &monitor.command),
        Command::Bundle(bundle) => bundle::run(&args.global, &bundle.command),
        Command::Runbook(runbook) => runbook::run(&args.global, runbook),
        Command::Snapshot(snapshot) => snapshot::run(&args.global, snapshot),
        Command::LogLevel(levels) => log_level::run(&args.global, levels),
        Command::Rbac(rbac) => rbac::run(&args.global, rbac),
        Command::Demo => demo::run(),
        Command::Version(version) => meta::version(version.output),
        Command::Completion { shell } => meta::completion(*shell),
        Command::Man { directory } => meta::man(directory),
    }
}
