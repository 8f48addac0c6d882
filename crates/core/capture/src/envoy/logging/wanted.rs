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
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (name, level) = part.rsplit_once([':', '=']).unwrap_or(("all", part));
            let name = name.rsplit("::").next().unwrap_or(name);
            let level = ComponentLevel::parse(level).ok_or_else(|| {
                let known = ComponentLevel::ALL.map(ComponentLevel::word).join(", ");
                format!("`{level}` is no log level: there are {known}")
            })?;
            match name {
                "all" | "*" => {
                    wanted = Self {
                        all: Some(level),
                        named: BTreeMap::new(),
                    }
                }
                "" => return Err(format!("`{part}` names no component: try rbac:{level}")),
                name if !name.bytes().all(is_of_name) => {
                    return Err(format!("`{name}` is no component's name: try rbac:{level}"));
                }
                name => drop(wanted.named.insert(name.to_owned(), level)),
            }
        }
        if wanted == Self::default() {
            return Err("no level is named: try rbac:debug,jwt:debug".to_owned());
        }
        Ok(wanted)
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
        let unknown = self
            .named
            .keys()
            .filter(|name| !levels.0.contains_key(*name));
        let unknown: Vec<&str> = unknown.map(String::as_str).collect();
        if !unknown.is_empty() {
            return Err(format!(
                "this Envoy has no component {}",
                unknown.join(", ")
            ));
        }
        let steps = levels.0.iter().filter_map(|(name, from)| {
            let to = *self.named.get(name).or(self.all.as_ref())?;
            (to != *from).then(|| (name.clone(), (*from, to)))
        });
        Ok(LevelChange {
            steps: steps.collect(),
            wanted: self.clone(),
        })
    }
}

/// What may stand in a query as it is.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./".contains(&byte)
}
