//! Writes what a sidecar's Envoy would answer in a mesh of so many services, laid out as Envoy lays
//! it out.
//!
//! The shares of the sections and the bytes per resource are those of real dumps. The output
//! depends on the arguments alone, and is streamed: a dump of any size takes a few megabytes of
//! memory.

mod clusters;
mod config_dump;
mod indent;
mod mesh;
mod template;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use indent::Indent;
use mesh::Services;

const USAGE: &str =
    "usage: generate-dump --size 100MB | --services N [--routes N] [--kind config_dump|clusters]";

#[derive(Clone, Copy, Default)]
enum Kind {
    #[default]
    ConfigDump,
    Clusters,
}

enum Extent {
    Services(usize),
    Bytes(u64),
}

fn main() -> ExitCode {
    let result = parse(std::env::args().skip(1)).and_then(|(kind, extent, routes)| {
        let services = match extent {
            Extent::Services(count) => count,
            Extent::Bytes(size) => services_for(kind, size, routes),
        };
        write(kind, services, routes, BufWriter::new(io::stdout().lock()))
            .map(drop)
            .map_err(|e| e.to_string())
    });
    let Err(message) = result else {
        return ExitCode::SUCCESS;
    };
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::from(2)
}

/// What to write, how much of it, and how many routes a virtual host has at least.
fn parse(mut args: impl Iterator<Item = String>) -> Result<(Kind, Extent, usize), String> {
    let (mut kind, mut extent, mut routes) = (Kind::default(), None, 0);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        match (&*flag, &*value) {
            ("--kind", "config_dump") => kind = Kind::ConfigDump,
            ("--kind", "clusters") => kind = Kind::Clusters,
            ("--size", size) => {
                extent = Some(
                    bytes(size)
                        .map(Extent::Bytes)
                        .ok_or("--size: expected such as 100MB")?,
                );
            }
            ("--services", n) => {
                extent = Some(
                    n.parse()
                        .map(Extent::Services)
                        .map_err(|_| "--services: no number")?,
                );
            }
            ("--routes", n) => routes = n.parse().map_err(|_| "--routes: no number")?,
            _ => return Err(USAGE.into()),
        }
    }
    Ok((kind, extent.ok_or(USAGE)?, routes))
}

/// `100MB` is 100 million bytes.
fn bytes(size: &str) -> Option<u64> {
    let (number, unit) = [
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1000),
        ("", 1),
    ]
    .into_iter()
    .find_map(|(suffix, unit)| size.strip_suffix(suffix).map(|number| (number, unit)))?;
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// How many services make a dump of `size` bytes: beyond a fixed part the size is linear in their
/// number.
fn services_for(kind: Kind, size: u64, routes: usize) -> usize {
    const SAMPLE: usize = 300;
    let length = |services| write(kind, services, routes, Length(0)).map_or(0, |length| length.0);
    let (one, two) = (length(SAMPLE), length(2 * SAMPLE));
    let fixed = (2 * one).saturating_sub(two);
    usize::try_from(size.saturating_sub(fixed) * SAMPLE as u64 / (two - one))
        .expect("the dump fits in memory")
}

fn write<W: Write>(kind: Kind, count: usize, routes: usize, out: W) -> io::Result<W> {
    let services = Services { count, team: None };
    let mut out = Indent::new(out);
    match kind {
        Kind::ConfigDump => config_dump::write(&mut out, services, routes)?,
        Kind::Clusters => clusters::write(&mut out, services)?,
    }
    out.finish()
}

/// Keeps nothing but the number of bytes.
struct Length(u64);

impl Write for Length {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0 += text.len() as u64;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
