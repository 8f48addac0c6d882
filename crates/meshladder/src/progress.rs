//! A line on stderr while something takes longer than a second, on a terminal only.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shows the line from its first second until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Dropping it ends the thread.
    stop: Option<Sender<()>>,
    shown: Option<JoinHandle<()>>,
}

impl Progress {
    pub(crate) fn start(what: String) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { stop: None, shown: None };
        }
        let (stop, stopped) = channel();
        Self { stop: Some(stop), shown: Some(std::thread::spawn(move || show(&what, &stopped))) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(shown) = self.shown.take() {
            let _ = shown.join();
        }
    }
}

fn show(what: &str, stopped: &Receiver<()>) {
    let start = Instant::now();
    let mut wait = Duration::from_secs(1);
    let mut drawn = false;
    while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        drawn = true;
        let _ = write!(anstream::stderr(), "\r\x1b[K{what} … {} s", start.elapsed().as_secs());
        wait = Duration::from_millis(500);
    }
    if drawn {
        let _ = write!(anstream::stderr(), "\r\x1b[K");
    }
}
