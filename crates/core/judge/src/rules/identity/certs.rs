//! `/certs`: the certificates that a proxy holds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::rules::{Case, Facts};
use meshladder_capture::envoy::dump::{Dump, Resource, Section};
use meshladder_capture::snapshot::{DocId, Document, ProxyRef, Shape};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;
use meshladder_text::x509;

/// One certificate.
#[derive(Clone, Debug)]
pub(super) struct Cert {
    /// Where it stands.
    pub(super) at: usize,
    pub(super) serial: String,
    pub(super) uris: Vec<String>,
    pub(super) valid_from: Option<Time>,
    pub(super) expires: Option<Time>,
}

/// A proxy's certificates: its own, and the roots it trusts.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) proxy: ProxyRef,
    pub(super) doc: DocId,
    pub(super) own: Vec<Cert>,
    /// The roots that it trusts peers of the mesh by.
    pub(super) roots: Vec<Cert>,
    /// Every set of roots that it checks a server by: one that is valid is enough.
    pub(super) root_sets: Vec<Vec<Cert>>,
}

/// The certificates of the proxies on a request's way; without a request of all.
pub(super) fn held(facts: &Facts<'_>, case: Option<&Case<'_>>) -> Vec<Held> {
    let on_way = |proxy: &ProxyRef| {
        case.is_none_or(|case| {
            let pods = case.client.iter().chain(&case.servers);
            let mut hops = case.trace.hops.iter();
            pods.into_iter()
                .any(|pod| proxy.is_of(&pod.namespace, &pod.name))
                || hops.any(|hop| hop.proxy.is_of(&proxy.namespace, &proxy.pod))
        })
    };
    let docs = facts
        .snapshot
        .proxies_with(Shape::Certs)
        .filter(|(proxy, _)| on_way(proxy));
    docs.filter_map(|(proxy, id)| Some(read(proxy, &facts.snapshot.open(id).ok()?)))
        .collect()
}

fn read(proxy: ProxyRef, doc: &Document) -> Held {
    let mut held = Held {
        proxy,
        doc: doc.id.clone(),
        own: Vec::new(),
        roots: Vec::new(),
        root_sets: Vec::new(),
    };
    let Ok(root) = Raw::of(&doc.text) else {
        return held;
    };
    for entry in root.list("certificates") {
        let own: Vec<Cert> = entry.list("cert_chain").map(cert).collect();
        let roots: Vec<Cert> = entry.list("ca_cert").filter(is_of_mesh).map(cert).collect();
        // Who shows no certificate of its own meets a server outside the mesh by these: often the
        // system's bundle of public roots.
        if !own.is_empty() {
            held.roots.extend(roots.clone());
        }
        held.own.extend(own);
        held.root_sets.push(roots);
    }
    for list in [&mut held.own, &mut held.roots] {
        list.sort_by(|a, b| (&a.serial, a.at).cmp(&(&b.serial, b.at)));
        list.dedup_by(|a, b| a.serial == b.serial);
    }
    held
}

/// The system's bundle of public roots is no root of the mesh, and may well hold old ones.
fn is_of_mesh(raw: &Raw<'_>) -> bool {
    raw.string_at("path")
        .is_none_or(|path| path == "<inline>" || path.contains("istio"))
}

fn cert(raw: Raw<'_>) -> Cert {
    let time = |key| raw.string_at(key).and_then(|text| Time::parse(&text));
    let names = raw
        .list("subject_alt_names")
        .filter_map(|name| name.string_at("uri"));
    Cert {
        at: raw.offset(),
        serial: raw
            .string_at("serial_number")
            .unwrap_or_default()
            .into_owned(),
        uris: names.map(std::borrow::Cow::into_owned).collect(),
        valid_from: time("valid_from"),
        expires: time("expiration_time"),
    }
}

/// The Secret that a gateway's certificate came from: namespace and name.
pub(super) fn secret_of(facts: &Facts<'_>, held: &Held, cert: &Cert) -> Option<(String, String)> {
    let doc = facts
        .snapshot
        .open(&DocId::of_proxy(&held.proxy, "config_dump.json"))
        .ok()?;
    let dump = Dump::index(&doc.text, &[Section::Secrets]).ok()?;
    let is_it = |secret: &&Resource<'_>| {
        let chain = secret.raw.and_then(|raw| {
            raw.at(["tls_certificate", "certificate_chain", "inline_bytes"])?
                .string()
        });
        let pem = chain
            .and_then(|text| STANDARD.decode(text.as_bytes()).ok())
            .unwrap_or_default();
        let serial = |serial: &str| serial.trim_start_matches('0').to_ascii_lowercase();
        x509::from_pem(&pem)
            .into_iter()
            .flatten()
            .any(|one| serial(&one.serial) == serial(&cert.serial))
    };
    let name = &dump.of(Section::Secrets).find(is_it)?.name;
    let (scheme, rest) = name.split_once("://")?;
    let own = || (held.proxy.namespace.clone(), rest.to_owned());
    let full = || {
        rest.split_once('/')
            .map(|(namespace, name)| (namespace.to_owned(), name.to_owned()))
    };
    if scheme == "kubernetes-gateway" {
        full()
    } else {
        Some(own())
    }
}

impl Held {
    /// The trust domain of the proxy's identity.
    pub(super) fn trust_domain(&self) -> Option<(&Cert, &str)> {
        self.own.iter().find_map(|cert| {
            let domain = cert.uris.iter().find_map(|uri| x509::trust_domain(uri))?;
            Some((cert, domain))
        })
    }
}
