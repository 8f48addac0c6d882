//! `monitor serve`: reads the cluster or the source again and again, and answers with metrics of
//! what was read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, RwLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use meshladder_judge::ladder::Scope;
use meshladder_mesh::Mesh;
use meshladder_output::monitor::exporter::{self, Family, MeshReading};
use meshladder_text::time::Time;

use super::http;
use crate::args::Global;
use crate::args::monitor::Serve;
use crate::cmd::{ladder, live, source};
use crate::exit::{Failure, INTERRUPTED, Outcome, UNREADABLE, USAGE};
use crate::{out, progress};

/// What is told until the next reading.
struct State {
    reading: MeshReading,
    families: Vec<Family>,
}

pub(super) fn run(global: &Global, args: &Serve) -> Outcome {
    if global.source.is_empty() {
        live::named(global)?;
    }
    if global.source.iter().any(|path| path.as_os_str() == "-") {
        let hint = "write it to a file or a directory first";
        return Err(Failure::new(USAGE, "stdin can be read only once").hint(hint));
    }
    let listener = std::net::TcpListener::bind(args.listen);
    let cannot = |why| {
        Failure::new(
            UNREADABLE,
            format!("cannot listen on {}: {why}", args.listen),
        )
    };
    let listener = listener.map_err(cannot)?;
    out::note(&format!(
        "listening on http://{}/metrics",
        listener.local_addr().map_err(cannot)?
    ));
    let reading = MeshReading {
        is_up: false,
        read_at: None,
        took: 0.0,
        failed: 0,
    };
    let state = Arc::new(RwLock::new(State {
        reading,
        families: Vec::new(),
    }));
    let (shown, most) = (Arc::clone(&state), args.max_series);
    let served = std::thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                read(global, args, &state);
                std::thread::sleep(args.every);
            }
        });
        http::serve(listener, &args.host, move |path| answer(path, &shown, most))
    });
    served.map(|()| 0).map_err(cannot)
}

fn answer(path: &str, state: &RwLock<State>, most: usize) -> http::HttpAnswer {
    let state = held(state.read());
    match path {
        "/metrics" => http::HttpAnswer::metrics(exporter::text(
            state.reading,
            env!("CARGO_PKG_VERSION"),
            &state.families,
            most,
        )),
        "/healthz" if state.reading.is_up => http::HttpAnswer::text(200, "ok\n"),
        "/healthz" => http::HttpAnswer::text(503, "what is watched cannot be read\n"),
        "/" => http::HttpAnswer::text(200, "meshladder: see /metrics and /healthz\n"),
        _ => http::HttpAnswer::text(404, "see /metrics and /healthz\n"),
    }
}

/// Reads once. What was read before stays when it fails: the time of the last reading tells its
/// age.
fn read(global: &Global, args: &Serve, state: &RwLock<State>) {
    let begin = Instant::now();
    let families = catch_unwind(AssertUnwindSafe(|| families(global, args)));
    progress::stop();
    let mut state = held(state.write());
    match families {
        Ok(Ok(families)) => {
            state.families = families;
            let (read_at, took) = (Some(now()), begin.elapsed().as_secs_f64());
            state.reading = MeshReading {
                is_up: true,
                read_at,
                took,
                ..state.reading
            };
            return;
        }
        Ok(Err(failure)) if failure.code() == INTERRUPTED => quit(),
        Ok(Err(failure)) => out::error(failure.message(), None),
        // The panic's own message is on stderr already.
        Err(_) => {}
    }
    state.reading.is_up = false;
    state.reading.failed = state.reading.failed.saturating_add(1);
}

/// Who presses Ctrl-C while something is read wants the server to end too.
#[expect(
    clippy::exit,
    reason = "what the signal would have done had nobody listened to it"
)]
fn quit() -> ! {
    std::process::exit(i32::from(INTERRUPTED))
}

fn families(global: &Global, args: &Serve) -> Result<Vec<Family>, Failure> {
    let snapshot = if global.source.is_empty() {
        live::monitor(global, &args.reading)?
    } else {
        source::named(global, None, USAGE)?
    };
    let mesh = Mesh::build(&snapshot);
    let report = ladder::climb(&snapshot, &mesh, Scope::Mesh, None);
    Ok(exporter::families(&snapshot, &mesh, &report))
}

fn now() -> Time {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Time {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanos: since.subsec_nanos(),
    }
}

/// A thread that panicked while it held the lock has left nothing half-written.
fn held<T>(locked: Result<T, std::sync::PoisonError<T>>) -> T {
    locked.unwrap_or_else(std::sync::PoisonError::into_inner)
}
