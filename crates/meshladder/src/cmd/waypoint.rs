//! `waypoint list` and `waypoint status`, as istioctl has them.

use std::io::Write;

use meshladder_capture::Kind;
use meshladder_mesh::Mesh;
use meshladder_output::tables::waypoint;

use super::{live, source};
use crate::args::Global;
use crate::args::ztunnel_config::{Waypoint, WaypointListing};
use crate::exit::Outcome;
use crate::out;

pub(super) fn run(global: &Global, args: &Waypoint) -> Outcome {
    let snapshot = if global.source.is_empty() {
        live::waypoints(global)?
    } else {
        source::snapshot(global)?
    };
    let mesh = Mesh::build(&snapshot);
    let mut out = out::stdout();
    // Without -n istioctl looks in the namespace of the context; of a capture there is none.
    let namespace = live::namespace(global);
    let is_all = namespace.is_none();
    if mesh.objects.of_kind(Kind::K8sGateway).is_empty() {
        writeln!(out, "No waypoints found.")?;
        out.flush()?;
        return Ok(0);
    }
    let found = waypoint::select(&mesh, namespace);
    let table = match args.listing {
        WaypointListing::List => waypoint::list(&found, is_all),
        WaypointListing::Status => waypoint::status(&found, is_all),
    };
    write!(out, "{table}")?;
    out.flush()?;
    Ok(0)
}
