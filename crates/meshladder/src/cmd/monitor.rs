//! `monitor`: what a platform team installs as its standard.

use meshladder_core::monitor::rules;

use crate::args::Global;
use crate::args::monitor::{MonitorCommand, RuleSettings, Rules, RulesOutput};
use crate::exit::Outcome;
use crate::out;

/// Where things go when nobody says.
const NAMESPACE: &str = "meshladder";

pub(super) fn run(global: &Global, command: &MonitorCommand) -> Outcome {
    match command {
        MonitorCommand::Rules(args) => rules(global, args),
    }
}

fn rules(global: &Global, args: &Rules) -> Outcome {
    let options = options(&args.settings);
    let namespace = global.namespace.as_deref().unwrap_or(NAMESPACE);
    out::text(&match args.output {
        RulesOutput::Prometheus => rules::to_prometheus(&options),
        RulesOutput::Operator => rules::to_operator(&options, namespace),
    })?;
    Ok(0)
}

fn options(settings: &RuleSettings) -> rules::Options {
    rules::Options { objective: settings.objective, runbook: settings.runbook.clone() }
}
