//! What Prometheus lacks of a mesh, in its text format: sync state, refusals, findings, endpoints,
//! log levels, certificates.
//!
//! Every label set is bounded: of each family no more than so many series are told, the worst
//! first, and what is left out is counted.

use meshladder_capture::snapshot::Snapshot;
use meshladder_judge::report::{Outcome, Report};
use meshladder_mesh::Mesh;
use meshladder_text::time::Time;

mod family;
mod objects;
mod proxies;

pub use family::Family;

/// When the mesh was last read, by the clock of who read it.
#[derive(Clone, Copy, Debug)]
pub struct MeshReading {
    /// Whether the last try went well.
    pub is_up: bool,
    /// When one last did.
    pub read_at: Option<Time>,
    /// How many seconds that took.
    pub took: f64,
    /// How many tries have failed since the start.
    pub failed: u32,
}

/// The families of a mesh.
pub fn families(snapshot: &Snapshot, mesh: &Mesh, report: &Report) -> Vec<Family> {
    let mut all = vec![
        findings(report),
        rungs(report),
        unread(report),
        taken(snapshot),
    ];
    all.extend(proxies::families(snapshot, mesh));
    all.push(objects::weights(mesh));
    all
}

/// Everything as Prometheus' text format, version 0.0.4.
pub fn text(reading: MeshReading, version: &str, families: &[Family], most: usize) -> String {
    let mut out = String::new();
    for family in about(reading, version).iter().chain(families) {
        family.write(&mut out, most);
    }
    let mut dropped = Family::new(
        "meshladder_series_dropped",
        "Series that were left out, by metric",
    );
    for family in families.iter().filter(|family| family.len() > most) {
        dropped.count([("name", family.name)], family.len() - most);
    }
    // Present even at zero, so that its absence means something.
    if dropped.len() == 0 {
        dropped.count([("name", "none")], 0);
    }
    dropped.write(&mut out, usize::MAX);
    out
}

fn about(reading: MeshReading, version: &str) -> Vec<Family> {
    let mut up = Family::new(
        "meshladder_up",
        "Whether the mesh could be read the last time",
    );
    up.add(0, [], f64::from(u8::from(reading.is_up)));
    let mut info = Family::new("meshladder_build_info", "The version of meshladder");
    info.add(0, [("version", version)], 1.0);
    let mut failed = Family::counter(
        "meshladder_reads_failed_total",
        "Times that the mesh could not be read",
    );
    failed.add(0, [], f64::from(reading.failed));
    let mut families = vec![up, info, failed];
    if let Some(time) = reading.read_at {
        let mut last = Family::new(
            "meshladder_last_read_timestamp_seconds",
            "When the mesh was last read",
        );
        last.add(0, [], seconds(time));
        let mut took = Family::new("meshladder_read_duration_seconds", "How long that took");
        took.add(0, [], reading.took);
        families.extend([last, took]);
    }
    families
}

fn findings(report: &Report) -> Family {
    let mut family = Family::new("meshladder_findings", "Findings of the ladder, by code");
    let mut counts = std::collections::BTreeMap::new();
    for finding in report.findings.iter().map(|told| &told.finding) {
        let key = (
            finding.severity,
            finding.code,
            finding.name,
            finding.rung.id(),
        );
        *counts.entry(key).or_insert(0u32) += 1;
    }
    for ((severity, code, name, rung), count) in counts {
        family.add(
            0,
            [
                ("code", code),
                ("name", name),
                ("rung", rung),
                ("severity", severity.word()),
            ],
            f64::from(count),
        );
    }
    family
}

fn rungs(report: &Report) -> Family {
    let mut family = Family::new("meshladder_rung", "How each rung of the ladder came out");
    for rung in &report.rungs {
        let rank = u8::from(rung.outcome != Outcome::Failed);
        family.add(
            rank,
            [("rung", rung.rung.id()), ("outcome", rung.outcome.word())],
            1.0,
        );
    }
    family
}

fn unread(report: &Report) -> Family {
    let mut family = Family::new(
        "meshladder_unread",
        "Facts that could not be read, or only in part",
    );
    for (need, coverage) in report
        .coverage
        .iter()
        .filter(|(_, coverage)| coverage.word() != "complete")
    {
        family.add(
            0,
            [
                ("need", need.to_string().as_str()),
                ("state", coverage.word()),
            ],
            1.0,
        );
    }
    family
}

fn taken(snapshot: &Snapshot) -> Family {
    let mut family = Family::new(
        "meshladder_snapshot_timestamp_seconds",
        "When what was read was collected",
    );
    if let Some(time) = snapshot.taken_at() {
        family.add(0, [], seconds(time));
    }
    family
}

/// Seconds since 1970; a float holds them to the microsecond for a long time yet.
#[expect(clippy::cast_precision_loss, reason = "times of this century fit")]
fn seconds(time: Time) -> f64 {
    time.seconds as f64 + f64::from(time.nanos) / 1e9
}

#[cfg(test)]
mod tests;
