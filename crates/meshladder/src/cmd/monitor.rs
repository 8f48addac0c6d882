//! `monitor`: what a platform team installs as its standard.

use meshladder_collect::live::{Purpose, Right};
use meshladder_output::monitor::{dashboard, manifests, rules};

use crate::args::Global;
use crate::args::monitor::{Install, MonitorCommand, RuleSettings, Rules, RulesOutput};
use crate::exit::Outcome;
use crate::out;

mod http;
mod serve;

/// Where things go when nobody says.
const NAMESPACE: &str = "meshladder";

pub(super) fn run(global: &Global, command: &MonitorCommand) -> Outcome {
    match command {
        MonitorCommand::Rules(args) => rules(global, args),
        MonitorCommand::Dashboard => {
            out::text(&dashboard::to_json())?;
            Ok(0)
        }
        MonitorCommand::Serve(args) => serve::run(global, args),
        MonitorCommand::Install(args) => install(global, args),
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

fn install(global: &Global, args: &Install) -> Outcome {
    if !args.dry_run {
        out::note("nothing is changed in any cluster: pipe this into `kubectl apply -f -`");
    }
    let namespace = global.namespace.as_deref().unwrap_or(NAMESPACE);
    out::text(&manifests::to_yaml(&manifests::InstallOptions {
        namespace: namespace.to_owned(),
        image: args.image.clone(),
        istio_namespace: global.cluster.istio_namespace.clone(),
        rights: Purpose::Monitor.rights().into_iter().map(right).collect(),
        rules: options(&args.settings),
    }))?;
    Ok(0)
}

/// A right as the manifests say it; `rbac --for monitor` prints it too.
fn right(right: Right) -> manifests::InstallRight {
    let Right {
        group,
        resource,
        verbs,
        in_istio,
        ..
    } = right;
    manifests::InstallRight {
        group,
        resource,
        verbs: verbs.into_iter().map(str::to_owned).collect(),
        in_istio,
    }
}

fn options(settings: &RuleSettings) -> rules::RuleOptions {
    rules::RuleOptions {
        objective: settings.objective,
        runbook: settings.runbook.clone(),
    }
}
