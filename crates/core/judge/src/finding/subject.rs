//! What a finding is about.

use std::cmp::Ordering;
use std::fmt;

use meshladder_mesh::ObjectRef;

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The object to change.
    Object(ObjectRef),
    /// The request itself: no object is at fault.
    Request,
    /// What could not be read.
    Coverage,
    /// A rule of ours that broke, by its code.
    Rule(&'static str),
}

impl Subject {
    /// The object, when it is one.
    pub fn object(&self) -> Option<&ObjectRef> {
        match self {
            Self::Object(object) => Some(object),
            Self::Request | Self::Coverage | Self::Rule(_) => None,
        }
    }

    /// The object's kind, or what JSON says where there is none.
    pub fn kind(&self) -> &str {
        match self {
            Self::Object(object) => &object.kind,
            Self::Request => "Request",
            Self::Coverage => "Coverage",
            Self::Rule(_) => "Meshladder",
        }
    }

    /// The object's namespace; empty where there is none.
    pub fn namespace(&self) -> &str {
        self.object().map_or("", |object| &object.namespace)
    }

    /// The object's name, or the rule's code; empty where there is none.
    pub fn name(&self) -> &str {
        match self {
            Self::Object(object) => &object.name,
            Self::Rule(code) => code,
            Self::Request | Self::Coverage => "",
        }
    }

    fn key(&self) -> (&str, &str, &str) {
        (self.kind(), self.namespace(), self.name())
    }
}

/// `VirtualService shop/catalog`, `Namespace shop`, `Request`
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object) => object.fmt(f),
            Self::Rule(code) => write!(f, "{} {code}", self.kind()),
            Self::Request | Self::Coverage => f.write_str(self.kind()),
        }
    }
}

/// By kind, namespace and name, whatever it is: the order of findings is part of the output.
impl Ord for Subject {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Subject {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq<ObjectRef> for Subject {
    fn eq(&self, other: &ObjectRef) -> bool {
        self.object() == Some(other)
    }
}

impl From<ObjectRef> for Subject {
    fn from(object: ObjectRef) -> Self {
        Self::Object(object)
    }
}
