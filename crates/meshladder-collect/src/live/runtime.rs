//! The one place where futures run, and where Ctrl-C arrives.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Runtime;
use tokio::sync::watch;

/// 128 + SIGINT
const INTERRUPTED: i32 = 130;

static RUNTIME: OnceLock<(Runtime, watch::Receiver<bool>)> = OnceLock::new();
static READING: AtomicBool = AtomicBool::new(false);

/// Runs a future to its end; Ctrl-C meanwhile sets what [`stop`] watches, and any later one ends the process.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    READING.store(true, Ordering::SeqCst);
    let done = runtime().0.block_on(future);
    READING.store(false, Ordering::SeqCst);
    done
}

/// True once the user has pressed Ctrl-C while something was read.
pub(crate) fn stop() -> watch::Receiver<bool> {
    runtime().1.clone()
}

fn runtime() -> &'static (Runtime, watch::Receiver<bool>) {
    RUNTIME.get_or_init(|| {
        // Only the crate's own features are on, so a second install is the same provider again.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("threads can be started");
        let (sender, receiver) = watch::channel(false);
        runtime.spawn(listen(sender));
        (runtime, receiver)
    })
}

/// The handler stays for the life of the process, so what Ctrl-C does when nothing is read is done here too.
#[expect(clippy::exit, reason = "what the signal would have done had nobody listened to it")]
async fn listen(stop: watch::Sender<bool>) {
    while tokio::signal::ctrl_c().await.is_ok() {
        if !READING.load(Ordering::SeqCst) || *stop.borrow() {
            std::process::exit(INTERRUPTED);
        }
        // Nobody may be left to hear it.
        let _ = stop.send(true);
    }
}
