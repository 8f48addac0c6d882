//! Whether anything answers when the API server calls a webhook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use meshladder_capture::Kind;

use super::Injector;
use crate::{Mesh, Object, ServiceFacts, present};
use meshladder_text::tree::{Node, Value};
use meshladder_text::tri::Tri;
use meshladder_text::x509::{self, Certificate};

/// What stands behind a webhook's `clientConfig`.
#[derive(Clone, Debug)]
pub struct WebhookBackend<'m> {
    /// Whether a ready endpoint stands behind it.
    pub answers: Tri,
    /// Why not, in words; empty when it does.
    pub what: String,
    /// The part of the webhook that names it.
    pub node: &'m Node,
    /// The Service it names, if it is here.
    pub service: Option<&'m Object>,
    /// Whether the webhook asks for what its Service never had: a port or a path that istiod does
    /// not serve.
    pub is_misdirected: bool,
    /// The authority that the API server trusts for it.
    pub ca: Ca,
}

/// A webhook's `caBundle`.
#[derive(Clone, Debug)]
pub enum Ca {
    /// "If unspecified, system trust roots on the apiserver are used": none of them signs istiod's
    /// certificate.
    Missing,
    /// It is no list of certificates, and why.
    Broken(String),
    /// Its certificates.
    Certificates(Vec<Certificate>),
}

pub(super) fn of<'m>(mesh: &'m Mesh, injector: Injector<'m>) -> WebhookBackend<'m> {
    let client = injector.node.get("clientConfig").unwrap_or(injector.node);
    let ca = ca(client);
    let Some(node) = present(client, "service") else {
        let what = format!(
            "what answers at {}",
            client.str_at("url").unwrap_or_default()
        );
        return WebhookBackend {
            answers: Tri::unknown(what.as_str()),
            what,
            node: client,
            service: None,
            is_misdirected: false,
            ca,
        };
    };
    let text = |key| node.str_at(key).unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let service = mesh
        .objects
        .of_kind(Kind::Service)
        .iter()
        .find(|s| s.id.namespace == namespace && s.id.name == name);
    let facts = mesh
        .services
        .iter()
        .find(|service| service.namespace == namespace && service.name == name);
    let misdirected = facts.and_then(|facts| misdirected(injector, node, facts));
    let (answers, what) = match facts {
        Some(facts) => misdirected.clone().map_or_else(
            || endpoints(mesh, facts, port(node)),
            |what| (Tri::No, what),
        ),
        None if mesh.services.is_empty() => {
            unknown(format!("whether there is a Service {namespace}/{name}"))
        }
        None => (Tri::No, format!("there is no Service {namespace}/{name}")),
    };
    WebhookBackend {
        answers,
        what,
        node,
        service,
        is_misdirected: misdirected.is_some(),
        ca,
    }
}

/// "If specified, the port on the service that hosting webhook. Default to 443."
fn port(service: &Node) -> u16 {
    match service.get("port").map(|port| &port.value) {
        Some(Value::Number(text)) => text.parse().unwrap_or_default(),
        _ => PORT,
    }
}

/// The port on which every Service of istiod takes the API server's calls.
const PORT: u16 = 443;

/// What the webhook asks for and istiod's Service does not have, while it has what Istio's own
/// webhooks ask for.
fn misdirected(injector: Injector<'_>, node: &Node, service: &ServiceFacts) -> Option<String> {
    let has = |port: u16| service.ports.iter().any(|(number, _)| *number == port);
    let asked = port(node);
    let (namespace, name) = (&service.namespace, &service.name);
    if !has(asked) && has(PORT) {
        return Some(format!(
            "Service {namespace}/{name} has no port {asked}, but {PORT}"
        ));
    }
    let is_istiods = service
        .selector
        .get("app")
        .is_some_and(|app| app == "istiod");
    let served = if injector.config.id.is(Kind::MutatingWebhook) {
        "/inject"
    } else {
        "/validate"
    };
    let path = node.str_at("path").unwrap_or("/");
    let is_served = path
        .strip_prefix(served)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    (is_istiods && !is_served).then(|| format!("istiod serves {served} and not {path}"))
}

fn unknown(fact: String) -> (Tri, String) {
    (Tri::unknown(fact.as_str()), fact)
}

fn endpoints(mesh: &Mesh, service: &ServiceFacts, port: u16) -> (Tri, String) {
    let ServiceFacts {
        namespace, name, ..
    } = service;
    if service.kind == "ExternalName" {
        return unknown(format!("what answers at {}", service.external_name));
    }
    if !service.ports.iter().any(|(number, _)| *number == port) {
        return (
            Tri::No,
            format!("Service {namespace}/{name} has no port {port}"),
        );
    }
    let sliced: Vec<_> = mesh.slices_of(service).collect();
    let mut listed = sliced
        .iter()
        .flat_map(|slice| slice.node.get("endpoints").map_or(&[][..], Node::items));
    let is_ready = if mesh.objects.of_kind(Kind::EndpointSlice).is_empty() {
        if mesh.pods.is_empty() {
            return unknown(format!("the endpoints of Service {namespace}/{name}"));
        }
        let mut pods = mesh
            .pods_of(service)
            .filter_map(|pod| mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name));
        pods.any(ready)
    } else {
        // "A nil value should be interpreted as true."
        listed.any(|endpoint| {
            endpoint
                .at(["conditions", "ready"])
                .is_none_or(|ready| ready.value != Value::Bool(false))
        })
    };
    let what = || format!("Service {namespace}/{name} has no ready endpoint");
    if is_ready {
        (Tri::Yes, String::new())
    } else {
        (Tri::No, what())
    }
}

fn ready(pod: &Object) -> bool {
    let conditions = pod
        .node
        .at(["status", "conditions"])
        .map_or(&[][..], Node::items);
    conditions
        .iter()
        .any(|c| c.str_at("type") == Some("Ready") && c.str_at("status") == Some("True"))
}

fn ca(client: &Node) -> Ca {
    let Some(text) = client.str_at("caBundle").filter(|text| !text.is_empty()) else {
        return Ca::Missing;
    };
    let Ok(pem) = STANDARD.decode(text) else {
        return Ca::Broken("not base64".to_owned());
    };
    match x509::from_pem(&pem)
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
    {
        Ok(certificates) if certificates.is_empty() => {
            Ca::Broken("no certificate in it".to_owned())
        }
        Ok(certificates) => Ca::Certificates(certificates),
        Err(why) => Ca::Broken(why),
    }
}
