//! A line on stderr while something takes longer than a second, on a terminal only. Whoever writes
//! anything else stops it first, so the two never share a line.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use meshladder_text::shown;

/// The line that is shown. Dropping the sender ends its thread.
static SHOWN: Mutex<Option<(Sender<()>, JoinHandle<()>)>> = Mutex::new(None);

/// Shows the line from its first second until [`stop`].
pub(crate) fn start(what: String) {
    run(Duration::from_secs(1), move || what.clone());
}

/// Shows a line that changes, at once: who waits for a cluster wants to know for what.
pub(crate) fn follow(what: impl Fn() -> String + Send + 'static) {
    run(Duration::from_millis(50), what);
}

fn run(wait: Duration, what: impl Fn() -> String + Send + 'static) {
    stop();
    if std::io::stderr().is_terminal() {
        let (sender, stopped) = channel();
        let thread = std::thread::spawn(move || show(wait, &what, &stopped));
        if let Ok(mut shown) = SHOWN.lock() {
            *shown = Some((sender, thread));
        }
    }
}

/// Takes the line away.
pub(crate) fn stop() {
    let shown = SHOWN.lock().ok().and_then(|mut shown| shown.take());
    if let Some((sender, thread)) = shown {
        drop(sender);
        let _ = thread.join();
    }
}

fn show(first: Duration, what: &dyn Fn() -> String, stopped: &Receiver<()>) {
    let start = Instant::now();
    let mut wait = first;
    let mut width: usize = 0;
    while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        let what = what();
        let line = format!("{} … {} s", shown::line(&what), start.elapsed().as_secs());
        let blanks = width.saturating_sub(line.chars().count());
        width = line.chars().count();
        // Straight to stderr: blanks need no colour support to overwrite with.
        let _ = write!(std::io::stderr(), "\r{line}{:blanks$}", "");
        wait = Duration::from_millis(500).min(first * 4);
    }
    if width > 0 {
        let _ = write!(std::io::stderr(), "\r{:width$}\r", "");
    }
}
