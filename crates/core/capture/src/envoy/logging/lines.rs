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
        let components = match wanted.all {
            Some(_) => None,
            None => Some(wanted.named.keys().cloned().collect()),
        };
        Self {
            components,
            open: None,
        }
    }

    /// Whether a line is wanted. What a component writes may take several lines.
    pub fn takes(&mut self, line: &str) -> bool {
        let wanted = match (LineOwner::line(line), self.open) {
            (LineOwner::Component(name), _) => self.wants(name),
            (LineOwner::More, Some(wanted)) => wanted,
            // A request's line may stand between the lines of an entry.
            (LineOwner::Other, _) | (LineOwner::More, None) => return false,
        };
        self.open = (!is_end(line)).then_some(wanted);
        wanted
    }

    fn wants(&self, component: &str) -> bool {
        match &self.components {
            Some(components) => components.contains(component),
            None => true,
        }
    }
}

/// Istio has Envoy end each entry with its thread: `\tthread=23`. JSON has no line breaks in it.
fn is_end(line: &str) -> bool {
    if line.starts_with('{') {
        return true;
    }
    match line.rsplit_once("\tthread=") {
        Some((_, thread)) => thread.bytes().all(|byte| byte.is_ascii_digit()),
        None => false,
    }
}

impl<'l> LineOwner<'l> {
    /// Reads the start of a line: Istio's text and JSON, and Envoy's own format.
    pub fn line(line: &'l str) -> Self {
        let component = if line.starts_with('{') {
            component_of_json(line)
        } else if let Some(rest) = line.strip_prefix('[') {
            component_of_envoy(rest)
        } else if let Some(scope) = scope_of_istio(line) {
            scope.strip_prefix("envoy ").and_then(first_word)
        } else {
            return Self::More;
        };
        match component {
            Some(name) => Self::Component(name),
            None => Self::Other,
        }
    }
}

fn first_word(text: &str) -> Option<&str> {
    text.split(' ').next()
}

/// `2026-11-15T16:57:16.401175Z\tdebug\tenvoy http source/common/http/conn_manager_impl.cc:2389\t…`
fn scope_of_istio(line: &str) -> Option<&str> {
    let mut parts = line.splitn(4, '\t');
    let (time, _level, scope) = (parts.next()?, parts.next()?, parts.next()?);
    if !time.as_bytes().first()?.is_ascii_digit() || !time.ends_with('Z') {
        return None;
    }
    Some(scope)
}

/// `"scope":"envoy rbac"`
fn component_of_json(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("\"scope\":\"envoy ")?;
    let (name, _) = rest.split_once('"')?;
    Some(name)
}

/// `2026-11-15 16:57:18.495][28818][debug][http] [source/…`: an access log has one pair of
/// brackets, and a quote after it.
fn component_of_envoy(rest: &str) -> Option<&str> {
    let mut parts = rest.splitn(4, "][");
    let (time, thread, _, last) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_thread = !thread.is_empty() && thread.bytes().all(|byte| byte.is_ascii_digit());
    if time.contains('"') || !is_thread {
        return None;
    }
    let (name, _) = last.split_once(']')?;
    Some(name)
}
