//! Takes secrets out of documents before anything else sees them.
//!
//! One pass over the bytes looks for words that stand near secrets ([`needles`]); each of them is
//! then judged by what is around it. A dump of 100 MB in which nothing is secret is so never
//! parsed, copied or changed. What looks like a secret by itself is found by its shape ([`token`],
//! [`pem`]), anything else by its name ([`name`]), and the values of a Kubernetes Secret by its
//! kind ([`object`]). Text that does not parse is read by rougher means, never left alone.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{DocId, Shape};
use cover::SecretMark;
use embed::InnerText;
use needles::Hint;

mod block;
mod cover;
mod embed;
mod flow;
mod hook;
mod name;
mod named;
mod needles;
mod object;
mod pem;
mod query;
mod structure;
mod token;
mod told;

/// Takes every secret out of a document, in place; returns how many there were. What stands there
/// instead is `[redacted]`, or as many `*` as there were bytes when the secret was shorter than
/// that.
pub fn redact(id: &DocId, bytes: &mut Vec<u8>) -> usize {
    let mut count = 0;
    for _ in 0..MAX_ROUNDS {
        let marks = find(bytes, TextSyntax::of(id, bytes), Depth::of(id));
        if marks.is_empty() {
            break;
        }
        count += cover::apply(bytes, marks);
    }
    count
}

/// The value of a header or a parameter as it may be shown: without what is secret under that name.
pub fn shown_value(name: &str, value: &str) -> String {
    let mut line = format!("{name}: {value}").into_bytes();
    redact(&DocId::new("other/header.log"), &mut line);
    let line = String::from_utf8_lossy(&line);
    let value = line
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix(": "));
    value.unwrap_or_default().to_owned()
}

/// Where a value was taken out of a text, if one was: what stands there is no value to compare
/// with.
pub fn redacted_part(text: &str) -> Option<Range<usize>> {
    if let Some(at) = text.find("[redacted]") {
        return Some(at..at + "[redacted]".len());
    }
    // A short one leaves as many stars as it had letters: alone, or behind a scheme.
    let start = text.trim_end_matches('*').len();
    let is_mark = text.len() - start > 1 && (start == 0 || text[..start].ends_with(' '));
    is_mark.then_some(start..text.len())
}

/// A text that was changed is searched again: in broken documents one secret can hide another, and
/// redacting what is redacted must change nothing.
const MAX_ROUNDS: usize = 32;

/// How deep documents inside strings inside documents are followed. A string below that is taken
/// out as a whole.
const MAX_DEPTH: usize = 6;

/// What may be read as objects, beside a multiple of the text's size.
const MAX_READ: usize = 1 << 20;

/// How much is looked for, and in how many strings a text stands.
#[derive(Clone, Copy, Debug)]
struct Depth {
    strings: usize,
    /// Whether rarer words count, too. Envoy's own answers, which are large, hold none of what they
    /// lead to: commands, files, queries.
    is_thorough: bool,
}

impl Depth {
    fn of(id: &DocId) -> Self {
        let is_envoys = matches!(
            id.shape(),
            Shape::ConfigDump | Shape::Clusters | Shape::Stats | Shape::Listeners
        );
        Self {
            strings: 0,
            is_thorough: !is_envoys,
        }
    }

    fn deeper(self) -> Self {
        Self {
            strings: self.strings + 1,
            ..self
        }
    }
}

/// How a text is to be read where that makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextSyntax {
    Json,
    Yaml,
    /// Logs, statistics: lines for people.
    Text,
}

impl TextSyntax {
    fn of(id: &DocId, bytes: &[u8]) -> Self {
        if matches!(id.shape(), Shape::Log | Shape::Stats | Shape::Logging) {
            return Self::Text;
        }
        for extension in [".log", ".txt", ".prom"] {
            if id.as_str().ends_with(extension) {
                return Self::Text;
            }
        }
        Self::guess(bytes)
    }

    fn guess(bytes: &[u8]) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let Some((opener, inside)) = text.trim_ascii_start().split_first() else {
            return Self::Yaml;
        };
        // `{kind: Secret}` and `[a, b]` are YAML.
        let first = inside.trim_ascii_start().first();
        let is_json = match opener {
            b'{' => matches!(first, None | Some(b'"' | b'}')),
            b'[' => !first.is_some_and(u8::is_ascii_alphabetic),
            _ => false,
        };
        if is_json { Self::Json } else { Self::Yaml }
    }

    /// The format of what stands in a string: a single line is more likely a message than YAML.
    fn inside(text: &[u8]) -> Self {
        match Self::guess(text) {
            Self::Yaml if !text.trim_ascii().contains(&b'\n') => Self::Text,
            format => format,
        }
    }
}

/// The search in one text.
struct SecretFinder<'a> {
    text: &'a [u8],
    format: TextSyntax,
    depth: Depth,
    marks: Vec<SecretMark>,
    /// Where the strings start that were read as documents of their own: once is enough.
    read: BTreeSet<usize>,
    /// Names and values in YAML's block style, judged when the whole text was seen.
    block: Vec<usize>,
    seen: SearchProgress,
}

/// What was looked at already, so that no text is gone through for every needle in it.
#[derive(Default)]
struct SearchProgress {
    /// The secret last found in running text: nothing more is looked for inside.
    last: Range<usize>,
    /// What was last looked at as the first part of a JWT.
    word: Range<usize>,
    /// Strings that end before this were read as documents of their own.
    opened: usize,
    /// The string last seen to hold no escapes.
    plain: Range<usize>,
    /// The place that was last found to be in a string or not, and where that opens.
    quote: flow::KnownOpener,
    /// A place in the object last read, and where that object starts.
    object: Option<flow::KnownOpener>,
    /// A place in the mapping in YAML's block style last read, and where that mapping starts.
    mapping: Option<(usize, usize)>,
    /// The last value that may tell what its mapping is.
    valued: Option<usize>,
    /// How many bytes were read as objects so far.
    spent: usize,
}

fn find(text: &[u8], format: TextSyntax, depth: Depth) -> Vec<SecretMark> {
    let mut finder = SecretFinder {
        text,
        format,
        depth,
        marks: Vec::new(),
        read: BTreeSet::new(),
        block: Vec::new(),
        seen: SearchProgress::default(),
    };
    needles::each(text, |what, at| finder.hit(what, at));
    // Too frequent in a dump to be a needle.
    for at in memchr::memmem::find_iter(text, "://") {
        finder.mark(token::url_password(text, at));
        finder.mark(hook::of_url(text, at));
    }
    if depth.is_thorough {
        // Another pass from the left: what was seen before lies to the right of it.
        let spent = finder.seen.spent;
        let opened = finder.seen.opened;
        finder.seen = SearchProgress {
            spent,
            ..SearchProgress::default()
        };
        needles::each_rare(text, |what, at| finder.hit(what, at));
        finder.seen.opened = opened;
        finder.queries();
        finder.disguised();
    }
    finder.cut_secret();
    finder.structure();
    finder.marks
}

impl<'a> SecretFinder<'a> {
    fn hit(&mut self, what: Hint, at: Range<usize>) {
        if self.seen.last.contains(&at.start) || self.is_exhausted() {
            return;
        }
        match what {
            Hint::Name => self.name(at),
            Hint::Pem => self.mark(pem::block(self.text, at)),
            Hint::Base64Pem => self.mark(Some(pem::base64(self.text, at))),
            Hint::Jwt => self.jwt(at.start),
            Hint::Bearer => self.mark(token::bearer(self.text, at)),
            Hint::Basic => self.mark(token::basic(self.text, at.end)),
            Hint::Prefix(shape) => self.mark(token::prefixed(self.text, at, shape)),
            Hint::Curl => self.mark(hook::curl_login(self.text, at.end)),
            Hint::Program => self.mark(hook::program_password(self.text, at.end)),
            Hint::LoginFlag => self.mark(hook::flag_login(self.text, at.end)),
            Hint::PasswordFlag => self.mark(hook::flag_password(self.text, at.end)),
            Hint::PgPass => self.mark(hook::pgpass(self.text, at)),
            Hint::Hook(hook) => self.mark(hook.secret(self.text, at)),
            Hint::Dsn => self.mark(token::dsn_password(self.text, at.start)),
            Hint::EscapedUrl if at.start >= self.seen.opened => {
                self.open_string(&at);
            }
            Hint::EscapedUrl => {}
        }
    }

    fn jwt(&mut self, at: usize) {
        if self.seen.word.contains(&at) {
            return;
        }
        let start = token::word_start(self.text, at, token::is_base64url);
        self.seen.word = start..token::run(self.text, start, token::is_base64url);
        self.mark(token::jwt(self.text, self.seen.word.clone()));
    }

    /// Notes a secret that was found in running text.
    fn mark(&mut self, range: Option<Range<usize>>) {
        let Some(range) = range else { return };
        if cover::is_blank(&self.text[range.clone()]) {
            return;
        }
        self.seen.last = range.clone();
        self.marks.push(match self.format {
            TextSyntax::Yaml => cover::in_yaml(self.text, range),
            TextSyntax::Json | TextSyntax::Text => SecretMark::text(range),
        });
    }

    /// Notes values by the place of their nodes.
    fn spans(&mut self, mut spans: Vec<Range<usize>>) {
        let is_json = self.format == TextSyntax::Json;
        let mut aliases = BTreeSet::new();
        while let Some(span) = spans.pop() {
            // An alias has its text elsewhere, and may lead back to itself.
            if let Some(name) = self.alias(&span) {
                if aliases.insert(name) {
                    spans.extend(structure::anchored(self.text, name));
                }
                continue;
            }
            if let Some(mark) = cover::of_scalar(self.text, span, is_json)
                && !cover::is_blank(&self.text[mark.range.clone()])
            {
                self.marks.push(mark);
            }
        }
    }

    /// The name of the YAML alias at a place.
    fn alias(&self, span: &Range<usize>) -> Option<&'a [u8]> {
        if self.format == TextSyntax::Json {
            return None;
        }
        self.text.get(span.clone())?.strip_prefix(b"*")
    }

    /// Whether an object that was read may be judged, too. Objects in objects are read again for
    /// each level, which no real document does often; one that was made to take forever loses all
    /// that follows.
    fn can_afford(&mut self, object: Range<usize>) -> bool {
        self.seen.spent += object.len();
        if self.is_exhausted() {
            self.marks
                .push(SecretMark::text(object.start..self.text.len()));
        }
        !self.is_exhausted()
    }

    fn is_exhausted(&self) -> bool {
        self.seen.spent > 8 * (self.text.len() + MAX_READ)
    }

    /// Reads what stands between the quotes of a string with escapes as a document.
    fn open(&mut self, inside: Range<usize>) {
        self.seen.opened = inside.end;
        if !self.read.insert(inside.start) {
            return;
        }
        if self.depth.strings == MAX_DEPTH {
            return self.marks.push(SecretMark::text(inside));
        }
        let document = InnerText::of(&self.text[inside.clone()]);
        let format = TextSyntax::inside(&document.text);
        for mark in find(&document.text, format, self.depth.deeper()) {
            let start = inside.start + document.source(mark.range.start);
            let end = inside.start + document.source(mark.range.end);
            self.marks.push(SecretMark {
                range: start..end,
                form: mark.form,
            });
        }
    }
}

#[cfg(test)]
mod tests;
