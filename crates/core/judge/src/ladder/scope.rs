//! What a climb is about.

use crate::finding::{MissingFact, Rung};
use crate::report::Topic;
use crate::rules::{Facts, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Need;
use meshladder_mesh::ObjectRef;
use meshladder_sim::walk::Call;

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
    /// As the report repeats it.
    pub(super) fn topic(&self, seen: Option<&Symptom>) -> Topic {
        match self {
            Self::Mesh => Topic::Mesh,
            Self::Namespace(namespace) => Topic::Namespace(namespace.clone()),
            Self::Workload { object, .. } => Topic::Workload(object.clone()),
            Self::Object(object) => Topic::Object(object.clone()),
            Self::Request(call) => Topic::Request {
                call: call.clone(),
                seen: seen.cloned(),
            },
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
