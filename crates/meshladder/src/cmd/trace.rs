//! `trace`: what happens to one request, or to many.

use std::io::Write;
use std::path::Path;

use meshladder_capture::snapshot::Snapshot;
use meshladder_mesh::Clusters;
use meshladder_output::trace::{to_json, to_text};
use meshladder_sim::trace::{EndKind, Trace as Walked};
use meshladder_sim::walk::{self, Call, Documents, Walk};

use super::{clusters, ladder, request, source};
use crate::args::{Global, TextOrJson, Trace};
use crate::exit::{Failure, Outcome, USAGE};
use crate::out;

mod line;
mod many;

/// A request that reaches the application.
const FORWARDED: u8 = 0;
/// One that does not.
const ENDED: u8 = 1;
/// One of which it cannot be told.
const UNDECIDED: u8 = 5;

pub(super) fn run(global: &Global, args: &Trace) -> Outcome {
    let requests = args.requests.as_deref();
    if requests == Some(Path::new("-"))
        && global.source.iter().any(|source| source == Path::new("-"))
    {
        return Err(Failure::new(
            USAGE,
            "stdin is named twice: by -s and by --requests",
        ));
    }
    let snapshot = source::for_request(global, &args.request, &args.reading, requests.is_some())?;
    if let Some(clusters) = Clusters::of(&snapshot) {
        let Some(path) = requests else {
            let (trace, call) = clusters::trace(global, args, &clusters)?;
            return print(&trace, &call, &snapshot, args);
        };
        let home = clusters::of_caller(global, &args.request, &clusters)?;
        let documents = walk::documents_of(&clusters);
        let walk = Walk::among(&clusters, home, &documents);
        return many::run(global, args, path, (&home.snapshot, &home.mesh), walk);
    }
    let mesh = source::mesh(&snapshot);
    if let Some(path) = requests {
        let documents = Documents::of(&snapshot);
        let walk = Walk::new(&documents, &mesh);
        return many::run(global, args, path, (&snapshot, &mesh), walk);
    }
    let call = request::call(&args.request, global.namespace.as_deref(), &snapshot, &mesh)?;
    let keep = args.verbose || args.output == TextOrJson::Json;
    let trace = walk::trace(&snapshot, &mesh, &call, keep);
    print(&trace, &call, &snapshot, args)
}

fn print(trace: &Walked, call: &Call, snapshot: &Snapshot, args: &Trace) -> Outcome {
    let mut out = out::stdout();
    match args.output {
        TextOrJson::Json => writeln!(out, "{}", to_json(trace, call, snapshot))?,
        TextOrJson::Text => {
            let paint = ladder::paint(args.verbose);
            write!(out, "{}", to_text(trace, &call.line(), paint))?;
        }
    }
    out.flush()?;
    Ok(code(trace.outcome.kind))
}

fn code(kind: EndKind) -> u8 {
    match kind {
        EndKind::Forwarded => FORWARDED,
        EndKind::Undecided => UNDECIDED,
        _ => ENDED,
    }
}
