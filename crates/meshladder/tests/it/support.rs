//! How tests run the binary and find the captures.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the binary, without the colours and settings of whoever runs the tests.
pub(crate) fn meshladder<S: AsRef<OsStr>>(words: &[S]) -> Run {
    with_stdin(words, b"")
}

/// Runs it with something on stdin.
pub(crate) fn with_stdin<S: AsRef<OsStr>>(words: &[S], stdin: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_meshladder"))
        .args(words)
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        // Nor their cluster.
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", "/nowhere")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut pipe = child.stdin.take().expect("stdin is a pipe");
    let input = stdin.to_vec();
    // A program that does not read its stdin closes it: that is its right.
    let writer = std::thread::spawn(move || pipe.write_all(&input).is_ok());
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("the writer ends");
    Run {
        code: output.status.code().expect("the binary ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
    }
}
