//! Commands about the program itself.

use std::io::Write;
use std::path::Path;

use clap_complete::Shell as CompletionShell;
use meshladder_output::json::to_line;
use serde::Serialize;

use crate::args::{self, Shell, TextOrJson};
use crate::exit::{Failure, Outcome, UNREADABLE};
use crate::out;

/// What it was tried with; other versions are read as far as they are alike.
const ISTIO: &str = "1.20 – 1.30";
const ENVOY: &str = "1.24 – 1.40";

pub(super) fn version(output: TextOrJson) -> Outcome {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("MESHLADDER_COMMIT"));
    let mut out = out::stdout();
    match output {
        TextOrJson::Text => writeln!(
            out,
            "meshladder {version} ({commit})\nreads Istio {ISTIO}, Envoy {ENVOY}"
        )?,
        TextOrJson::Json => {
            let version = VersionJson {
                version,
                commit,
                istio: ISTIO,
                envoy: ENVOY,
            };
            writeln!(out, "{}", to_line(&version))?;
        }
    }
    out.flush()?;
    Ok(0)
}

#[derive(Serialize)]
struct VersionJson {
    version: &'static str,
    commit: &'static str,
    istio: &'static str,
    envoy: &'static str,
}

pub(super) fn completion(shell: Shell) -> Outcome {
    let shell = match shell {
        Shell::Bash => CompletionShell::Bash,
        Shell::Zsh => CompletionShell::Zsh,
        Shell::Fish => CompletionShell::Fish,
        Shell::Powershell => CompletionShell::PowerShell,
    };
    // Written to memory first: the generator panics when a pipe closes.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(None), "meshladder", &mut script);
    let mut out = out::stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(0)
}

pub(super) fn man(directory: &Path) -> Outcome {
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(args::command(None), directory));
    written.map_err(|error| {
        Failure::new(
            UNREADABLE,
            format!(
                "cannot write man pages into {}: {error}",
                directory.display()
            ),
        )
    })?;
    Ok(0)
}
