//! The words in which a kind's structure is written down: messages, their fields, and what a field
//! may hold.

use super::text::Text;
use super::walk::Walk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// The structure of a kind.
#[derive(Debug)]
pub struct Schema {
    /// `VirtualService`
    pub kind: Kind,
    /// The versions this is the structure of, the best first.
    pub versions: &'static [&'static str],
    /// Whether those are all that there are: an object of another version is then wrong, and else
    /// not looked at.
    pub(super) only: bool,
    /// `spec`
    pub(super) spec: &'static Message,
}

/// The structure of an object in an object.
#[derive(Debug)]
pub(super) struct Message {
    /// As the API's documentation calls it.
    pub(super) name: &'static str,
    /// By name.
    pub(super) fields: &'static [Field],
    /// What the fields must be to each other.
    pub(super) check: Check,
}

/// Looks at one object as a whole and tells what does not go together.
pub(super) type Check = for<'n> fn(&'n Node, &mut Walk<'n>);

/// A field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) of: Type,
    pub(super) needed: bool,
}

/// What a field may hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    /// Anything: `google.protobuf.Struct`.
    Any,
    Bool,
    Text(Text),
    /// A whole number from here to there.
    Int(i64, i64),
    /// A number from here to there.
    Number(f64, f64),
    Time(Span),
    /// One of these names, in the order of their numbers.
    Enum(&'static [&'static str]),
    /// As many of these.
    List(&'static Type, usize, usize),
    /// Names and values.
    Map(Text, &'static Type),
    Of(&'static Message),
}

/// What a duration may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    Free,
    /// "duration must be greater than 1ms", "only durations to ms precision are supported"
    Milliseconds,
    /// The same, in whole seconds.
    Seconds,
    /// As the Gateway API writes them: `10s`, `1h30m`, without fractions.
    Gateway,
}

pub(super) const STRING: Type = Type::Text(Text::Free);
pub(super) const STRINGS: Type = Type::List(&STRING, 0, usize::MAX);
pub(super) const TIME: Type = Type::Time(Span::Milliseconds);
pub(super) const PORT: Type = Type::Int(1, 65535);
/// A port, or 0 for none.
pub(super) const PORT_OR_NONE: Type = Type::Int(0, 65535);
pub(super) const UINT32: Type = Type::Int(0, 4_294_967_295);
pub(super) const INT32: Type = Type::Int(-2_147_483_648, 2_147_483_647);
/// An `int32` that counts something.
pub(super) const COUNT: Type = Type::Int(0, 2_147_483_647);
pub(super) const PERCENT: Type = Type::Int(0, 100);
/// Labels of an object.
pub(super) const LABELS: Type = Type::Map(Text::LabelKey, &Type::Text(Text::LabelValue));

/// A field that may be left out.
pub(super) const fn may(name: &'static str, of: Type) -> Field {
    Field {
        name,
        of,
        needed: false,
    }
}

/// A field that must be there.
pub(super) const fn must(name: &'static str, of: Type) -> Field {
    Field {
        name,
        of,
        needed: true,
    }
}

/// Any number of these.
pub(super) const fn list(of: &'static Type) -> Type {
    Type::List(of, 0, usize::MAX)
}

/// One or more of these.
pub(super) const fn some(of: &'static Type) -> Type {
    Type::List(of, 1, usize::MAX)
}

/// A message whose fields have nothing to do with each other.
pub(super) const fn plain(name: &'static str, fields: &'static [Field]) -> Message {
    Message {
        name,
        fields,
        check: nothing,
    }
}

/// A message with a look at its fields together.
pub(super) const fn checked(name: &'static str, fields: &'static [Field], check: Check) -> Message {
    Message {
        name,
        fields,
        check,
    }
}

fn nothing(_: &Node, _: &mut Walk<'_>) {}

impl Message {
    /// The place of a field among the fields.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.fields
            .binary_search_by(|field| field.name.cmp(name))
            .ok()
    }

    /// The field of that name.
    pub(super) fn field(&self, name: &str) -> Option<&'static Field> {
        self.position(name).map(|at| &self.fields[at])
    }
}
