//! URI templates (`extensions.path.match.uri_template.v3`): `/shop/{id}/**`.

use crate::sim::Tri;
use crate::sim::regex::Regex;

/// A compiled template.
#[derive(Clone, Debug)]
pub struct Template {
    source: Box<str>,
    regex: Result<Regex, Box<str>>,
}

/// The characters of a segment: RFC 3986's `pchar` without `*`.
const SEGMENT: &str = r"a-zA-Z0-9-._~%!$&'()+,;:@=";

impl Template {
    /// Compiles a template.
    pub fn compile(source: &str) -> Self {
        let regex = pattern(source).map(|pattern| Regex::full(&pattern));
        Self { source: source.into(), regex: regex.ok_or_else(|| "it is not a URI template".into()) }
    }

    /// The template as the configuration has it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether a path matches that has lost its query and fragment.
    pub fn matches(&self, path: &str) -> Tri {
        match &self.regex {
            Ok(regex) => regex.matches(path),
            Err(problem) => Tri::unknown(format!("what the template `{}` means: {problem}", self.source)),
        }
    }
}

/// The template as a regular expression; none when Envoy would refuse it.
fn pattern(source: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = source.strip_prefix('/')?;
    loop {
        out.push('/');
        let (segment, behind) = segment(rest)?;
        out.push_str(&segment);
        match behind.strip_prefix('/') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Some(out),
            None => out.push_str(&literal(behind)?),
        }
        if !behind.starts_with('/') {
            return Some(out);
        }
    }
}

/// The segment at the start of `text`, and what follows it.
fn segment(text: &str) -> Option<(String, &str)> {
    if let Some(variable) = text.strip_prefix('{') {
        let (inside, rest) = variable.split_once('}')?;
        let (_, segments) = inside.split_once('=').unwrap_or((inside, "*"));
        let segments: Option<Vec<_>> = segments.split('/').map(|s| literal(s)).collect();
        return Some((format!("({})", segments?.join("/")), rest));
    }
    let end = text.find('/').unwrap_or(text.len());
    Some((literal(&text[..end])?, &text[end..]))
}

/// "`*` matches one path segment, `**` zero or more", anything else itself.
fn literal(segment: &str) -> Option<String> {
    match segment {
        "*" => Some(format!("[{SEGMENT}]+")),
        "**" => Some(format!("[{SEGMENT}/]*")),
        text if text.contains(['*', '{', '}']) => None,
        text => Some(format!(r"\Q{text}\E")),
    }
}
