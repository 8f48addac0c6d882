//! From levels that are wanted to what is asked of `/logging`, and back.

use std::collections::BTreeMap;

use super::{ComponentLevel, LevelRequest, LogLevels};

/// What changes on one Envoy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelChange {
    /// The level before and after, of each component that does not have it yet.
    pub steps: BTreeMap<String, (ComponentLevel, ComponentLevel)>,
    /// What it is made of.
    pub wanted: LevelRequest,
}

/// How several components are named at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueryStyle {
    /// "/logging?paths=name1:level1,name2:level2,... (change multiple levels)"
    #[default]
    Paths,
    /// `/logging?<name>=<level>`, "change single level", a request for each: all that older ones
    /// know.
    Single,
}

impl LevelChange {
    /// The queries that make the change.
    pub fn queries(&self, style: QueryStyle) -> Vec<String> {
        let Some(all) = self.wanted.all else {
            return queries(
                &self
                    .steps
                    .iter()
                    .map(|(name, (_, to))| (name.clone(), *to))
                    .collect(),
                style,
            );
        };
        let for_all = (!self.steps.is_empty()).then(|| format!("level={all}"));
        for_all
            .into_iter()
            .chain(queries(&self.wanted.named, style))
            .collect()
    }

    /// What has to be set to undo it: only what it changed, and only where that still holds. Who
    /// has another level by now was changed by somebody else, or began anew.
    pub fn undo(&self, now: &LogLevels) -> BTreeMap<String, ComponentLevel> {
        let ours = |(name, (_, to)): &(&String, &(ComponentLevel, ComponentLevel))| {
            now.0.get(*name) == Some(to)
        };
        self.steps
            .iter()
            .filter(ours)
            .map(|(name, (from, _))| (name.clone(), *from))
            .collect()
    }

    /// All that it changed, at the levels from before.
    pub fn before(&self) -> BTreeMap<String, ComponentLevel> {
        self.steps
            .iter()
            .map(|(name, (from, _))| (name.clone(), *from))
            .collect()
    }

    /// Whether all of it holds.
    pub fn holds(&self, now: &LogLevels) -> bool {
        self.steps
            .iter()
            .all(|(name, (_, to))| now.0.get(name) == Some(to))
    }
}

/// The queries that set these levels.
pub fn queries(levels: &BTreeMap<String, ComponentLevel>, style: QueryStyle) -> Vec<String> {
    if levels.len() > 1 && style == QueryStyle::Paths {
        return vec![format!("paths={}", LogLevels(levels.clone()).told())];
    }
    levels
        .iter()
        .map(|(name, level)| format!("{name}={level}"))
        .collect()
}
