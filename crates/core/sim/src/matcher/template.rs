//! URI templates (`extensions.path.match.uri_template.v3`): `/shop/{id}/**`.

use crate::Tri;
use meshladder_text::regex::Regex;

/// A compiled template.
#[derive(Clone, Debug)]
pub struct UriTemplate {
    source: Box<str>,
    regex: Result<Regex, Box<str>>,
}

/// The characters of a segment, as a class has them: RFC 3986's `pchar`.
const SEGMENT: &str = r"a-zA-Z0-9-._~%!$&'()*+,;:@=";

impl UriTemplate {
    /// Compiles a template.
    pub fn compile(source: &str) -> Self {
        let regex = match pattern(source) {
            Some(pattern) => Ok(Regex::full(&pattern)),
            None => Err("it is not a URI template".into()),
        };
        Self {
            source: source.into(),
            regex,
        }
    }

    /// The template as the configuration has it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether a path matches that has lost its query and fragment.
    pub fn matches(&self, path: &str) -> Tri {
        match &self.regex {
            // A pattern that RE2 refuses matches nothing: `/***`.
            Ok(regex) if regex.problem().is_some() => Tri::No,
            Ok(regex) => regex.matches(path),
            Err(problem) => {
                let source = &self.source;
                Tri::unknown(format!("what the template `{source}` means: {problem}"))
            }
        }
    }
}

/// The template as a regular expression; none when Envoy would refuse it.
fn pattern(source: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = source.strip_prefix('/')?;
    loop {
        // Each round begins behind a slash.
        out.push('/');
        if rest.is_empty() {
            return Some(out);
        }
        let (segment, behind) = segment(rest)?;
        out.push_str(&segment);
        match behind.strip_prefix('/') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Some(out),
            // "Not followed by '/', treat as suffix": `/videos/*.m3u8`.
            None => return Some(out + &literal(behind)?),
        }
    }
}

/// The segment at the start of `text`, and what follows it.
fn segment(text: &str) -> Option<(String, &str)> {
    let Some(variable) = text.strip_prefix('{') else {
        return part(text);
    };
    let (inside, rest) = variable.split_once('}')?;
    // `{name}` is `{name=*}`.
    let (_, pattern) = inside.split_once('=').unwrap_or((inside, "*"));
    Some((format!("({})", variable_pattern(pattern)?), rest))
}

/// The segments that a variable stands for: `{path=videos/*}`.
fn variable_pattern(mut inside: &str) -> Option<String> {
    let mut out = String::new();
    loop {
        let (part, behind) = part(inside)?;
        out.push_str(&part);
        match behind.strip_prefix('/') {
            Some(next) => {
                out.push('/');
                inside = next;
            }
            None if behind.is_empty() => return Some(out),
            None => return None,
        }
    }
}

/// An operator, or a text up to the next slash.
fn part(text: &str) -> Option<(String, &str)> {
    if let Some(operator) = operator(text) {
        return Some(operator);
    }
    let (text, behind) = text.split_at(text.find('/').unwrap_or(text.len()));
    Some((literal(text)?, behind))
}

/// "`*` matches one path segment, `**` zero or more".
fn operator(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = text.strip_prefix("**") {
        return Some((format!("[{SEGMENT}/]*"), rest));
    }
    let rest = text.strip_prefix('*')?;
    Some((format!("[{SEGMENT}]+"), rest))
}

/// Text that stands for itself, but for `*`: Envoy leaves that to mean what it means in a regular
/// expression.
fn literal(text: &str) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() && !"-._~%!$&'()*+,;:@=".contains(c) {
            return None;
        }
        if "$()+.".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    Some(out)
}
