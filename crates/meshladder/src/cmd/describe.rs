//! `describe`: one screen about one thing.

use std::io::Write;

use meshladder_core::describe::describe;
use meshladder_core::ladder::Scope;
use meshladder_core::mesh::{Mesh, ObjectRef};
use meshladder_core::render::describe::{to_json, to_text};

use super::{ladder, source, target};
use crate::args::Global;
use crate::args::describe::{Describe, DescribeOutput};
use crate::exit::{Failure, ISTIOCTL_USAGE, Outcome};
use crate::out;

pub(super) fn run(global: &Global, args: &Describe) -> Outcome {
    let snapshot = source::snapshot(global)?;
    let mesh = Mesh::build(&snapshot);
    let (text, namespace) = named(args, global.namespace.as_deref());
    let scope = target::scope(&text, namespace.as_deref(), &snapshot, &mesh)?;
    let object = match &scope {
        Scope::Object(object) => object.clone(),
        Scope::Workload { object, pods } => pod_of(object, pods),
        _ => unreachable!("a target is a workload or an object"),
    };
    let report = ladder::climb(&snapshot, &mesh, scope, None);
    let description = describe(&snapshot, &mesh, &object, &report).ok_or_else(|| {
        Failure::new(ISTIOCTL_USAGE, format!("{object} has no description"))
            .hint("a pod, service, virtualservice or gateway has one")
    })?;
    let mut stdout = out::stdout();
    match args.output {
        DescribeOutput::Json => writeln!(stdout, "{}", to_json(&description))?,
        DescribeOutput::Text => write!(stdout, "{}", to_text(&description, ladder::paint(global, false)))?,
    }
    stdout.flush()?;
    Ok(0)
}

/// `KIND NAME`, `KIND NAME.NAMESPACE` or `KIND/NAME`, as a target with its namespace.
fn named(args: &Describe, namespace: Option<&str>) -> (String, Option<String>) {
    let namespace = namespace.map(str::to_owned);
    let Some(name) = &args.name else { return (args.kind.clone(), namespace) };
    match name.rsplit_once('.') {
        Some((name, own)) => (format!("{}/{name}", args.kind), Some(own.to_owned())),
        None => (format!("{}/{name}", args.kind), namespace),
    }
}

/// A workload is described by one of its pods.
fn pod_of(object: &ObjectRef, pods: &[ObjectRef]) -> ObjectRef {
    let pod = pods.iter().find(|pod| pod.kind == "Pod").filter(|_| object.kind != "Pod");
    if let Some(pod) = pod {
        out::note(&format!("{object}: this is its pod {}", pod.name));
    }
    pod.unwrap_or(object).clone()
}
