//! Envoy's log levels: what `/logging` tells, what may be asked of it, what is usual, and which
//! lines a component writes.

use std::collections::BTreeMap;
use std::fmt;

mod change;
pub(crate) mod defaults;
mod lines;
mod rate;
mod wanted;

pub use change::{LevelChange, QueryStyle, queries};
pub use defaults::DefaultLevels;
pub use lines::{ComponentLines, LineOwner};
pub use rate::{LogRate, before, cpu};
pub use wanted::LevelRequest;

/// How much a component logs, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComponentLevel {
    /// Everything.
    Trace,
    /// What it does with each request.
    Debug,
    /// What is of interest.
    Info,
    /// What may be wrong.
    Warning,
    /// What is wrong.
    Error,
    /// What ends it.
    Critical,
    /// Nothing.
    Off,
}

impl ComponentLevel {
    /// All.
    pub const ALL: [Self; 7] = [
        Self::Trace,
        Self::Debug,
        Self::Info,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Off,
    ];

    /// Reads Envoy's word; `warn`, which Envoy's command line takes and its admin interface does
    /// not, too.
    pub fn parse(text: &str) -> Option<Self> {
        let text = if text == "warn" { "warning" } else { text };
        Self::ALL.into_iter().find(|level| level.word() == text)
    }

    /// As `/logging` writes and takes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Off => "off",
        }
    }

    /// Whether each request leaves lines.
    pub fn is_loud(self) -> bool {
        self <= Self::Debug
    }
}

impl fmt::Display for ComponentLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The level of each component of one Envoy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogLevels(pub BTreeMap<String, ComponentLevel>);

impl LogLevels {
    /// Reads the answer of `/logging`: `active loggers:`, then `  name: level` a line. None when it
    /// is another answer.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        lines.find(|line| line.trim_end() == "active loggers:")?;
        let mut levels = BTreeMap::new();
        for line in lines {
            let Some((name, level)) = line.trim().rsplit_once(": ") else {
                continue;
            };
            if let Some(level) = ComponentLevel::parse(level.trim()) {
                levels.insert(name.to_owned(), level);
            }
        }
        Some(Self(levels))
    }

    /// Reads ztunnel's answer: `current log level is hickory_server=off,info`. The level for all is
    /// called `default`.
    pub fn parse_ztunnel(text: &str) -> Option<Self> {
        let list = text.trim().strip_prefix("current log level is ")?;
        let mut levels = BTreeMap::new();
        for part in list.split(',').map(str::trim) {
            let (name, level) = part.rsplit_once('=').unwrap_or(("default", part));
            if let Some(level) = ComponentLevel::parse(level) {
                levels.insert(name.to_owned(), level);
            }
        }
        Some(Self(levels))
    }

    /// With `--enable-fine-grain-logging` each source file is a logger, and is only listed once it
    /// has logged: what the others are at, nobody can tell.
    pub fn is_fine_grain(&self) -> bool {
        self.0.is_empty() || self.0.keys().any(|name| name.contains('/'))
    }

    /// The level that most components have.
    pub fn usual(&self) -> Option<ComponentLevel> {
        let mut counts: BTreeMap<ComponentLevel, usize> = BTreeMap::new();
        for level in self.0.values() {
            *counts.entry(*level).or_default() += 1;
        }
        // Of two that are equally common the louder one.
        let most_common = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
        Some(most_common.0)
    }

    /// The components that have another level than this.
    pub fn except(&self, level: ComponentLevel) -> impl Iterator<Item = (&str, ComponentLevel)> {
        self.0
            .iter()
            .filter(move |(_, other)| **other != level)
            .map(|(name, level)| (name.as_str(), *level))
    }

    /// `rbac:debug,jwt:debug`
    pub fn told(&self) -> String {
        let mut parts = Vec::new();
        for (name, level) in &self.0 {
            parts.push(format!("{name}:{level}"));
        }
        parts.join(",")
    }
}

#[cfg(test)]
mod tests;
