//! `/config_dump`, indexed in one pass: which resources there are, in which state, and where their
//! bytes lie.
//!
//! A resource is parsed only when somebody asks for it, so an index of 100 MB costs a few
//! megabytes.

use std::borrow::Cow;

use meshladder_text::json::{Cursor, Raw, TextFault, ValueKind};

mod section;

pub use section::{ResourceState, Section};

/// The index of one dump.
#[derive(Debug, Default)]
pub struct Dump<'a> {
    /// Every resource of the sections that were asked for, in the dump's order.
    pub resources: Vec<Resource<'a>>,
    /// Every section there is, asked for or not, as it stands in the dump.
    pub sections: Vec<(Section, Raw<'a>)>,
    /// Types of sections that are not known, as `@type` gives them.
    pub unknown: Vec<Cow<'a, str>>,
    /// Where reading ended early; what lies before it is in the index.
    pub fault: Option<TextFault>,
    /// Parts that are not what they should be, a list where an object belongs; they are not in the
    /// index.
    pub odd: Vec<TextFault>,
}

/// One resource of a dump.
#[derive(Clone, Debug)]
pub struct Resource<'a> {
    /// The section it is in.
    pub section: Section,
    /// Whether Envoy uses it.
    pub state: ResourceState,
    /// The name Envoy knows it by.
    pub name: Cow<'a, str>,
    /// The version the control plane gave; empty for static resources.
    pub version: Cow<'a, str>,
    /// RFC 3339; empty when the dump does not say.
    pub last_updated: Cow<'a, str>,
    /// The last update Envoy refused, when it refused one. The resource itself is then the one
    /// before it.
    pub error: Option<Rejection<'a>>,
    /// The resource: a `Cluster`, `Listener`, … None when all that is known of it is that it was
    /// refused.
    pub raw: Option<Raw<'a>>,
    /// The dump's entry around it.
    pub entry: Raw<'a>,
}

/// An update that Envoy refused (`UpdateFailureState`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejection<'a> {
    /// Envoy's words.
    pub details: Cow<'a, str>,
    /// When it was refused, RFC 3339.
    pub last_update_attempt: Cow<'a, str>,
    /// The refused version.
    pub version: Cow<'a, str>,
}

impl<'a> Dump<'a> {
    /// Indexes the sections in `wanted`; the others are skipped unread.
    ///
    /// # Errors
    /// When the document is no config dump at all.
    pub fn index(doc: &'a str, wanted: &[Section]) -> Result<Self, TextFault> {
        let root = Raw::of(doc)?;
        let mut dump = Self::default();
        let mut cursor = root.cursor();
        let mut has_configs = false;
        cursor.members(|key, value| {
            if key == "configs" {
                has_configs = value.peek().kind() == ValueKind::Array;
                value.elements(|config| dump.config(config, wanted));
            }
        });
        dump.fault = cursor.fault();
        if has_configs {
            return Ok(dump);
        }
        Err(dump.fault.unwrap_or_else(|| TextFault {
            at: root.offset(),
            what: not_a_dump(root),
        }))
    }

    /// The section as it stands in the dump; of several the last one, as istioctl takes it.
    pub fn section(&self, section: Section) -> Option<Raw<'a>> {
        for (own, raw) in self.sections.iter().rev() {
            if *own == section {
                return Some(*raw);
            }
        }
        None
    }

    /// The resources of a section, in the dump's order.
    pub fn of(&self, section: Section) -> impl Iterator<Item = &Resource<'a>> {
        self.resources.iter().filter(move |r| r.section == section)
    }

    fn config(&mut self, config: &mut Cursor<'a>, wanted: &[Section]) {
        // Envoy writes `@type` first, so looking ahead for it costs nothing.
        let start = config.peek();
        let Some(url) = start.string_at("@type") else {
            self.odd.push(TextFault::new(
                start.offset(),
                "a part of `configs` that is no object with an `@type`",
            ));
            return;
        };
        let Some(section) = Section::of(&url) else {
            self.unknown.push(url);
            return;
        };
        if wanted.contains(&section) {
            config.members(|key, value| self.list(section, key, value));
        } else {
            config.skip();
        }
        self.sections.push((section, config.since(start)));
    }

    /// Reads a member of a section, if it lists resources.
    fn list(&mut self, section: Section, key: &str, value: &mut Cursor<'a>) {
        let Some(state) = section.list_state(key) else {
            return;
        };
        if value.peek().kind() != ValueKind::Array {
            let what = format!("`{key}` is not a list");
            return self.odd.push(TextFault::new(value.offset(), what));
        }
        value.elements(|entry| self.entry(section, state, entry));
    }

    fn entry(&mut self, section: Section, state: ResourceState, cursor: &mut Cursor<'a>) {
        /// Ten times what istiod ever sent; an index of more is an attack on memory.
        const MOST: usize = 1_000_000;
        if self.resources.len() >= MOST {
            if self.odd.is_empty() {
                let what = format!("more than {MOST} resources");
                self.odd.push(TextFault::new(cursor.offset(), what));
            }
            return cursor.skip();
        }
        if cursor.peek().kind() != ValueKind::Object {
            let what = format!("an entry of {} is not an object", section.message());
            return self.odd.push(TextFault::new(cursor.offset(), what));
        }
        let start = cursor.peek();
        let mut odd = Vec::new();
        let mut entry = DumpEntry::default();
        // A `DynamicListener` holds a state each of what is active, warming and draining.
        let mut states: Vec<(ResourceState, DumpEntry<'a>)> = Vec::new();
        cursor.members(|key, value| match ResourceState::of_listener(key) {
            Some(state) => {
                let mut inner = DumpEntry::default();
                value.members(|key, value| inner.read(section, key, value, &mut odd));
                states.push((state, inner));
            }
            None => entry.read(section, key, value, &mut odd),
        });
        let whole = cursor.since(start);
        if !odd.is_empty() {
            self.odd.extend(odd);
            return;
        }
        if states.is_empty() {
            let state = if entry.raw.is_none() {
                ResourceState::Error
            } else {
                state
            };
            self.resources.push(entry.resource(section, state, whole));
            return;
        }
        for (state, mut inner) in states {
            inner.name = entry.name.clone().or(inner.name);
            // A refused update concerns what Envoy would use next to the active one.
            inner.error.clone_from(&entry.error);
            self.resources.push(inner.resource(section, state, whole));
        }
    }
}

/// An entry while it is read.
#[derive(Default)]
struct DumpEntry<'a> {
    name: Option<Cow<'a, str>>,
    version: Option<Cow<'a, str>>,
    last_updated: Option<Cow<'a, str>>,
    error: Option<Rejection<'a>>,
    raw: Option<Raw<'a>>,
}

impl<'a> DumpEntry<'a> {
    fn read(
        &mut self,
        section: Section,
        key: &str,
        value: &mut Cursor<'a>,
        odd: &mut Vec<TextFault>,
    ) {
        let kind = match key {
            "name" | "version_info" | "last_updated" => ValueKind::String,
            "error_state" => ValueKind::Object,
            _ if key == section.resource_key() => ValueKind::Object,
            _ => return,
        };
        let at = value.peek();
        if at.kind() != kind {
            let wanted = if kind == ValueKind::String {
                "a string"
            } else {
                "an object"
            };
            odd.push(TextFault::new(
                at.offset(),
                format!("`{key}` is not {wanted}"),
            ));
            return;
        }
        match key {
            "name" => self.name = value.string(),
            "version_info" => self.version = value.string(),
            "last_updated" => self.last_updated = value.string(),
            "error_state" => self.error = Some(Rejection::read(value)),
            _ => {
                self.raw = value.raw();
                let name_key = section.name_key();
                if let Some(raw) = self.raw
                    && let Some(name) = raw.get(name_key)
                    && name.kind() != ValueKind::String
                {
                    let what = format!("`{name_key}` is not a string");
                    odd.push(TextFault::new(name.offset(), what));
                }
            }
        }
    }

    fn resource(self, section: Section, state: ResourceState, entry: Raw<'a>) -> Resource<'a> {
        // Only some entries repeat the name that the resource has.
        let name = match (self.name, self.raw) {
            (Some(name), _) => name,
            (None, Some(raw)) => raw.string_at(section.name_key()).unwrap_or_default(),
            (None, None) => Cow::default(),
        };
        Resource {
            section,
            state,
            name,
            version: self.version.unwrap_or_default(),
            last_updated: self.last_updated.unwrap_or_default(),
            error: self.error,
            raw: self.raw,
            entry,
        }
    }
}

impl<'a> Rejection<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Self {
        let mut rejection = Self::default();
        cursor.members(|key, value| {
            let field = match key {
                "details" => &mut rejection.details,
                "last_update_attempt" => &mut rejection.last_update_attempt,
                "version_info" => &mut rejection.version,
                _ => return,
            };
            *field = value.string().unwrap_or_default();
        });
        rejection
    }
}

fn not_a_dump(root: Raw<'_>) -> String {
    match root.kind() {
        ValueKind::Object => "not a config dump: it has no list `configs`".to_owned(),
        ValueKind::Array => {
            "not a config dump: a list where an object with `configs` belongs".to_owned()
        }
        ValueKind::String | ValueKind::Scalar => "not a config dump: no JSON object".to_owned(),
    }
}

#[cfg(test)]
mod tests;
