//! A line on stderr while something takes longer than a second, on a terminal only. Whoever writes anything else stops it
//! first, so the two never share a line.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The line that is shown. Dropping the sender ends its thread.
static SHOWN: Mutex<Option<(Sender<()>, JoinHandle<()>)>> = Mutex::new(None);

/// Shows the line from its first second until [`stop`].
pub(crate) fn start(what: String) {
    stop();
    if std::io::stderr().is_terminal() {
        let (sender, stopped) = channel();
        let thread = std::thread::spawn(move || show(&what, &stopped));
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

fn show(what: &str, stopped: &Receiver<()>) {
    let start = Instant::now();
    let mut wait = Duration::from_secs(1);
    let mut width = 0;
    while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        let line = format!("{what} … {} s", start.elapsed().as_secs());
        width = line.chars().count();
        // Straight to stderr: blanks need no colour support to overwrite with.
        let _ = write!(std::io::stderr(), "\r{line}");
        wait = Duration::from_millis(500);
    }
    if width > 0 {
        let _ = write!(std::io::stderr(), "\r{:width$}\r", "");
    }
}
