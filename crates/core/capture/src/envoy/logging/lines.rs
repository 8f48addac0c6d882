//! Which lines of a proxy's log a component wrote.

use std::collections::BTreeSet;

use super::LevelRequest;

/// Reads a log line by line and tells whose each is.
#[derive(Clone, Debug, Default)]
pub struct ComponentLines {
    /// None is every component.
    components: Option<BTreeSet<String>>,
    /// The last line began an entry that goes on in the next, and whether it is wanted.
    open: Option<bool>,
}

/// Whose a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOwner<'l> {
    /// A component's of Envoy.
    Component(&'l str),
    /// The agent's, or a request's.
    Other,
    /// It begins nothing: it belongs to what stands before it.
    More,
}

impl ComponentLines {
    /// Takes the lines of the components that are wanted; with a level for all those of every
    /// component.
    pub fn new(wanted: &LevelRequest) -> Self {
        let named = || wanted.named.keys().cloned().collect();
        Self {
            components: wanted.all.is_none().then(named),
            open: None,
        }
    }

    /// Whether a line is wanted. What a component writes may take several lines.
    pub fn takes(&mut self, line: &str) -> bool {
        let wanted = match LineOwner::line(line) {
            LineOwner::Component(name) => self
                .components
                .as_ref()
                .is_none_or(|all| all.contains(name)),
            // A request's line may stand between the lines of an entry.
            LineOwner::Other => return false,
            LineOwner::More => match self.open {
                Some(wanted) => wanted,
                None => return false,
            },
        };
        self.open = (!is_end(line)).then_some(wanted);
        wanted
    }
}

/// Istio has Envoy end each entry with its thread: `\tthread=23`.
fn is_end(line: &str) -> bool {
    line.rsplit_once("\tthread=")
        .is_some_and(|(_, rest)| rest.bytes().all(|byte| byte.is_ascii_digit()))
        || line.starts_with('{')
}

impl<'l> LineOwner<'l> {
    /// Reads the start of a line: Istio's text and JSON, and Envoy's own format.
    pub fn line(line: &'l str) -> Self {
        if line.starts_with('{') {
            return component_of_json(line).map_or(Self::Other, Self::Component);
        }
        if let Some(rest) = line.strip_prefix('[') {
            return component_of_envoy(rest).map_or(Self::Other, Self::Component);
        }
        // `2026-11-15T16:57:16.401175Z\tdebug\tenvoy http
        // source/common/http/conn_manager_impl.cc:2389\t…`
        let mut parts = line.splitn(4, '\t');
        let (Some(time), Some(_level), Some(scope)) = (parts.next(), parts.next(), parts.next())
        else {
            return Self::More;
        };
        if !time.starts_with(|c: char| c.is_ascii_digit()) || !time.ends_with('Z') {
            return Self::More;
        }
        let component = scope
            .strip_prefix("envoy ")
            .and_then(|rest| rest.split(' ').next());
        component.map_or(Self::Other, Self::Component)
    }
}

/// `"scope":"envoy rbac"`
fn component_of_json(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("\"scope\":\"envoy ")?;
    rest.split_once('"').map(|(name, _)| name)
}

/// `2026-11-15 16:57:18.495][28818][debug][http] [source/…`: an access log has one pair of
/// brackets, and a quote after it.
fn component_of_envoy(rest: &str) -> Option<&str> {
    let mut parts = rest.splitn(4, "][");
    let (time, thread, _, last) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_entry = !time.contains('"')
        && !thread.is_empty()
        && thread.bytes().all(|byte| byte.is_ascii_digit());
    last.split_once(']')
        .filter(|_| is_entry)
        .map(|(name, _)| name)
}
