//! The words in which a kind's structure is written down: messages, their fields, and what a field
//! may hold.

use super::text::TextRule;
use super::walk::SchemaWalk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// The structure of a kind.
#[derive(Debug)]
pub struct KindSchema {
    /// `VirtualService`
    pub kind: Kind,
    /// The versions this is the structure of, the best first.
    pub versions: &'static [&'static str],
    /// Whether those are all that there are: an object of another version is then wrong, and else
    /// not looked at.
    pub(super) only: bool,
    /// `spec`
    pub(super) spec: &'static MessageSchema,
}

/// The structure of an object in an object.
#[derive(Debug)]
pub(super) struct MessageSchema {
    /// As the API's documentation calls it.
    pub(super) name: &'static str,
    /// By name.
    pub(super) fields: &'static [FieldSchema],
    /// What the fields must be to each other.
    pub(super) check: MessageCheck,
}

/// Looks at one object as a whole and tells what does not go together.
pub(super) type MessageCheck = for<'n> fn(&'n Node, &mut SchemaWalk<'n>);

/// A field of a message.
#[derive(Debug)]
pub(super) struct FieldSchema {
    pub(super) name: &'static str,
    pub(super) of: FieldType,
    pub(super) needed: bool,
}

/// What a field may hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldType {
    /// Anything: `google.protobuf.Struct`.
    Any,
    Bool,
    Text(TextRule),
    /// A whole number from here to there.
    Int(i64, i64),
    /// A number from here to there.
    Number(f64, f64),
    Time(DurationRule),
    /// One of these names, in the order of their numbers.
    Enum(&'static [&'static str]),
    /// As many of these.
    List(&'static FieldType, usize, usize),
    /// Names and values.
    Map(TextRule, &'static FieldType),
    Of(&'static MessageSchema),
}

/// What a duration may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DurationRule {
    Free,
    /// "duration must be greater than 1ms", "only durations to ms precision are supported"
    Milliseconds,
    /// More than a millisecond, and in whole seconds.
    Seconds,
    /// As the Gateway API writes them: `10s`, `1h30m`, without fractions.
    Gateway,
}

pub(super) const STRING: FieldType = FieldType::Text(TextRule::Free);
pub(super) const STRINGS: FieldType = FieldType::List(&STRING, 0, usize::MAX);
pub(super) const TIME: FieldType = FieldType::Time(DurationRule::Milliseconds);
pub(super) const PORT: FieldType = FieldType::Int(1, 65535);
/// A port, or 0 for none.
pub(super) const PORT_OR_NONE: FieldType = FieldType::Int(0, 65535);
pub(super) const UINT32: FieldType = FieldType::Int(0, 4_294_967_295);
pub(super) const INT32: FieldType = FieldType::Int(-2_147_483_648, 2_147_483_647);
/// An `int32` that counts something.
pub(super) const COUNT: FieldType = FieldType::Int(0, 2_147_483_647);
pub(super) const PERCENT: FieldType = FieldType::Int(0, 100);
/// Labels of an object.
pub(super) const LABELS: FieldType =
    FieldType::Map(TextRule::LabelKey, &FieldType::Text(TextRule::LabelValue));

/// A field that may be left out.
pub(super) const fn may(name: &'static str, of: FieldType) -> FieldSchema {
    FieldSchema {
        name,
        of,
        needed: false,
    }
}

/// A field that must be there.
pub(super) const fn must(name: &'static str, of: FieldType) -> FieldSchema {
    FieldSchema {
        name,
        of,
        needed: true,
    }
}

/// Any number of these.
pub(super) const fn list(of: &'static FieldType) -> FieldType {
    FieldType::List(of, 0, usize::MAX)
}

/// One or more of these.
pub(super) const fn some(of: &'static FieldType) -> FieldType {
    FieldType::List(of, 1, usize::MAX)
}

/// A message whose fields have nothing to do with each other.
pub(super) const fn plain(name: &'static str, fields: &'static [FieldSchema]) -> MessageSchema {
    MessageSchema {
        name,
        fields,
        check: nothing,
    }
}

/// A message with a look at its fields together.
pub(super) const fn checked(
    name: &'static str,
    fields: &'static [FieldSchema],
    check: MessageCheck,
) -> MessageSchema {
    MessageSchema {
        name,
        fields,
        check,
    }
}

fn nothing(_: &Node, _: &mut SchemaWalk<'_>) {}

impl MessageSchema {
    /// The place of a field among the fields.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.fields
            .binary_search_by(|field| field.name.cmp(name))
            .ok()
    }

    /// The field of that name.
    pub(super) fn field(&self, name: &str) -> Option<&'static FieldSchema> {
        self.position(name).map(|at| &self.fields[at])
    }
}
