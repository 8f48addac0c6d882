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
            let mut to = BTreeMap::new();
            for (name, (_, level)) in &self.steps {
                to.insert(name.clone(), *level);
            }
            return queries(&to, style);
        };
        let mut queries = queries(&self.wanted.named, style);
        // The level for all sets every component, so it has to come before those that are named.
        if !self.steps.is_empty() {
            queries.insert(0, format!("level={all}"));
        }
        queries
    }

    /// What has to be set to undo it: only what it changed, and only where that still holds. Who
    /// has another level by now was changed by somebody else, or began anew.
    pub fn undo(&self, now: &LogLevels) -> BTreeMap<String, ComponentLevel> {
        let mut undo = BTreeMap::new();
        for (name, (from, to)) in &self.steps {
            if now.0.get(name) == Some(to) {
                undo.insert(name.clone(), *from);
            }
        }
        undo
    }

    /// Of what it changed, the components that are neither where it found them nor where it set
    /// them: somebody else set them meanwhile.
    pub fn foreign(&self, now: &LogLevels) -> BTreeMap<String, ComponentLevel> {
        let mut foreign = BTreeMap::new();
        for (name, (from, to)) in &self.steps {
            if let Some(level) = now.0.get(name)
                && level != from
                && level != to
            {
                foreign.insert(name.clone(), *level);
            }
        }
        foreign
    }

    /// Of what it changed, the components that were loud before: who raised them is not done, or
    /// has left them so.
    pub fn loud_before(&self) -> BTreeMap<String, ComponentLevel> {
        let mut loud = self.before();
        loud.retain(|_, level| level.is_loud());
        loud
    }

    /// All that it changed, at the levels from before.
    pub fn before(&self) -> BTreeMap<String, ComponentLevel> {
        let mut before = BTreeMap::new();
        for (name, (from, _)) in &self.steps {
            before.insert(name.clone(), *from);
        }
        before
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
    let mut queries = Vec::new();
    for (name, level) in levels {
        queries.push(format!("{name}={level}"));
    }
    queries
}
