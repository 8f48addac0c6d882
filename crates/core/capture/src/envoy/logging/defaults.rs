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
        let annotations = pod.at(["metadata", "annotations"]);
        let said = |flag: &str, key: &str| {
            value_of(&args, flag).or_else(|| {
                annotations
                    .and_then(|all| all.str_at(key))
                    .map(str::to_owned)
            })
        };
        let usual = Self::default();
        let level = said("--proxyLogLevel", "sidecar.istio.io/logLevel")
            .and_then(|text| ComponentLevel::parse(text.trim()));
        let components = said(
            "--proxyComponentLogLevel",
            "sidecar.istio.io/componentLogLevel",
        );
        let components = match components {
            Some(text) if text.trim().is_empty() => Some(BTreeMap::new()),
            Some(text) => LevelRequest::parse(&text).ok().map(|wanted| wanted.named),
            None => None,
        };
        Self {
            level: level.unwrap_or(usual.level),
            components: components.unwrap_or(usual.components),
        }
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
        let off = levels
            .0
            .iter()
            .filter(|(name, level)| self.of(name) != **level);
        off.map(|(name, _)| (name.clone(), self.of(name))).collect()
    }
}

/// The arguments of the container `istio-proxy`, which a native sidecar has among the init
/// containers.
fn proxy_args(pod: &Node) -> Vec<String> {
    let lists = ["containers", "initContainers"].into_iter();
    let mut containers = lists.flat_map(|list| pod.at(["spec", list]).map_or(&[][..], Node::items));
    let proxy = containers.find(|container| container.str_at("name") == Some("istio-proxy"));
    let args = proxy.map_or(&[][..], |proxy| proxy.items_at("args"));
    args.iter()
        .filter_map(Node::str)
        .map(str::to_owned)
        .collect()
}

/// The value of a flag: `--flag=value`, or `--flag value`.
pub(crate) fn value_of(args: &[String], flag: &str) -> Option<String> {
    args.iter()
        .enumerate()
        .find_map(|(at, arg)| match arg.strip_prefix(flag)? {
            "" => args.get(at + 1).cloned(),
            rest => rest.strip_prefix('=').map(str::to_owned),
        })
}
