//! What `--level` says.

use std::collections::BTreeMap;

use super::{ComponentLevel, LevelChange, LogLevels};

/// Levels that somebody wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelRequest {
    /// For every component that is not named.
    pub all: Option<ComponentLevel>,
    /// By component.
    pub named: BTreeMap<String, ComponentLevel>,
}

impl LevelRequest {
    /// Reads istioctl's list: `rbac:debug,jwt=debug`, or a bare level for all components, which
    /// `all` and `*` mean too. One for all replaces what stands before it. What stands before `::`
    /// in a component's name is dropped.
    ///
    /// # Errors
    /// When a level or a name is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut wanted = Self::default();
        for part in text.split(',').map(str::trim) {
            if !part.is_empty() {
                wanted.add(part)?;
            }
        }
        if wanted == Self::default() {
            return Err("no level is named: try rbac:debug,jwt:debug".to_owned());
        }
        Ok(wanted)
    }

    /// Adds one part of the list, such as `rbac:debug`.
    fn add(&mut self, part: &str) -> Result<(), String> {
        let (name, level) = part.rsplit_once([':', '=']).unwrap_or(("all", part));
        let name = name.rsplit("::").next().unwrap_or(name);
        let Some(level) = ComponentLevel::parse(level) else {
            let known = ComponentLevel::ALL.map(ComponentLevel::word).join(", ");
            return Err(format!("`{level}` is no log level: there are {known}"));
        };
        if matches!(name, "all" | "*") {
            self.all = Some(level);
            self.named.clear();
            return Ok(());
        }
        if name.is_empty() {
            return Err(format!("`{part}` names no component: try rbac:{level}"));
        }
        if !name.bytes().all(is_of_name) {
            return Err(format!("`{name}` is no component's name: try rbac:{level}"));
        }
        self.named.insert(name.to_owned(), level);
        Ok(())
    }

    /// Whether all components would log each request.
    pub fn is_flood(&self) -> bool {
        self.all.is_some_and(ComponentLevel::is_loud)
    }

    /// What has to change on an Envoy to have it.
    ///
    /// # Errors
    /// The components that this Envoy does not have.
    pub fn on(&self, levels: &LogLevels) -> Result<LevelChange, String> {
        let mut unknown = Vec::new();
        for name in self.named.keys() {
            if !levels.0.contains_key(name) {
                unknown.push(name.as_str());
            }
        }
        if !unknown.is_empty() {
            let unknown = unknown.join(", ");
            return Err(format!("this Envoy has no component {unknown}"));
        }

        let mut steps = BTreeMap::new();
        for (name, from) in &levels.0 {
            let Some(to) = self.named.get(name).copied().or(self.all) else {
                continue;
            };
            if to != *from {
                steps.insert(name.clone(), (*from, to));
            }
        }
        Ok(LevelChange {
            steps,
            wanted: self.clone(),
        })
    }
}

/// What may stand in a query as it is.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./".contains(&byte)
}
