//! What is printed for monitoring, held against the programs that read it.

use std::path::PathBuf;
use std::process::Command;

use crate::expect::root;

mod alerts;
mod canary;
mod exporter;
mod flags;
mod install;
mod rules;
pub(crate) mod server;

/// A program that `scripts/test` installs: in `.tools/bin`, or on the PATH.
fn program(name: &str) -> Command {
    let own = root().join(".tools/bin").join(name);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = std::iter::once(own)
        .chain(folders)
        .find(|file| file.is_file());
    Command::new(found.unwrap_or_else(|| panic!("no {name}: scripts/test installs it")))
}

/// Runs it and gives what it printed; a failure is shown whole.
fn run(mut command: Command) -> String {
    let output = command.output().expect("the program starts");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{command:?}:\n{text}");
    text
}

/// A file of a fresh folder.
fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("the file is written");
    path
}
