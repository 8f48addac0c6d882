//! The authority of istiod's own certificate: what proxies are told to trust, and whether a webhook
//! trusts the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use meshladder_capture::Kind;

use crate::finding::{Evidence, Fix, Op};
use crate::rules::{Facts, istiod_log};
use meshladder_mesh::injection::Injector;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::shell;
use meshladder_text::tree::Node;
use meshladder_text::x509::{self, Certificate};

/// The ConfigMap that istiod writes into every namespace: the roots by which agents know istiod.
/// Agents and the API server are shown the same certificate, so what neither is nor vouches for one
/// of these cannot be trusted for it.
const NAME: &str = "istio-ca-root-cert";

/// What one ConfigMap says.
#[derive(Debug)]
pub(in crate::rules) struct Roots<'m> {
    pub(in crate::rules) object: &'m Object,
    pub(in crate::rules) node: &'m Node,
    certificates: Vec<Certificate>,
}

/// Every root that is given out, each text once; first those of the namespace.
pub(in crate::rules) fn given_out<'m>(mesh: &'m Mesh, namespace: &str) -> Vec<Roots<'m>> {
    let maps = mesh
        .objects
        .of_kind(Kind::ConfigMap)
        .iter()
        .filter(|map| map.id.name == NAME);
    let (own, others): (Vec<&Object>, Vec<&Object>) =
        maps.partition(|map| map.id.namespace == namespace);
    let mut roots: Vec<Roots<'m>> = Vec::new();
    for object in own.into_iter().chain(others) {
        let Some(node) = object.node.at(["data", "root-cert.pem"]) else {
            continue;
        };
        let Some(text) = node
            .str()
            .filter(|text| roots.iter().all(|one| one.node.str() != Some(text)))
        else {
            continue;
        };
        let certificates: Vec<Certificate> = x509::from_pem(text.as_bytes())
            .into_iter()
            .flatten()
            .collect();
        if !certificates.is_empty() {
            roots.push(Roots {
                object,
                node,
                certificates,
            });
        }
    }
    roots
}

/// The roots of a namespace, when they are none of those that every other namespace has; and those.
pub(in crate::rules) fn odd<'m>(mesh: &'m Mesh, namespace: &str) -> Option<(Roots<'m>, Roots<'m>)> {
    let mut roots = given_out(mesh, namespace).into_iter();
    let (own, other) = (roots.next()?, roots.next()?);
    let is_odd = own.object.id.namespace == namespace
        && roots.next().is_none()
        && !own.fit(&other.certificates);
    is_odd.then_some((own, other))
}

impl Roots<'_> {
    /// Whether one of the certificates can lead to one of these roots.
    pub(in crate::rules) fn fit(&self, trusted: &[Certificate]) -> bool {
        self.certificates.iter().any(|root| {
            trusted
                .iter()
                .any(|one| leads(one, root) || leads(root, one))
        })
    }
}

/// Whether it is that key, or an intermediate that the root may have signed: its signature is not
/// checked here.
fn leads(one: &Certificate, root: &Certificate) -> bool {
    one.key_sha256 == root.key_sha256 || one.subject != one.issuer && one.issuer == root.subject
}

/// Gives every webhook of a configuration these roots; the command has the shell fetch what is
/// long.
pub(in crate::rules) fn give(config: &Object, hooks: &[Injector<'_>], roots: &Roots<'_>) -> Fix {
    let all = config.node.get("webhooks").map_or(&[][..], Node::items);
    let own = hooks.iter().filter(|hook| hook.config.id == config.id);
    let places = own.filter_map(|hook| all.iter().position(|node| std::ptr::eq(node, hook.node)));
    let bundle = STANDARD.encode(roots.node.str().unwrap_or_default());
    let add = |at| Op::add(format!("/webhooks/{at}/clientConfig/caBundle"), &bundle);
    let mut fix = Fix::patch(&config.id, places.map(add).collect::<Vec<_>>());
    let ObjectRef {
        namespace, name, ..
    } = &roots.object.id;
    let fetch = shell::command(
        r"kubectl get configmap {} -n {} -o jsonpath='{.data.root-cert\.pem}'",
        &[name, namespace],
    );
    fix.text = format!(
        "ca=$({fetch} | base64 -w0); {}",
        fix.text.replace(&bundle, "'$ca'")
    );
    fix
}

/// A caller of istiod's webhooks that did not trust its certificate. Of istiod's servers only that
/// of the webhooks is HTTP over TLS, and Go's HTTP server writes this line.
pub(in crate::rules) fn distrust(facts: &Facts<'_>) -> Option<Evidence> {
    const REFUSED: &str = "http: TLS handshake error from ";
    let says_so = |line: &str| {
        let alert = line
            .split_once(REFUSED)
            .and_then(|(_, rest)| rest.split_once("remote error: tls: "));
        alert.is_some_and(|(_, alert)| {
            ["bad certificate", "unknown certificate"]
                .iter()
                .any(|known| alert.starts_with(known))
        })
    };
    let shows = "a caller of the webhooks that did not trust istiod's certificate";
    istiod_log::last_line(facts, says_so, shows)
}
