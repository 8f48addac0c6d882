//! YAML as Kubernetes reads it: documents, values and where each of them stands.
//!
//! "Kubernetes" here is `sigs.k8s.io/yaml`, which is go-yaml v2: YAML 1.1 booleans (`y`, `on`, `no`
//! …) and octals, keys made strings, of duplicate keys the last one counts. The syntax is read by
//! `granit-parser`; what its events mean is decided here. Whatever is wrong becomes a problem with
//! its place, and the rest is loaded.

mod anchors;
mod build;
mod gap;
mod members;
mod quick;
mod scalar;
mod scalars;
mod split;

pub use scalars::Scalars;
pub use split::{StreamPart, split};

use super::json::{self, Raw, TextFault};
use super::tree::Node;
use build::{EventReader, YamlLimits};
use members::LineNumbers;

/// What a text holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct YamlStream {
    /// The documents that could be read, in the order of the text; empty ones are left out.
    pub documents: Vec<Node>,
    /// What is wrong with the text. A document with broken syntax is left out of `documents`.
    pub problems: Vec<TextFault>,
}

impl YamlStream {
    /// Which document a pointer leads into, and the pointer inside it: several documents in one
    /// text count as an array.
    pub fn locate<'p>(&self, pointer: &'p str) -> Option<(usize, &'p str)> {
        let (number, rest) = if self.documents.len() == 1 {
            (0, pointer)
        } else {
            number(pointer)?
        };
        (number < self.documents.len()).then_some((number, rest))
    }
}

/// A pointer into a text of several documents: which of them, and the rest.
pub fn number(pointer: &str) -> Option<(usize, &str)> {
    let behind = pointer.strip_prefix('/')?;
    let end = behind.find('/').unwrap_or(behind.len());
    Some((behind[..end].parse().ok()?, &behind[end..]))
}

/// Whether it is one JSON value, not YAML that happens to start like one: `{kind: Pod}` has no
/// quotes.
pub fn is_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let inside =
        text.trim_start_matches(|c: char| matches!(c, '{' | '[') || c.is_ascii_whitespace());
    let is_quoted = inside.is_empty() || inside.starts_with(['"', '}', ']']);
    text.starts_with(['{', '[']) && is_quoted && !text.contains("\n---")
}

/// Loads every document of a text, be it YAML, JSON, or both with `---` between them.
pub fn load(text: &str) -> YamlStream {
    let mut loaded = YamlStream::default();
    let mut scalars = Scalars::default();
    for part in split(text) {
        let YamlStream {
            documents,
            problems,
        } = part.load(&mut scalars);
        loaded.documents.extend(documents);
        loaded.problems.extend(problems);
    }
    loaded
}

impl StreamPart<'_> {
    /// Loads this part; all places count from the start of the whole text.
    pub fn load(&self, scalars: &mut Scalars) -> YamlStream {
        let limits = YamlLimits::default();
        self.json()
            .or_else(|| quick::read(self, limits, scalars))
            .unwrap_or_else(|| EventReader::new(self, limits).run())
    }

    /// The quick way for what is JSON through and through: [`json`] is much faster than a YAML
    /// parser.
    fn json(&self) -> Option<YamlStream> {
        let body = split::behind_marker(self.as_str()).trim_ascii_start();
        if !body.starts_with(['{', '[']) {
            return None;
        }
        let base = self.range().end - body.len();
        let body = body.trim_ascii_end();
        json::check(body).ok()?;
        let mut root = Node::from_json(Raw::of(body).ok()?).ok()?;
        let mut problems = Vec::new();
        members::settle(&mut root, base, &mut LineNumbers::new(self), &mut problems);
        Some(YamlStream {
            documents: vec![root],
            problems,
        })
    }
}

#[cfg(test)]
mod tests;
