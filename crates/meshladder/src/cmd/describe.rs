//! `describe`: one screen about one thing.

use std::io::Write;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::Snapshot;
use meshladder_judge::describe::describe;
use meshladder_judge::ladder::Scope;
use meshladder_mesh::{Mesh, ObjectRef};
use meshladder_output::describe::{to_json, to_text};

use super::{ladder, live, source, target};
use crate::args::Global;
use crate::args::describe::{Describe, DescribeOutput};
use crate::exit::{Failure, ISTIOCTL_ERROR, ISTIOCTL_USAGE, Outcome};
use crate::out;

const KINDS: &str = "a pod, service, virtualservice or gateway has a description; a workload's is that of one of its pods";

pub(super) fn run(global: &Global, args: &Describe) -> Outcome {
    let (text, own) = named(args);
    let (snapshot, namespace) = if global.source.is_empty() {
        live::describe(global, &text, own, &args.reading)?
    } else {
        (source::snapshot(global)?, own.or(global.namespace.clone()))
    };
    let mesh = source::mesh(&snapshot);
    if args.name.is_some() && !target::is_kind(&args.kind, &mesh) {
        let message = format!("`{}` is no kind of object", args.kind);
        return Err(Failure::new(ISTIOCTL_USAGE, message).hint(KINDS));
    }
    let scope = scope(&text, namespace.as_deref(), &snapshot, &mesh)?;
    let object = described(&scope);
    if let Scope::Workload {
        object: workload, ..
    } = &scope
        && *workload != object
    {
        out::note(&format!("{workload}: this is its pod {}", object.name));
    }
    let report = ladder::climb(&snapshot, &mesh, scope, None);
    let description = describe(&snapshot, &mesh, &object, &report).ok_or_else(|| {
        Failure::new(ISTIOCTL_USAGE, format!("{object} has no description")).hint(KINDS)
    })?;
    let mut stdout = out::stdout();
    match args.output {
        DescribeOutput::Json => writeln!(stdout, "{}", to_json(&description))?,
        DescribeOutput::Text => write!(stdout, "{}", to_text(&description, ladder::paint(false)))?,
    }
    stdout.flush()?;
    Ok(0)
}

/// What a target means; like istioctl 1 says that there is no such thing.
pub(super) fn scope(
    text: &str,
    namespace: Option<&str>,
    snapshot: &Snapshot,
    mesh: &Mesh,
) -> Result<Scope, Failure> {
    target::scope(text, namespace, snapshot, mesh)
        .map_err(|failure| failure.with_code(ISTIOCTL_ERROR))
}

/// `KIND NAME`, `KIND NAME.NAMESPACE` or `KIND/NAME`, as a target and the namespace that it names.
fn named(args: &Describe) -> (String, Option<String>) {
    let Some(name) = &args.name else {
        return (args.kind.clone(), None);
    };
    match name.rsplit_once('.') {
        Some((name, own)) => (format!("{}/{name}", args.kind), Some(own.to_owned())),
        None => (format!("{}/{name}", args.kind), None),
    }
}

/// What is described: an object, and for a workload one of its pods.
pub(super) fn described(scope: &Scope) -> ObjectRef {
    match scope {
        Scope::Object(object) => object.clone(),
        Scope::Workload { object, pods } => {
            let pod = pods
                .iter()
                .find(|pod| pod.is(Kind::Pod))
                .filter(|_| !object.is(Kind::Pod));
            pod.unwrap_or(object).clone()
        }
        _ => unreachable!("a target is a workload or an object"),
    }
}
