//! The one place where futures run, and where Ctrl-C arrives.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Runtime;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// 128 + SIGINT
const INTERRUPTED: i32 = 130;

/// 128 + SIGTERM
#[cfg(unix)]
const TERMINATED: i32 = 143;

static SHARED: OnceLock<RuntimeState> = OnceLock::new();
static READING: AtomicBool = AtomicBool::new(false);
static GUARDED: AtomicBool = AtomicBool::new(false);

struct RuntimeState {
    runtime: Runtime,
    stop: watch::Sender<bool>,
    insist: watch::Sender<bool>,
}

/// While it lives nothing that arrives ends the process: there is something to set right first.
pub(crate) struct Guard;

/// Runs a future to its end; Ctrl-C meanwhile sets what [`stop`] watches, and any later one ends
/// the process.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    READING.store(true, Ordering::SeqCst);
    let done = shared().runtime.block_on(future);
    READING.store(false, Ordering::SeqCst);
    done
}

/// Runs a future that holds nothing worth keeping when it is not done: Ctrl-C ends the process.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    shared().runtime.block_on(future)
}

/// True once the user has pressed Ctrl-C while something was read.
pub(crate) fn stop() -> watch::Receiver<bool> {
    shared().stop.subscribe()
}

/// True once the user has pressed Ctrl-C again under a [`Guard`].
pub(crate) fn insist() -> watch::Receiver<bool> {
    shared().insist.subscribe()
}

/// Sets the guard. From here on a request to end and a lost terminal count as Ctrl-C too.
pub(crate) fn guard() -> Guard {
    static HEEDED: OnceLock<()> = OnceLock::new();
    GUARDED.store(true, Ordering::SeqCst);
    HEEDED.get_or_init(|| {
        let runtime = &shared().runtime;
        let _inside = runtime.enter();
        drop(runtime.spawn(heed_end()));
    });
    Guard
}

impl Drop for Guard {
    fn drop(&mut self) {
        GUARDED.store(false, Ordering::SeqCst);
    }
}

fn shared() -> &'static RuntimeState {
    SHARED.get_or_init(|| {
        // Only the crate's own features are on, so a second install is the same provider again.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("threads can be started");
        let inside = runtime.enter();
        runtime.spawn(listen());
        drop(inside);
        RuntimeState {
            runtime,
            stop: watch::Sender::new(false),
            insist: watch::Sender::new(false),
        }
    })
}

/// The handler stays for the life of the process, so what Ctrl-C does when nothing is read is done
/// here too. What arrives is heeded from this call on, not only from when the task first gets its
/// turn.
#[cfg(unix)]
fn listen() -> impl Future<Output = ()> {
    let interrupts = signal(SignalKind::interrupt());
    async move {
        let Ok(mut interrupts) = interrupts else {
            return;
        };
        while interrupts.recv().await.is_some() {
            arrived(INTERRUPTED);
        }
    }
}

#[cfg(not(unix))]
async fn listen() {
    while tokio::signal::ctrl_c().await.is_ok() {
        arrived(INTERRUPTED);
    }
}

/// Listens for a request to end and a lost terminal.
#[cfg(unix)]
fn heed_end() -> impl Future<Output = ()> {
    let (end, hangup) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    );
    async move {
        let (Ok(mut end), Ok(mut hangup)) = (end, hangup) else {
            return;
        };
        loop {
            tokio::select! {
                _ = end.recv() => arrived(TERMINATED),
                _ = hangup.recv() => arrived(TERMINATED),
            }
        }
    }
}

#[cfg(not(unix))]
async fn heed_end() {}

#[expect(
    clippy::exit,
    reason = "what the signal would have done had nobody listened to it"
)]
fn arrived(code: i32) {
    let RuntimeState { stop, insist, .. } = shared();
    let is_second = *stop.borrow();
    if GUARDED.load(Ordering::SeqCst) {
        (if is_second { insist } else { stop }).send_replace(true);
    } else if !READING.load(Ordering::SeqCst) || is_second {
        std::process::exit(code);
    } else {
        stop.send_replace(true);
    }
}
