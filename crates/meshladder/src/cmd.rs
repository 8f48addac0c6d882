//! One verb a file.

use crate::args::{Args, Command};
use crate::exit::Outcome;

mod bundle;
mod demo;
mod explain;
mod ladder;
mod meta;
mod proxy_config;
mod proxy_status;
mod request;
mod source;
mod target;
mod trace;

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Command::ProxyStatus(status) => proxy_status::run(&args.global, status),
        Command::ProxyConfig(config) => proxy_config::run(&args.global, config),
        Command::Check(check) => ladder::check(&args.global, check),
        Command::Why(why) => ladder::why(&args.global, why),
        Command::Explain { what } => explain::run(what),
        Command::Trace(trace) => trace::run(&args.global, trace),
        Command::Bundle(bundle) => bundle::run(&args.global, &bundle.command),
        Command::Demo => demo::run(&args.global),
        Command::Version(version) => meta::version(version.output),
        Command::Completion { shell } => meta::completion(*shell),
        Command::Man { directory } => meta::man(directory),
    }
}
