//! What a climb is about.

use crate::finding::{MissingFact, Rung};
use crate::rules::{Facts, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Need;
use meshladder_mesh::ObjectRef;
use meshladder_sim::walk::Call;
use meshladder_text::json::escape;

/// What a climb is about.
#[derive(Debug)]
pub enum Scope {
    /// The whole mesh.
    Mesh,
    /// A namespace.
    Namespace(String),
    /// A workload or a pod: what it is called, and its pods.
    Workload {
        /// The object that was named.
        object: ObjectRef,
        /// Its pods.
        pods: Vec<ObjectRef>,
    },
    /// Any other object.
    Object(ObjectRef),
    /// One request.
    Request(Box<Call>),
}

impl Scope {
    /// As JSON v1 repeats it.
    pub(super) fn to_json(&self, seen: Option<&Symptom>) -> String {
        match self {
            Self::Mesh => "{\"mesh\":true}".to_owned(),
            Self::Namespace(namespace) => format!("{{\"namespace\":{}}}", escape(namespace)),
            Self::Workload { object, .. } => format!("{{\"workload\":{}}}", escape(&path(object))),
            Self::Object(object) => format!("{{\"object\":{}}}", escape(&path(object))),
            Self::Request(call) => {
                let json = call.to_json();
                let Some(seen) = seen else { return json };
                let details = seen.details.as_deref().map_or("null".to_owned(), escape);
                let flags = escape(&seen.flags.join(","));
                let seen = format!(
                    "{{\"code\":{},\"flags\":{flags},\"details\":{details}}}",
                    seen.code
                );
                format!(
                    "{},\"seen\":{seen}}}",
                    json.strip_suffix('}').unwrap_or(&json)
                )
            }
        }
    }

    /// In words.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Mesh => "the whole mesh".to_owned(),
            Self::Namespace(namespace) => format!("namespace {namespace}"),
            Self::Workload { object, .. } | Self::Object(object) => object.to_string(),
            Self::Request(call) => call.in_words(),
        }
    }

    /// Why the object that was named could not be read, when it is not here.
    pub(super) fn unread(&self, facts: &Facts<'_>) -> Option<MissingFact> {
        let object = match self {
            Self::Workload { object, pods } if pods.is_empty() => object,
            Self::Object(object) => object,
            _ => return None,
        };
        let is_here = facts.mesh.objects.find(object).is_some();
        if is_here {
            None
        } else {
            let other = || Need::OtherObjects(object.kind.to_string());
            facts.unread(Kind::parse(&object.kind).map_or_else(other, Need::Objects))
        }
    }

    /// Whether a rung says anything about what was asked.
    pub(super) fn covers(&self, rung: Rung) -> bool {
        match self {
            Self::Mesh | Self::Namespace(_) | Self::Request(_) | Self::Workload { .. } => true,
            Self::Object(_) => rung != Rung::Telemetry,
        }
    }
}

fn path(object: &ObjectRef) -> String {
    format!("{}/{}/{}", object.kind, object.namespace, object.name)
}
