//! Writes a bundle of a healthy mesh: so many services in 37 namespaces, and what so many of their
//! proxies say, each imported to its own namespace as large meshes do. The output depends on the
//! arguments alone.

#[path = "../generate-dump/clusters.rs"]
mod clusters;
#[path = "../generate-dump/config_dump.rs"]
mod config_dump;
mod control_plane;
#[path = "../generate-dump/indent.rs"]
mod indent;
#[path = "../generate-dump/mesh.rs"]
mod mesh;
mod objects;
mod pods;
mod proxies;
#[path = "../generate-dump/template.rs"]
mod template;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: gen-mesh [--services 2000] [--proxies 1000] OUT";

const MANIFEST: &str = r#"{"format":"meshladder-bundle","version":1,"takenAt":"2026-11-15T06:50:00Z","cluster":{"id":"Kubernetes","network":""},"istioVersion":"1.30.0","coverage":{}}"#;

fn main() -> ExitCode {
    let result = parse(std::env::args().skip(1)).and_then(|(services, proxies, out)| {
        write(services, proxies, &out).map_err(|e| e.to_string())
    });
    let Err(message) = result else {
        return ExitCode::SUCCESS;
    };
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::from(2)
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<(usize, usize, PathBuf), String> {
    let (mut services, mut proxies, mut out) = (2000, 1000, None);
    while let Some(word) = args.next() {
        let mut number = || args.next().and_then(|n| n.parse().ok()).ok_or(USAGE);
        match &*word {
            "--services" => services = number()?,
            "--proxies" => proxies = number()?,
            _ if !word.starts_with('-') && out.is_none() => out = Some(PathBuf::from(word)),
            _ => return Err(USAGE.into()),
        }
    }
    Ok((services, proxies, out.ok_or(USAGE)?))
}

fn write(services: usize, proxies: usize, out: &Path) -> io::Result<()> {
    std::fs::create_dir_all(out.join("k8s"))?;
    std::fs::write(out.join("manifest.json"), MANIFEST)?;
    objects::write(out, services)?;
    proxies::write(out, services, proxies)
}
