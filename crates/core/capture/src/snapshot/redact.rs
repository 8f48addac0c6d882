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
use cover::{SecretForm, SecretMark};
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
mod structure;
mod token;
mod told;

/// Takes every secret out of a document, in place; returns how many there were. What stands there
/// instead is `[redacted]`, or as many `*` as there were bytes when the secret was shorter than
/// that.
pub fn redact(id: &DocId, bytes: &mut Vec<u8>) -> usize {
    let mut count = 0;
    for _ in 0..MAX_ROUNDS {
        let marks = find(bytes, TextSyntax::of(id, bytes), 0);
        if marks.is_empty() {
            break;
        }
        count += cover::apply(bytes, marks);
    }
    count
}

/// A text that was changed is searched again: in broken documents one secret can hide another, and
/// redacting what is redacted must change nothing.
const MAX_ROUNDS: usize = 32;

/// How deep documents inside strings inside documents are followed. A string below that is taken
/// out as a whole.
const MAX_DEPTH: usize = 6;

/// What may be read as objects, beside a multiple of the text's size.
const MAX_READ: usize = 1 << 20;

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
        let is_text = |end: &str| id.as_str().ends_with(end);
        match id.shape() {
            Shape::Log | Shape::Stats | Shape::Logging => Self::Text,
            _ if [".log", ".txt", ".prom"].into_iter().any(is_text) => Self::Text,
            _ => Self::guess(bytes),
        }
    }

    fn guess(bytes: &[u8]) -> Self {
        let text = bytes
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(bytes)
            .trim_ascii_start();
        // `{kind: Secret}` is YAML.
        match text.split_first() {
            Some((b'{', inside))
                if matches!(inside.trim_ascii_start().first(), None | Some(b'"' | b'}')) =>
            {
                Self::Json
            }
            Some((b'[', inside))
                if !matches!(
                    inside.trim_ascii_start().first(),
                    Some(b'a'..=b'z' | b'A'..=b'Z')
                ) =>
            {
                Self::Json
            }
            _ => Self::Yaml,
        }
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
    /// In how many strings the text stands.
    depth: usize,
    marks: Vec<SecretMark>,
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
    /// The same for the mapping in YAML's block style last read.
    mapping: Option<(usize, usize)>,
    /// The last value that may tell what its mapping is.
    valued: Option<usize>,
    /// How many bytes were read as objects so far.
    spent: usize,
}

fn find(text: &[u8], format: TextSyntax, depth: usize) -> Vec<SecretMark> {
    let (marks, block, seen) = (Vec::new(), Vec::new(), SearchProgress::default());
    let mut finder = SecretFinder {
        text,
        format,
        depth,
        marks,
        block,
        seen,
    };
    needles::each(text, |what, at| finder.hit(what, at));
    for at in memchr::memmem::find_iter(text, "://") {
        finder.mark(token::url_password(text, at));
        finder.mark(hook::of_url(text, at));
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
            Hint::Hook(hook) => self.mark(hook.secret(self.text, at)),
            Hint::Dsn => self.mark(token::dsn_password(self.text, at.start)),
            Hint::EscapedUrl if at.start >= self.seen.opened => {
                self.open_string(&at);
            }
            Hint::EscapedUrl => {}
        }
    }

    fn jwt(&mut self, at: usize) {
        if !self.seen.word.contains(&at) {
            let start = token::word_start(self.text, at, token::is_base64url);
            self.seen.word = start..token::run(self.text, start, token::is_base64url);
            self.mark(token::jwt(self.text, self.seen.word.clone()));
        }
    }

    /// Notes a secret that was found in running text.
    fn mark(&mut self, range: Option<Range<usize>>) {
        let Some(range) = range.filter(|range| !cover::is_blank(&self.text[range.clone()])) else {
            return;
        };
        self.seen.last = range.clone();
        self.marks.push(match self.format {
            TextSyntax::Yaml => cover::in_yaml(self.text, range),
            TextSyntax::Json | TextSyntax::Text => SecretMark {
                range,
                form: SecretForm::Text,
            },
        });
    }

    /// Notes values by the place of their nodes.
    fn spans(&mut self, mut spans: Vec<Range<usize>>) {
        let mut aliases = BTreeSet::new();
        while let Some(span) = spans.pop() {
            match self.alias(&span) {
                Some(name) if aliases.insert(name) => {
                    spans.extend(structure::anchored(self.text, name))
                }
                Some(_) => {}
                None => {
                    let mark = cover::of_scalar(self.text, span, self.format == TextSyntax::Json);
                    self.marks.extend(
                        mark.filter(|mark| !cover::is_blank(&self.text[mark.range.clone()])),
                    );
                }
            }
        }
    }

    /// The name of the YAML alias at a place.
    fn alias(&self, span: &Range<usize>) -> Option<&'a [u8]> {
        if self.format == TextSyntax::Json {
            None
        } else {
            self.text.get(span.clone())?.strip_prefix(b"*")
        }
    }

    /// Whether an object that was read may be judged, too. Objects in objects are read again for
    /// each level, which no real document does often; one that was made to take forever loses all
    /// that follows.
    fn can_afford(&mut self, object: Range<usize>) -> bool {
        self.seen.spent += object.len();
        if self.is_exhausted() {
            self.marks.push(SecretMark {
                range: object.start..self.text.len(),
                form: SecretForm::Text,
            });
        }
        !self.is_exhausted()
    }

    fn is_exhausted(&self) -> bool {
        self.seen.spent > 8 * (self.text.len() + MAX_READ)
    }

    /// Reads what stands between the quotes of a string with escapes as a document.
    fn open(&mut self, inside: Range<usize>) {
        self.seen.opened = inside.end;
        if self.depth == MAX_DEPTH {
            return self.marks.push(SecretMark {
                range: inside,
                form: SecretForm::Text,
            });
        }
        let document = InnerText::of(&self.text[inside.clone()]);
        let marks = find(
            &document.text,
            TextSyntax::inside(&document.text),
            self.depth + 1,
        );
        self.marks
            .extend(marks.into_iter().map(|SecretMark { range, form }| {
                let range = inside.start + document.source(range.start)
                    ..inside.start + document.source(range.end);
                SecretMark { range, form }
            }));
    }
}

#[cfg(test)]
mod tests;
