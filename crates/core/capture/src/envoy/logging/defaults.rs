//! The levels that a proxy starts with.

use std::collections::BTreeMap;

use super::{ComponentLevel, LevelRequest, LogLevels};
use meshladder_text::tree::Node;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultLevels {
    /// Of all components that are not named.
    pub level: ComponentLevel,
    /// By component.
    pub components: BTreeMap<String, ComponentLevel>,
}

impl Default for DefaultLevels {
    /// Istio's own: `proxyLogLevel` `warning`, `proxyComponentLogLevel` `misc:error`.
    fn default() -> Self {
        Self {
            level: ComponentLevel::Warning,
            components: [("misc".to_owned(), ComponentLevel::Error)].into(),
        }
    }
}

impl DefaultLevels {
    /// What a pod's proxy is started with; where nothing in it says, what its annotations ask for,
    /// else Istio's own.
    pub fn of_pod(pod: &Node) -> Self {
        let args = proxy_args(pod);
        let mut levels = Self::default();

        // The arguments are what the injector has made of the annotations.
        let level = value_of(&args, "--proxyLogLevel")
            .or_else(|| annotation(pod, "sidecar.istio.io/logLevel"));
        if let Some(text) = level
            && let Some(level) = ComponentLevel::parse(text.trim())
        {
            levels.level = level;
        }

        let components = value_of(&args, "--proxyComponentLogLevel")
            .or_else(|| annotation(pod, "sidecar.istio.io/componentLogLevel"));
        if let Some(text) = components {
            if text.trim().is_empty() {
                levels.components.clear();
            } else if let Ok(wanted) = LevelRequest::parse(text) {
                levels.components = wanted.named;
            }
        }
        levels
    }

    /// The level a component starts with.
    pub fn of(&self, component: &str) -> ComponentLevel {
        self.components
            .get(component)
            .copied()
            .unwrap_or(self.level)
    }

    /// The components that are not at it, with the level they should have.
    pub fn missed_by(&self, levels: &LogLevels) -> BTreeMap<String, ComponentLevel> {
        let mut missed = BTreeMap::new();
        for (name, level) in &levels.0 {
            let start = self.of(name);
            if start != *level {
                missed.insert(name.clone(), start);
            }
        }
        missed
    }
}

fn annotation<'p>(pod: &'p Node, key: &str) -> Option<&'p str> {
    pod.at(["metadata", "annotations"])?.str_at(key)
}

/// The arguments of the container `istio-proxy`, which a native sidecar has among the init
/// containers.
fn proxy_args(pod: &Node) -> Vec<&str> {
    for list in ["containers", "initContainers"] {
        if let Some(args) = container_args(pod, list, "istio-proxy") {
            return args;
        }
    }
    Vec::new()
}

/// The arguments of the container of that name, in one of the pod's lists of containers.
pub(crate) fn container_args<'p>(pod: &'p Node, list: &str, name: &str) -> Option<Vec<&'p str>> {
    for container in pod.at(["spec", list])?.items() {
        if container.str_at("name") == Some(name) {
            let args = container.items_at("args");
            return Some(args.iter().filter_map(Node::str).collect());
        }
    }
    None
}

/// The value of a flag: `--flag=value`, or `--flag value`.
pub(crate) fn value_of<'a>(args: &[&'a str], flag: &str) -> Option<&'a str> {
    for (at, arg) in args.iter().enumerate() {
        let value = match arg.strip_prefix(flag) {
            Some("") => args.get(at + 1).copied(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        if value.is_some() {
            return value;
        }
    }
    None
}
