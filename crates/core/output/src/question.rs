//! What was asked, as every answer of ours repeats it.

use crate::json::Pairs;
use meshladder_capture::snapshot::shown_value;
use meshladder_judge::report::Topic;
use meshladder_judge::rules::Symptom;
use meshladder_mesh::ObjectRef;
use meshladder_sim::walk::{Call, Caller, Url};
use serde::Serialize;

/// What a report answers, and in which cluster it was asked where there are several.
#[derive(Debug, Serialize)]
pub(crate) struct QuestionIn<'a> {
    #[serde(flatten)]
    question: QuestionJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
}

impl<'a> QuestionIn<'a> {
    pub(crate) fn new(topic: &'a Topic, cluster: Option<&'a str>) -> Self {
        Self {
            question: QuestionJson::from(topic),
            cluster,
        }
    }
}

/// What a report answers.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum QuestionJson<'a> {
    Mesh { mesh: bool },
    Objects { objects: bool },
    Namespace { namespace: &'a str },
    Workload { workload: String },
    Object { object: String },
    Request(RequestJson<'a>),
}

impl<'a> From<&'a Topic> for QuestionJson<'a> {
    fn from(topic: &'a Topic) -> Self {
        match topic {
            Topic::Mesh => Self::Mesh { mesh: true },
            Topic::Objects => Self::Objects { objects: true },
            Topic::Namespace(namespace) => Self::Namespace { namespace },
            Topic::Workload(object) => Self::Workload {
                workload: path(object),
            },
            Topic::Object(object) => Self::Object {
                object: path(object),
            },
            Topic::Request { call, seen } => Self::Request(RequestJson {
                seen: seen.as_ref().map(SymptomJson::from),
                ..RequestJson::from(&**call)
            }),
        }
    }
}

fn path(object: &ObjectRef) -> String {
    format!("{}/{}/{}", object.kind, object.namespace, object.name)
}

/// One request.
#[derive(Debug, Serialize)]
pub(crate) struct RequestJson<'a> {
    from: String,
    to: String,
    method: &'a str,
    headers: Pairs<&'a str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<SymptomJson<'a>>,
}

#[derive(Debug, Serialize)]
struct SymptomJson<'a> {
    code: u16,
    flags: String,
    details: Option<&'a str>,
}

impl<'a> From<&'a Symptom> for SymptomJson<'a> {
    fn from(seen: &'a Symptom) -> Self {
        Self {
            code: seen.code,
            flags: seen.flags.join(","),
            details: seen.details.as_deref(),
        }
    }
}

impl<'a> From<&'a Call> for RequestJson<'a> {
    fn from(call: &'a Call) -> Self {
        let from = match &call.from {
            Caller::Outside => "outside".to_owned(),
            Caller::Pod { namespace, name } => format!("{namespace}/{name}"),
            Caller::Somebody => String::new(),
        };
        let Url {
            scheme,
            host,
            port,
            path,
            ..
        } = &call.to;
        let mut headers = Vec::new();
        for (name, value) in &call.headers {
            headers.push((name.as_str(), shown_value(name, value)));
        }
        Self {
            from,
            to: shown_value("url", &format!("{}://{host}:{port}{path}", scheme.word())),
            method: &call.method,
            headers: Pairs(headers),
            principal: call
                .principal
                .as_ref()
                .map(meshladder_sim::walk::Principal::uri),
            seen: None,
        }
    }
}
