//! The `meshladder` binary: parse, dispatch, exit code.

use std::process::ExitCode;

mod args;
mod cmd;
mod exit;
mod out;
mod progress;

fn main() -> ExitCode {
    let args = match args::parse(std::env::args_os().collect()) {
        Ok(args) => args,
        Err(code) => return code,
    };
    out::set_colour(args.global.color);
    match std::panic::catch_unwind(|| cmd::run(&args)) {
        Ok(outcome) => exit::report(outcome),
        Err(_) => exit::our_bug(),
    }
}
