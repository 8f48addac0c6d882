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
        let regex = pattern(source).map(|pattern| Regex::full(&pattern));
        Self {
            source: source.into(),
            regex: regex.ok_or_else(|| "it is not a URI template".into()),
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
            Err(problem) => Tri::unknown(format!(
                "what the template `{}` means: {problem}",
                self.source
            )),
        }
    }
}

/// The template as a regular expression; none when Envoy would refuse it.
fn pattern(source: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = source.strip_prefix('/')?;
    loop {
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
    if let Some(found) = operator(text) {
        return Some(found);
    }
    let Some(variable) = text.strip_prefix('{') else {
        let end = text.find('/').unwrap_or(text.len());
        return Some((literal(&text[..end])?, &text[end..]));
    };
    let (inside, rest) = variable.split_once('}')?;
    let (_, mut inside) = inside.split_once('=').unwrap_or((inside, "*"));
    let mut out = "(".to_owned();
    loop {
        let (part, behind) = if let Some(found) = operator(inside) {
            found
        } else {
            let (text, behind) = inside.split_at(inside.find('/').unwrap_or(inside.len()));
            (literal(text)?, behind)
        };
        out.push_str(&part);
        match behind.strip_prefix('/') {
            Some(next) => {
                out.push('/');
                inside = next;
            }
            None if behind.is_empty() => return Some((out + ")", rest)),
            None => return None,
        }
    }
}

/// "`*` matches one path segment, `**` zero or more".
fn operator(text: &str) -> Option<(String, &str)> {
    match text.strip_prefix("**") {
        Some(rest) => Some((format!("[{SEGMENT}/]*"), rest)),
        None => text
            .strip_prefix('*')
            .map(|rest| (format!("[{SEGMENT}]+"), rest)),
    }
}

/// Text that stands for itself, but for `*`: Envoy leaves that to mean what it means in a regular
/// expression.
fn literal(text: &str) -> Option<String> {
    let is_literal = |b: u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;:@=".contains(&b);
    if text.is_empty() || !text.bytes().all(is_literal) {
        return None;
    }
    let escape = |c: char| {
        if "$()+.".contains(c) {
            format!("\\{c}")
        } else {
            c.to_string()
        }
    };
    Some(text.chars().map(escape).collect())
}
