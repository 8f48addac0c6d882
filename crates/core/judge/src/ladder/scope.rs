//! What a climb is about, and what bears on it.

use std::collections::BTreeSet;

use crate::finding::{Finding, Rung, Severity};
use crate::report::Topic;
use crate::rules::{Case, Check, Facts, Symptom, named};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Need;
use meshladder_mesh::services::is_ready;
use meshladder_mesh::traffic::destinations;
use meshladder_mesh::{ObjectRef, PodFacts};
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
    pub(super) fn unread(&self, facts: &Facts<'_>) -> Option<String> {
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

/// What does not bear on the question is worth knowing, and no more.
pub(super) fn quieten(
    findings: &mut [Finding],
    scope: &Scope,
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
) {
    let on_path = case.map(|case| path_of(case, facts));
    for finding in findings.iter_mut() {
        let bears = match (scope, &on_path) {
            (Scope::Mesh, _) => true,
            (Scope::Namespace(namespace), _) => in_namespace(finding, namespace),
            (Scope::Workload { object, pods }, _) => {
                touches(finding, |o| o == object || pods.contains(o)) || everywhere(finding)
            }
            (Scope::Object(object), _) => bears_on_object(finding, object, facts),
            (Scope::Request(_), Some(on_path)) => bears_on_request(finding, on_path),
            (Scope::Request(_), None) => false,
        };
        if !bears {
            finding.severity = Severity::Info;
        }
        let is_asked = match scope {
            Scope::Object(object) => finding.subject == *object,
            Scope::Workload { .. } => bears,
            Scope::Mesh | Scope::Namespace(_) | Scope::Request(_) => false,
        };
        if let (true, Some(severity)) = (is_asked, finding.when_asked) {
            finding.severity = finding.severity.min(severity);
        }
    }
}

/// Of a mesh whose traffic suffers, how loud its logs are is no cause: nobody is hit by it.
pub(super) fn put_traffic_first(findings: &mut [Finding], scope: &Scope) {
    let is_wide = matches!(scope, Scope::Mesh | Scope::Namespace(_));
    if is_wide
        && findings
            .iter()
            .any(|finding| finding.is_loud() && finding.rung != Rung::Telemetry)
    {
        for finding in findings
            .iter_mut()
            .filter(|finding| finding.rung == Rung::Telemetry)
        {
            finding.severity(Severity::Info);
        }
    }
}

/// What objects ask for as they are would be so with every proxy up to date. Only what the caller's
/// own proxy lacks may still have led its request there.
pub(super) fn put_asked_for_first(findings: &mut [Finding], case: &Case<'_>) {
    let client = case.client.map(PodFacts::reference);
    if !findings
        .iter()
        .any(|finding| finding.is_loud() && finding.is_asked_for)
    {
        return;
    }
    let is_of_push = |finding: &Finding| matches!(finding.rung, Rung::ControlPlane | Rung::Sync);
    let is_of_client = |finding: &Finding| {
        client
            .as_ref()
            .is_some_and(|client| finding.hits.contains(client))
    };
    for finding in findings
        .iter_mut()
        .filter(|finding| is_of_push(finding) && !is_of_client(finding))
    {
        finding.severity(Severity::Info);
    }
}

fn touches(finding: &Finding, is: impl Fn(&ObjectRef) -> bool) -> bool {
    is(&finding.subject) || finding.hits.iter().any(is)
}

/// A control plane that is down hits everybody.
fn everywhere(finding: &Finding) -> bool {
    finding.rung == Rung::ControlPlane && finding.hits.is_empty()
}

fn in_namespace(finding: &Finding, namespace: &str) -> bool {
    let is =
        |o: &ObjectRef| o.namespace == namespace || (o.is(Kind::Namespace) && o.name == namespace);
    touches(finding, is) || everywhere(finding)
}

/// Objects are cited by pointer: a finding that cites the object is about it too. One that keeps
/// proxies from getting any configuration is about every object.
fn bears_on_object(finding: &Finding, object: &ObjectRef, facts: &Facts<'_>) -> bool {
    let stored = facts.mesh.objects.find(object);
    let cites = stored.is_some_and(|stored| {
        finding.evidence.iter().any(|evidence| {
            let inside = |pointer: &str| {
                pointer
                    .strip_prefix(&*stored.pointer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            evidence.doc == stored.doc && evidence.spot.pointer().is_some_and(inside)
        })
    });
    let reaches = || {
        let in_reach = |pod: &ObjectRef| pod.is(Kind::Pod) && facts.mesh.reaches(object, pod);
        matches!(
            finding.rung,
            Rung::ControlPlane | Rung::Enrolment | Rung::Sync
        ) && finding.hits.iter().any(in_reach)
    };
    // A route is as good as what it leads to.
    let leads_to = || {
        let led_to = stored
            .filter(|_| finding.rung == Rung::Endpoints)
            .map(|service| destinations(service, &facts.mesh.domain))
            .unwrap_or_default();
        led_to
            .iter()
            .filter_map(|to| facts.mesh.service_of_host(&to.host))
            .any(|to| touches(finding, |o| *o == to.id))
    };
    cites || touches(finding, |o| o == object) || everywhere(finding) || reaches() || leads_to()
}

/// The pods on the way of a request.
fn path_of(case: &Case<'_>, facts: &Facts<'_>) -> BTreeSet<ObjectRef> {
    let mut on_path: BTreeSet<ObjectRef> = case
        .client
        .iter()
        .chain(&case.servers)
        .map(|pod| pod.reference())
        .collect();
    for hop in &case.trace.hops {
        let pod = hop
            .proxy
            .split_once('/')
            .and_then(|(namespace, name)| facts.mesh.pod(namespace, name));
        on_path.extend(pod.map(PodFacts::reference));
    }
    // A Service whose pods were never made is on the way too.
    on_path.extend(
        case.service
            .map(|service| ObjectRef::of(Kind::Service, &service.namespace, &service.name)),
    );
    // Where no pod is ready, that may be why the request fails.
    if super::case::bad_end(case).is_some() {
        let service = case
            .service
            .and_then(|s| facts.mesh.objects.get(Kind::Service, &s.namespace, &s.name));
        let selected = service
            .map(|service| facts.mesh.selected_pods(service))
            .unwrap_or_default();
        if !selected.iter().any(|pod| is_ready(pod)) {
            on_path.extend(selected.into_iter().map(|pod| pod.id.clone()));
        }
    }
    on_path
}

/// What lies above sync is judged on the request itself, by rules that look at it; the mesh around
/// it is not asked about.
fn bears_on_request(finding: &Finding, on_path: &BTreeSet<ObjectRef>) -> bool {
    let looks_at_request = named(finding.code).is_some_and(|rule| {
        matches!(
            rule.check,
            Check::Request(_) | Check::Either(_) | Check::Lens(..)
        )
    });
    let below = matches!(
        finding.rung,
        Rung::ControlPlane | Rung::Enrolment | Rung::Sync
    );
    looks_at_request
        || (below && (everywhere(finding) || touches(finding, |o| on_path.contains(o))))
}
