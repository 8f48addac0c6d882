//! Values that are secret for what they are called, and objects that are for what they say they
//! are.

use std::ops::Range;

use super::name::{self, NameClass};
use super::token::{run, word_start};
use super::{SecretFinder, TextSyntax, block, flow, object};

/// What a name, or a value that is a name, may be the key to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameRole {
    /// A member, a pair, a header, an argument or an assignment of that name.
    Named(NameClass),
    /// The kind of a Secret, or of a list of them.
    Kind,
    /// A member that makes its object worth a look.
    Telltale,
    /// A member with secrets somewhere below it.
    Holder,
}

impl NameRole {
    fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"kty" | b"stringData" => Some(Self::Telltale),
            b"auths" => Some(Self::Holder),
            _ => {
                if name.eq_ignore_ascii_case(b"Secret") && name != b"secret" && name != b"SECRET"
                    || name.eq_ignore_ascii_case(b"SecretList")
                {
                    return Some(Self::Kind);
                }
                if let Some(class) = name::class(name) {
                    return Some(Self::Named(class));
                }
                name::holds_inline(name).then_some(Self::Holder)
            }
        }
    }

    /// Whether it can be told by the key that it is the value of.
    fn is_value_of(self, key: &[u8]) -> bool {
        match self {
            Self::Kind => key.eq_ignore_ascii_case(b"kind"),
            // `kind: secret` is none that an API server takes, and what it holds is secret anyway.
            Self::Named(_) => key == b"name" || key == b"key" || key.eq_ignore_ascii_case(b"kind"),
            Self::Telltale | Self::Holder => false,
        }
    }
}

/// How far back the object around a place is searched for in a text that is not JSON, where there
/// may be none.
const NEAR: usize = 1 << 20;

/// How long a name may be.
const MAX_NAME: usize = 128;

/// How long a line may be for a string to be looked for in it.
const MAX_LINE: usize = 1 << 16;

impl SecretFinder<'_> {
    /// Judges the name that the needle at `hit` is a part of.
    pub(super) fn name(&mut self, hit: Range<usize>) {
        if hit.start < self.seen.opened {
            return;
        }
        let token = self.name_around(&hit);
        if token.len() > MAX_NAME {
            return;
        }
        if self.text[token.clone()].starts_with(b"AGE-SECRET-KEY-1") {
            return self.mark(Some(token));
        }
        let Some(role) = NameRole::of(&self.text[token.clone()]) else {
            return;
        };
        if let Some(quote) = self.quote_around(&token) {
            return self.quoted(role, token, quote);
        }
        if self.open_string(&token) {
            return;
        }
        if let NameRole::Named(class) = role
            && self.apart(class, &token)
        {
            return;
        }
        match (role, self.text.get(token.end)) {
            (NameRole::Named(class), Some(b'=')) => self.assigned(class, token),
            (_, Some(b':')) => self.before_colon(role, token),
            _ => {
                self.value(role, token.start);
                if let NameRole::Named(class) = role {
                    self.flag(class, token);
                }
            }
        }
    }

    /// The whole name that a needle is a part of, as far as a name may reach.
    fn name_around(&self, hit: &Range<usize>) -> Range<usize> {
        // Some needles end with the sign behind the name.
        let mut letters = hit.end;
        while letters > hit.start && !name::is_part(self.text[letters - 1]) {
            letters -= 1;
        }
        let floor = hit.start.saturating_sub(MAX_NAME);
        let ceiling = self.text.len().min(hit.end + MAX_NAME);
        let start = floor + word_start(&self.text[floor..], hit.start - floor, name::is_part);
        let end = run(&self.text[..ceiling], letters, name::is_part);
        // `request.headers[x-api-key]` of a policy.
        let is_in_brackets = start > floor && self.text[start - 1] == b'[';
        if is_in_brackets && self.byte(end) == Some(b']') {
            let is_part = |b| name::is_part(b) || b == b'[';
            return floor + word_start(&self.text[floor..], hit.start - floor, is_part)..end + 1;
        }
        self.with_domain(start, floor)..end
    }

    /// Where a name starts with the domain before it: `shop.example/api-token` of an annotation.
    fn with_domain(&self, start: usize, floor: usize) -> usize {
        let Some(slash) = start.checked_sub(1).filter(|&at| self.text[at] == b'/') else {
            return start;
        };
        let domain = floor + word_start(&self.text[floor..], slash - floor, name::is_part);
        let before = domain.checked_sub(1).map(|at| self.text[at]);
        let is_key = matches!(before, None | Some(b'"' | b'\'' | b' ' | b'\n' | b'{'));
        if is_key && self.text[domain..slash].contains(&b'.') {
            domain
        } else {
            start
        }
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    /// The quote on both sides of a token, when it is not escaped.
    fn quote_around(&self, token: &Range<usize>) -> Option<u8> {
        let quote = self.byte(token.start.checked_sub(1)?)?;
        if !matches!(quote, b'"' | b'\'') || self.byte(token.end) != Some(quote) {
            return None;
        }
        let is_escaped = token.start > 1 && self.text[token.start - 2] == b'\\';
        (!is_escaped).then_some(quote)
    }

    /// Reads the string around a token as a document when it holds escapes: it has lines or quotes
    /// of its own.
    pub(super) fn open_string(&mut self, token: &Range<usize>) -> bool {
        if self.seen.plain.contains(&token.start) {
            return false;
        }
        let Some(quote) = self.quote_before(token.start) else {
            return false;
        };
        let start = quote + 1;
        let inside = start..flow::close_quote(self.text, start, b'"');
        if memchr::memchr(b'\\', &self.text[inside.clone()]).is_none() {
            self.seen.plain = inside;
            return false;
        }
        self.open(inside);
        true
    }

    /// The quote that opens the string around a place, if that is in a string: in JSON, or on the
    /// same line.
    fn quote_before(&mut self, at: usize) -> Option<usize> {
        let floor = if self.format == TextSyntax::Json {
            0
        } else {
            self.line_start(at)
        };
        let (seen, known) = self.seen.quote;
        let is_known = (floor..=at).contains(&seen);
        let from = if is_known { seen } else { floor };
        let quote = match flow::open_quote(&self.text[from..], at - from) {
            Some(quote) => Some(from + quote),
            // Nothing opened or closed since the place that was asked last.
            None if is_known => known.filter(|&known| known >= floor),
            None => None,
        };
        self.seen.quote = (at, quote);
        quote
    }

    /// A name that is a whole string: a key, the value of `name` or `kind`, or an argument.
    fn quoted(&mut self, role: NameRole, token: Range<usize>, quote: u8) {
        let after = flow::skip_space(self.text, token.end + 1);
        match self.byte(after) {
            Some(b':') if role == NameRole::Telltale => self.object_around(token.start - 1),
            Some(b':') if self.format == TextSyntax::Yaml && self.is_block_key(token.start - 1) => {
                self.block.push(token.start - 1);
            }
            Some(b':') => self.value_of(&token, after + 1),
            // XML: `<property name="password" value="…"/>`.
            Some(b'v') if self.text[after..].starts_with(b"value=") => {
                if let (NameRole::Named(class), Some(quote @ (b'"' | b'\''))) =
                    (role, self.byte(after + 6))
                {
                    let value = after + 7..flow::close_quote(self.text, after + 7, quote);
                    let is_secret = name::is_secret(class, &self.text[value.clone()]);
                    self.mark(is_secret.then_some(value));
                }
            }
            next => {
                if next == Some(b',') && self.is_before_value(&token, quote) {
                    self.value_of(&token, after + 1);
                }
                self.value(role, token.start - 1);
            }
        }
    }

    /// Whether the value follows as the next string: of an argument, of a header as Envoy's debug
    /// log writes it (`'authorization', 'Bearer …'`) or as Lua adds it (`headers:add("x-api-key",
    /// "…")`).
    fn is_before_value(&self, token: &Range<usize>, quote: u8) -> bool {
        let before = self.text[..token.start - 1].trim_ascii_end().last();
        match before {
            Some(b'(') => true,
            Some(b':') => false,
            _ => {
                self.text[token.start] == b'-' || self.format == TextSyntax::Text && quote == b'\''
            }
        }
    }

    /// Judges what follows a name by that name.
    pub(super) fn value_of(&mut self, name: &Range<usize>, at: usize) {
        if self.is_label(name.start) {
            return;
        }
        let name = &self.text[name.clone()];
        let is_wanted = match self.byte(flow::skip_space(self.text, at)) {
            Some(b'{') => object::wanted_below(name).is_some() || object::is_compared(name),
            Some(b'[') => {
                object::wanted_below(name).is_some() || name::class(name) == Some(NameClass::Header)
            }
            _ => true,
        };
        if !is_wanted {
            return;
        }
        let value = flow::value(self.text, at);
        if !self.can_afford(value.span.range()) {
            return;
        }
        // `--token --verbose`: the next argument is none of its own.
        let is_flag = value.str().is_some_and(|text| text.starts_with('-'));
        if is_flag && name.starts_with(b"-") {
            return;
        }
        let mut spans = Vec::new();
        object::member(&String::from_utf8_lossy(name), &value, &mut spans);
        self.spans(spans);
    }

    /// Whether a key in braces is that of a label.
    fn is_label(&self, key: usize) -> bool {
        /// Labels are few and short.
        const NEAR_LABELS: usize = 2048;
        let quoted = key
            .checked_sub(1)
            .filter(|&at| matches!(self.text[at], b'"' | b'\''));
        let key = quoted.unwrap_or(key);
        let floor = key.saturating_sub(NEAR_LABELS);
        let Some(open) = flow::opener(self.text, key, None, floor) else {
            return false;
        };
        let around = self.key_before(open);
        around.is_some_and(|(around, _)| object::is_label_map(&self.text[around]))
    }

    /// A name that is a value: `"kind": "Secret"`, `"name": "DB_PASSWORD"`.
    fn value(&mut self, role: NameRole, at: usize) {
        let Some((key, is_quoted)) = self.key_before(at) else {
            return;
        };
        // In JSON a key without quotes is somewhere inside a string.
        if !role.is_value_of(&self.text[key.clone()])
            || self.format == TextSyntax::Json && !is_quoted
        {
            return;
        }
        self.object_around(if is_quoted { key.start - 1 } else { key.start });
        // All values on a line lead to the same mapping.
        let is_new = match self.seen.valued.replace(at) {
            Some(last) if last <= at => memchr::memchr(b'\n', &self.text[last..at]).is_some(),
            _ => true,
        };
        if self.format != TextSyntax::Json && is_new {
            self.block.push(at);
        }
    }

    /// The key whose value starts at `at`, and whether it is in quotes.
    fn key_before(&self, at: usize) -> Option<(Range<usize>, bool)> {
        let before = self.text[..at].trim_ascii_end().strip_suffix(b":")?;
        let before = before.trim_ascii_end();
        let quote = before.last().filter(|quote| matches!(quote, b'"' | b'\''));
        let end = before.len() - usize::from(quote.is_some());
        let start = word_start(self.text, end, name::is_part);
        let is_whole = quote.is_none() || self.text[..start].last() == quote;
        is_whole.then_some((start..end, quote.is_some()))
    }

    /// Judges the object in braces around a place.
    pub(super) fn object_around(&mut self, at: usize) {
        let floor = if self.format == TextSyntax::Json {
            0
        } else {
            at.saturating_sub(NEAR)
        };
        let opener = flow::opener(self.text, at, self.seen.object, floor);
        let known = self.seen.object.replace((at, opener));
        let Some(start) = opener else { return };
        // It was judged when another place in it was.
        if known.is_some_and(|(_, known)| known == opener) {
            return;
        }
        let object = flow::value(self.text, start);
        if self.can_afford(start..at.max(object.span.end())) {
            let mut spans = Vec::new();
            object::object(&object, &mut spans);
            self.spans(spans);
        }
    }

    /// `password: x`, as YAML or as somebody wrote it in a log.
    fn before_colon(&mut self, role: NameRole, name: Range<usize>) {
        let is_yaml = self.format == TextSyntax::Yaml;
        if is_yaml && self.is_block_key(name.start) {
            return self.block.push(name.start);
        }
        let before = self.text[..name.start].trim_ascii_end().last();
        if is_yaml && matches!(before, Some(b'{' | b',')) {
            return match role {
                NameRole::Telltale => self.object_around(name.start),
                _ => self.value_of(&name, name.end + 1),
            };
        }
        if let NameRole::Named(class) = role {
            self.told(class, name);
        }
    }

    /// The start of the line, or a place on it that is far enough.
    fn line_start(&self, at: usize) -> usize {
        let floor = at.saturating_sub(MAX_LINE);
        memchr::memrchr(b'\n', &self.text[floor..at]).map_or(floor, |newline| floor + newline + 1)
    }

    /// Whether only indentation and dashes stand before a place on its line.
    fn is_block_key(&self, at: usize) -> bool {
        let mut before = self.text[..at].iter().rev();
        let is_first = match before.find(|b| !matches!(b, b' ' | b'\t' | b'-')) {
            Some(b) => *b == b'\n',
            None => true,
        };
        is_first && block::key_place(self.text, at) == at
    }

    /// Whether a place is the start of a list item.
    pub(super) fn is_item(&self, at: usize) -> bool {
        self.is_block_key(at) && self.text[..at].trim_ascii_end().ends_with(b"-")
    }
}
