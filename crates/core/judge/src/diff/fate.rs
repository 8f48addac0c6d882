//! Requests that end otherwise in the second capture: every workload that calls, every port of
//! every Service.

use std::collections::{BTreeMap, BTreeSet};

use meshladder_capture::Kind;
use meshladder_mesh::services::{Protocol, ServicePort, ports};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_sim::request::Claims;
use meshladder_sim::trace::{End, Trace};
use meshladder_sim::walk::{Call, Caller, Detail, Documents, Url, Walk};

use super::meaning::host;
use super::meshes::MeshCapture;

/// What becomes of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// `GET http://catalog.shop:8080/`
    pub request: String,
    /// `shop/frontend`
    pub from: String,
    /// How it ends in the first capture.
    pub was: String,
    /// How it ends in the second one.
    pub is: String,
}

/// So many requests are tried: a large mesh has millions of pairs.
const TRIED: usize = 2000;

pub(super) fn changes(a: &MeshCapture<'_>, b: &MeshCapture<'_>) -> Vec<Fate> {
    let callers: Vec<&ObjectRef> = a
        .proxies
        .keys()
        .filter(|workload| b.proxies.contains_key(*workload))
        .collect();
    let urls = urls(a).intersection(&urls(b)).cloned().collect::<Vec<_>>();
    let (documents_a, documents_b) = (Documents::of(a.snapshot), Documents::of(b.snapshot));
    let (walk_a, walk_b) = (
        Walk::new(&documents_a, a.mesh),
        Walk::new(&documents_b, b.mesh),
    );
    let pairs = callers
        .iter()
        .flat_map(|caller| urls.iter().map(move |url| (*caller, url)));
    let mut fates = Vec::new();
    for (caller, url) in pairs.take(TRIED) {
        let ask = |capture: &MeshCapture<'_>, walk: &Walk<'_>| {
            let (proxy, _) = capture.proxies[caller].first()?;
            let from = Caller::Pod {
                namespace: proxy.namespace.clone(),
                name: proxy.pod.clone(),
            };
            Some(in_words(&walk.trace(&call(from, url)?, Detail::Ends)))
        };
        let (Some(was), Some(is)) = (ask(a, &walk_a), ask(b, &walk_b)) else {
            continue;
        };
        if was != is {
            let method = if url.starts_with("http") { "GET " } else { "" };
            let from = format!("{}/{}", caller.namespace, caller.name);
            fates.push(Fate {
                request: format!("{method}{url}"),
                from,
                was,
                is,
            });
        }
    }
    fates
}

/// The ports of all Services, each with what is spoken there.
fn urls(capture: &MeshCapture<'_>) -> BTreeSet<String> {
    let services = capture.mesh.objects.of_kind(Kind::Service).iter();
    let ports = services.flat_map(|service| ports(service).map(move |port| (service, port)));
    let url = |(service, port): (&Object, ServicePort<'_>)| {
        let scheme = match port.protocol {
            Protocol::Udp => return None,
            Protocol::Sniffed => "http",
            protocol if protocol.is_http() => "http",
            _ => "tcp",
        };
        let path = if scheme == "http" { "/" } else { "" };
        Some(format!(
            "{scheme}://{}.{}:{}{path}",
            service.id.name, service.id.namespace, port.number
        ))
    };
    ports.filter_map(url).collect()
}

fn call(from: Caller, url: &str) -> Option<Call> {
    Some(Call {
        from,
        to: Url::parse(url).ok()?,
        method: if url.starts_with("http") {
            "GET".to_owned()
        } else {
            String::new()
        },
        headers: Vec::new(),
        http: "1.1".to_owned(),
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::default(),
    })
}

/// Every end with its share, the likeliest first: `90 % forwarded 200 by v1 of catalog…, 10 % …`.
fn in_words(trace: &Trace) -> String {
    let end = |end: &End| {
        let flags = if end.flags.is_empty() {
            String::new()
        } else {
            format!(" {}", end.flags.join(","))
        };
        let code = if end.code == 0 {
            String::new()
        } else {
            format!(" {}", end.code)
        };
        format!("{}{code}{flags}", end.kind.word())
    };
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    for branch in &trace.branches {
        let cluster = branch
            .cluster
            .as_deref()
            .map(|name| format!(" by {}", host(name)))
            .unwrap_or_default();
        *shares
            .entry(format!("{}{cluster}", end(&branch.end)))
            .or_default() += branch.weight.unwrap_or(0.0);
    }
    let total: f64 = shares.values().sum();
    let mut shares: Vec<_> = shares.into_iter().collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    match shares.as_slice() {
        [] => end(&trace.outcome),
        [(only, _)] => only.clone(),
        _ if total <= 0.0 => end(&trace.outcome),
        many => many
            .iter()
            .map(|(end, share)| format!("{:.0} % {end}", share / total * 100.0))
            .collect::<Vec<_>>()
            .join(", "),
    }
}
