//! Repairs.

pub use crate::mesh::{Change, Patch};

use crate::mesh::ObjectRef;

/// A repair, as text for a person; with the change of objects it stands for, when it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it is.
    pub kind: FixKind,
    /// What it may cost.
    pub risk: Risk,
    /// The patch, command or advice.
    pub text: String,
    /// The same as a change of objects: the ladder applies it in memory and offers the fix only if the cause goes away.
    pub change: Option<Change>,
    /// Why it could not be checked beforehand, when it changes objects and could not.
    pub unchecked: Option<String>,
}

/// What a fix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixKind {
    /// A change of an object.
    Patch,
    /// A command to run.
    Command,
    /// Something to do by hand.
    Advice,
}

/// What a fix may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// It only looks.
    ReadOnly,
    /// It can be undone.
    Reversible,
    /// It restarts or removes something.
    Disruptive,
}

impl FixKind {
    /// The word JSON carries.
    pub fn word(self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::Command => "command",
            Self::Advice => "advice",
        }
    }
}

impl Risk {
    /// The word JSON carries.
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Reversible => "reversible",
            Self::Disruptive => "disruptive",
        }
    }
}

impl Fix {
    /// Something to do by hand.
    pub fn advice(text: impl Into<String>) -> Self {
        Self { kind: FixKind::Advice, risk: Risk::ReadOnly, text: text.into(), change: None, unchecked: None }
    }

    /// A command that only looks.
    pub fn look(command: impl Into<String>) -> Self {
        Self { kind: FixKind::Command, ..Self::advice(command) }
    }

    /// A command that does something.
    pub fn command(risk: Risk, command: impl Into<String>) -> Self {
        Self { kind: FixKind::Command, risk, ..Self::advice(command) }
    }

    /// A merge patch, as JSON text.
    pub fn merge(object: &ObjectRef, patch: impl Into<String>) -> Self {
        let patch = patch.into();
        let text = format!("kubectl patch {} --type merge -p '{patch}'", target(object));
        Self::change(Risk::Reversible, text, object, Patch::Merge(patch))
    }

    /// A JSON patch: a list of operations, as JSON text.
    pub fn json_patch(object: &ObjectRef, patch: impl Into<String>) -> Self {
        let patch = patch.into();
        let text = format!("kubectl patch {} --type json -p '{patch}'", target(object));
        Self::change(Risk::Reversible, text, object, Patch::Json(patch))
    }

    /// Deletes the object.
    pub fn delete(object: &ObjectRef) -> Self {
        Self::change(Risk::Disruptive, format!("kubectl delete {}", target(object)), object, Patch::Delete)
    }

    /// Creates an object, as YAML text.
    pub fn create(object: &ObjectRef, yaml: impl Into<String>) -> Self {
        let yaml = yaml.into();
        let text = format!("kubectl apply -f - <<'EOF'\n{}\nEOF", yaml.trim_end());
        Self::change(Risk::Reversible, text, object, Patch::Create(yaml))
    }

    /// It cannot be checked in memory, and this is why.
    #[must_use]
    pub fn unchecked(mut self, why: impl Into<String>) -> Self {
        self.unchecked = Some(why.into());
        self
    }

    fn change(risk: Risk, text: String, object: &ObjectRef, patch: Patch) -> Self {
        let change = Some(Change { object: object.clone(), patch });
        Self { kind: FixKind::Patch, risk, text, change, unchecked: None }
    }
}

/// `virtualservice catalog -n shop`
fn target(object: &ObjectRef) -> String {
    let kind = object.kind.to_lowercase();
    match object.namespace.as_str() {
        "" => format!("{kind} {}", object.name),
        namespace => format!("{kind} {} -n {namespace}", object.name),
    }
}
