//! `canary`: whether observed traffic matches the configured weights.

use meshladder_capture::Kind;
use meshladder_text::shell;
use std::collections::BTreeMap;
use std::io::Write;

use meshladder_capture::snapshot::{Coverage, Snapshot};
use meshladder_collect::live::{Purpose, Session};
use meshladder_collect::prometheus::Client;
use meshladder_judge::canary::{self, CanaryJudgement, CanaryVerdict, Label, Split};
use meshladder_judge::prometheus::query::Calls;
use meshladder_mesh::Mesh;
use meshladder_output::prometheus::CanaryShares;
use meshladder_output::tables::flag_rates;

use super::prometheus::{ask, client, context, in_each_context};
use super::{ladder, live, source};
use crate::args::ladder::Why;
use crate::args::prometheus::Canary;
use crate::args::request::RequestFlags;
use crate::args::{Global, TextOrJson};
use crate::exit::{Failure, Outcome, UNDECIDED, USAGE};
use crate::out;

/// Istio's word for a version that nobody knows: the request met no server.
const NOBODY: &str = "unknown";

/// What was counted, and by whom.
struct Symptom {
    reporter: &'static str,
    counts: BTreeMap<String, f64>,
    /// Requests that reached no version.
    nowhere: f64,
}

/// The request whose way tells why a version gets nothing.
struct Next {
    from: Option<String>,
    host: String,
    port: Option<u16>,
}

/// Requests go well, only not to where they should.
const SEEN: &str = "200";

pub(super) fn run(global: &Global, args: &Canary) -> Outcome {
    in_each_context(global, &args.server, args.output, |global| {
        one(global, args)
    })
}

fn one(global: &Global, args: &Canary) -> Outcome {
    if args.server.prometheus.is_none() {
        // Before a cluster is read for nothing.
        client(global, &args.server, None)?;
    }
    let CanarySetup {
        namespace,
        split,
        port,
        session,
    } = known(global, args)?;
    let namespace = namespace.as_str();
    let client = client(global, &args.server, session)?;
    let calls = calls(args, namespace, &split);
    let seen = count(&client, &calls, &split)?;
    let judgement = canary::judge(&split.parts, &seen.counts, args.tolerance / 100.0);
    let why = match judgement.starved().next() {
        Some(_) => Some(next(&client, &calls, args, namespace, port)?),
        None => None,
    };
    let mut out = out::stdout();
    match args.output {
        TextOrJson::Json => {
            let shares = CanaryShares {
                context: context(global),
                service: &args.service,
                namespace,
                window: &args.window,
                reporter: seen.reporter,
                nowhere: seen.nowhere,
                judgement: &judgement,
                why: why.as_ref().map(Next::command),
            };
            writeln!(out, "{}", shares.to_json())?;
        }
        TextOrJson::Text => {
            writeln!(out, "{}\n", headline(args, namespace, &split, &judgement))?;
            write!(out, "{}", flag_rates::shares(&judgement))?;
        }
    }
    out.flush()?;
    tell(&split, &seen, &judgement);
    if let (Some(why), TextOrJson::Text) = (why, args.output) {
        lead_on(global, &why, &judgement)?;
    }
    Ok(match judgement.verdict {
        CanaryVerdict::Matches => 0,
        CanaryVerdict::Differs => 1,
        CanaryVerdict::TooFew { .. } => UNDECIDED,
    })
}

/// What is known before Prometheus is asked.
struct CanarySetup {
    namespace: String,
    split: Split,
    /// The service's first port, where the source has it.
    port: Option<u16>,
    /// The cluster that was read.
    session: Option<Session>,
}

/// The weights: those given, those of the source, or those of the cluster.
fn known(global: &Global, args: &Canary) -> Result<CanarySetup, Failure> {
    let given = args
        .weights
        .as_deref()
        .map(canary::parse)
        .transpose()
        .map_err(|why| Failure::new(USAGE, why))?;
    let mut session = None;
    let snapshot = match &global.source[..] {
        [] if given.is_some() => None,
        [] => {
            let session = session.insert(live::connect_for(global, args.server.timeout)?);
            Some(session.objects(&live::wish(global, Purpose::Canary, None))?)
        }
        _ => Some(source::named(global, None, USAGE)?),
    };
    let of_context = || {
        session
            .as_ref()
            .map(|session| session.namespace().to_owned())
    };
    let namespace = global.namespace.clone().or_else(of_context);
    let namespace = namespace
        .ok_or_else(|| Failure::new(USAGE, "in which namespace is the service? name it with -n"))?;
    let mesh = snapshot.as_ref().map(Mesh::build);
    let port = mesh.as_ref().and_then(|mesh| {
        let service = mesh
            .services
            .iter()
            .find(|service| service.namespace == namespace && service.name == args.service);
        service?.ports.first().map(|(port, _)| *port)
    });
    if let Some(parts) = given {
        let split = Split {
            label: Label::Version,
            parts,
            by: String::new(),
            notes: Vec::new(),
        };
        return Ok(CanarySetup {
            namespace,
            split,
            port,
            session,
        });
    }
    let hint = "give them with --weights v1=90,v2=10, or name a source with -s that holds the VirtualService or HTTPRoute";
    let (Some(mesh), Some(snapshot)) = (mesh, snapshot) else {
        return Err(Failure::new(USAGE, "which weights?").hint(hint));
    };
    let split = canary::configured(&mesh, &namespace, &args.service).map_err(|why| {
        let unread = unread(&snapshot)
            .map(|why| format!(" ({why})"))
            .unwrap_or_default();
        Failure::new(USAGE, format!("cannot tell the weights: {why}{unread}")).hint(hint)
    })?;
    Ok(CanarySetup {
        namespace,
        split,
        port,
        session,
    })
}

/// What may be there and could not be read.
fn unread(snapshot: &Snapshot) -> Option<String> {
    let kinds = [Kind::VirtualService, Kind::HttpRoute];
    kinds
        .into_iter()
        .find_map(|kind| match snapshot.coverage(&kind.into()) {
            Coverage::Denied(why) | Coverage::Partial(why) | Coverage::Lost(why) => Some(why),
            _ => None,
        })
}

fn calls(args: &Canary, namespace: &str, split: &Split) -> Calls {
    let services = match split.label {
        Label::Version => vec![args.service.clone()],
        Label::Service => split.parts.iter().map(|part| part.name.clone()).collect(),
    };
    Calls {
        namespace: namespace.to_owned(),
        services,
        reporter: "source",
        window: args.window.clone(),
    }
}

/// The client's proxy or a waypoint makes the choice, so its count is taken; the servers' where
/// there is neither.
fn count(client: &Client, calls: &Calls, split: &Split) -> Result<Symptom, Failure> {
    let label = split.label.name();
    let mut warned = Vec::new();
    for reporter in ["source", "waypoint", "destination"] {
        let case = Calls {
            reporter,
            ..calls.clone()
        };
        let answer = ask(client, &case.by(&[label]), &mut warned)?;
        let finite = answer
            .samples
            .iter()
            .filter(|sample| sample.value.is_finite());
        let mut counts: BTreeMap<String, f64> = finite
            .map(|sample| (sample.label(label).to_owned(), sample.value))
            .collect();
        let nowhere =
            counts.remove(NOBODY).unwrap_or_default() + counts.remove("").unwrap_or_default();
        if counts.values().sum::<f64>() + nowhere > 0.0 || reporter == "destination" {
            return Ok(Symptom {
                reporter,
                counts,
                nowhere,
            });
        }
    }
    Ok(Symptom {
        reporter: "source",
        counts: BTreeMap::new(),
        nowhere: 0.0,
    })
}

fn headline(args: &Canary, namespace: &str, split: &Split, judgement: &CanaryJudgement) -> String {
    let service = format!("{}.{namespace}", args.service);
    let weights = match split.by.as_str() {
        "" => "the weights given".to_owned(),
        by => format!("the weights of {by}"),
    };
    let of = format!("{:.0} requests in {}", judgement.requests, args.window);
    match judgement.verdict {
        CanaryVerdict::Matches => format!("traffic to {service} matches {weights}: {of}"),
        CanaryVerdict::Differs => format!("traffic to {service} differs from {weights}: {of}"),
        CanaryVerdict::TooFew { needed } => {
            format!(
                "too few requests to {service} to tell: {of}, about {needed:.0} are needed for {weights}"
            )
        }
    }
}

fn tell(split: &Split, seen: &Symptom, judgement: &CanaryJudgement) {
    if judgement.requests <= 0.0 && seen.nowhere <= 0.0 {
        out::warn(
            "Prometheus has no requests to it in that time: absent, which is not a share of 0 %",
        );
    } else {
        out::note(&format!("counted by the {} side", seen.reporter));
    }
    if seen.nowhere > 0.0 {
        out::warn(&format!(
            "{:.0} requests reached no version at all: see `meshladder flags --prometheus URL --by destination`",
            seen.nowhere
        ));
    }
    for note in &split.notes {
        out::note(note);
    }
}

/// The request to ask `why` about: the busiest caller's, as Prometheus knows it.
fn next(
    client: &Client,
    calls: &Calls,
    args: &Canary,
    namespace: &str,
    port: Option<u16>,
) -> Result<Next, Failure> {
    let answer = ask(
        client,
        &calls.by(&["source_workload_namespace", "source_workload"]),
        &mut Vec::new(),
    )?;
    let is_named = |name: &str| !name.is_empty() && name != NOBODY;
    let callers = answer
        .samples
        .iter()
        .filter(|sample| is_named(sample.label("source_workload")));
    let busiest = callers.max_by(|a, b| a.value.total_cmp(&b.value));
    let name = |label: &str| busiest.map(|caller| caller.label(label).to_owned());
    let from = name("source_workload_namespace").zip(name("source_workload"));
    Ok(Next {
        from: from.map(|(namespace, workload)| format!("{namespace}/{workload}")),
        host: format!("{}.{namespace}", args.service),
        port,
    })
}

/// 0 % to a version has a reason, and `why` finds it.
fn lead_on(global: &Global, next: &Next, judgement: &CanaryJudgement) -> Result<(), Failure> {
    let starved: Vec<_> = judgement
        .starved()
        .map(|share| share.name.as_str())
        .collect();
    let (starved, command) = (starved.join(", "), next.command());
    if next.from.is_none() || next.port.is_none() {
        out::note(&format!("{starved} gets nothing; to see why: {command}"));
        return Ok(());
    }
    out::text(&format!("\n{starved} gets nothing: {command}\n\n"))?;
    let request = RequestFlags {
        from: next.from.clone(),
        to: Some(next.url()),
        ..RequestFlags::default()
    };
    let why = Why {
        request,
        seen: Some(SEEN.to_owned()),
        ..Why::default()
    };
    ladder::why(global, &why).map(|_| ())
}

impl Next {
    fn url(&self) -> String {
        let port = self
            .port
            .map_or_else(|| "PORT".to_owned(), |port| port.to_string());
        format!("http://{}:{port}/", self.host)
    }

    fn command(&self) -> String {
        let from = self.from.as_deref().unwrap_or("CLIENT");
        let template = "meshladder why --from {} --to {} --seen {}";
        shell::command(template, &[from, &self.url(), SEEN]).to_string()
    }
}
