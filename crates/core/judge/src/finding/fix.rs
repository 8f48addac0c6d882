//! Repairs.

pub use meshladder_mesh::{Change, Op, Patch};

use meshladder_mesh::ObjectRef;
use meshladder_text::shell::{self, ShellCommand};
use meshladder_text::tree::Value;

/// A repair, as text for a person; with the change of objects it stands for, when it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it is.
    pub kind: FixKind,
    /// What it may cost.
    pub risk: Risk,
    /// The patch, command or advice.
    pub text: String,
    /// What it changes in objects: the ladder applies it in memory and offers the fix only if
    /// the cause goes away.
    pub change: Option<Change>,
    /// What trying it came to.
    pub trial: Trial,
}

/// What trying a fix in memory came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It has not been tried, or there is nothing to try.
    Pending,
    /// The finding goes away with it.
    Works,
    /// It could not be tried, and why.
    Untried(String),
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
        Self {
            kind: FixKind::Advice,
            risk: Risk::ReadOnly,
            text: text.into(),
            change: None,
            trial: Trial::Pending,
        }
    }

    /// A command that only looks.
    pub fn look(command: impl Into<ShellCommand>) -> Self {
        Self {
            kind: FixKind::Command,
            ..Self::advice(command.into().to_string())
        }
    }

    /// A command that does something.
    pub fn command(risk: Risk, command: impl Into<ShellCommand>) -> Self {
        Self {
            kind: FixKind::Command,
            risk,
            ..Self::advice(command.into().to_string())
        }
    }

    /// A merge patch: what the object is to say, and `null` for what it is to say no longer.
    pub fn merge(object: &ObjectRef, patch: Value) -> Self {
        let text = on("kubectl patch {} {}", object)
            .then(&shell::command(" --type merge -p {}", &[&patch.to_json()]));
        Self::change(Risk::Reversible, &text, object, Patch::Merge(patch))
    }

    /// A JSON patch: operations at places of the object, one after the other.
    pub fn patch(object: &ObjectRef, ops: impl Into<Vec<Op>>) -> Self {
        let ops = ops.into();
        let text = on("kubectl patch {} {}", object).then(&shell::command(
            " --type json -p {}",
            &[&Patch::json_text(&ops)],
        ));
        Self::change(Risk::Reversible, &text, object, Patch::Json(ops))
    }

    /// Deletes the object.
    pub fn delete(object: &ObjectRef) -> Self {
        Self::change(
            Risk::Disruptive,
            &on("kubectl delete {} {}", object),
            object,
            Patch::Delete,
        )
    }

    /// Creates an object, as YAML text.
    pub fn create(object: &ObjectRef, yaml: impl Into<String>) -> Self {
        let yaml = yaml.into();
        let text = ShellCommand::from("kubectl apply -f -").reading(yaml.trim_end());
        Self::change(Risk::Reversible, &text, object, Patch::Create(yaml))
    }

    /// It cannot be checked in memory, and this is why.
    #[must_use]
    pub fn unchecked(mut self, why: impl Into<String>) -> Self {
        self.trial = Trial::Untried(why.into());
        self
    }

    /// Why it could not be checked beforehand, when it changes objects and could not.
    pub fn why_untried(&self) -> Option<&str> {
        match &self.trial {
            Trial::Untried(why) => Some(why),
            Trial::Pending | Trial::Works => None,
        }
    }

    fn change(risk: Risk, text: &ShellCommand, object: &ObjectRef, patch: Patch) -> Self {
        let change = Some(Change {
            object: object.clone(),
            patch,
        });
        Self {
            kind: FixKind::Patch,
            risk,
            text: text.to_string(),
            change,
            trial: Trial::Pending,
        }
    }
}

/// A command with an object as kubectl takes it: `virtualservice catalog -n shop`.
pub fn on(template: &'static str, object: &ObjectRef) -> ShellCommand {
    let command = shell::command(template, &[&resource(&object.kind), &object.name]);
    match object.namespace.as_str() {
        "" => command,
        namespace => command.then(&shell::command(" -n {}", &[namespace])),
    }
}

/// The kind as kubectl takes it. Two kinds are called Gateway, and kubectl takes the bare name for
/// either; no rule changes the one of the Gateway API.
fn resource(kind: &str) -> String {
    match kind {
        "Gateway" => "gateway.networking.istio.io".to_owned(),
        kind => kind.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_capture::Kind;

    #[test]
    fn commands_name_the_object_as_kubectl_takes_it() {
        let delete =
            |kind, namespace, name| Fix::delete(&ObjectRef::new(kind, namespace, name)).text;
        assert_eq!(
            delete("VirtualService", "shop", "cart"),
            "kubectl delete virtualservice cart -n shop"
        );
        assert_eq!(
            delete("Gateway", "edge", "shop"),
            "kubectl delete gateway.networking.istio.io shop -n edge"
        );
        assert_eq!(
            delete("Namespace", "", "shop"),
            "kubectl delete namespace shop"
        );
    }

    #[test]
    fn a_quote_in_a_patch_does_not_end_the_word() {
        let patch = Value::object([("a", "it's")]);
        let fix = Fix::merge(&ObjectRef::of(Kind::Service, "shop", "cart"), patch.clone());
        assert_eq!(
            fix.text,
            r#"kubectl patch service cart -n shop --type merge -p '{"a":"it'\''s"}'"#
        );
        assert_eq!(
            fix.change.expect("it changes an object").patch,
            Patch::Merge(patch)
        );
    }
}
