//! From a line back to the request: what `why` has to be asked to explain it.

use meshladder_text::shell;
use std::net::IpAddr;

use super::group::LineGroup;
use super::judge::{LogSide, address};
use crate::rules::Symptom;
use meshladder_capture::Kind;
use meshladder_capture::access_log::AccessLine;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::DocId;
use meshladder_mesh::{Mesh, PodFacts};
use meshladder_sim::request::Claims;
use meshladder_sim::walk::{Call, Caller, Scheme, Url};

/// A request, and what its caller saw.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The request.
    pub call: Call,
    /// What was seen.
    pub seen: Symptom,
}

/// The request of a group's first line, which stands in `doc`; none when the line does not say what
/// was called.
pub fn call(group: &LineGroup, doc: &DocId, mesh: &Mesh) -> Option<Asking> {
    let line = &group.sample;
    let own = pod_of(doc, mesh);
    let is_gateway = |pod: &PodFacts| {
        let stored = mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
        stored.is_some_and(|stored| !mesh.gateways_of(stored).is_empty())
    };
    let side = match group.judgement.side {
        LogSide::Unknown if own.is_some_and(is_gateway) => LogSide::Gateway,
        side => side,
    };
    let caller = match side {
        LogSide::Gateway => None,
        LogSide::Server => address(&line.remote)
            .trim_matches(['[', ']'])
            .parse()
            .ok()
            .and_then(|ip: IpAddr| mesh.pod_at(ip)),
        LogSide::Client | LogSide::Unknown => own,
    };
    let from = match caller {
        Some(pod) if is_gateway(pod) => Caller::Outside,
        Some(pod) => Caller::Pod {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
        },
        None if side == LogSide::Gateway => Caller::Outside,
        None => Caller::Somebody,
    };
    Some(Asking {
        call: case(line, url(line, side)?, from),
        seen: seen(group, side),
    })
}

fn case(line: &AccessLine, to: Url, from: Caller) -> Call {
    let http = match line.protocol.as_str() {
        "HTTP/1.0" => "1.0",
        "HTTP/2" => "2",
        _ => "1.1",
    };
    Call {
        from,
        method: match to.scheme {
            Scheme::Tcp => String::new(),
            _ if line.method.is_empty() => "GET".to_owned(),
            _ => line.method.clone(),
        },
        to,
        headers: Vec::new(),
        http: http.to_owned(),
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::None,
    }
}

/// What the client saw: of a server's line only the status, since the client's own proxy relays it.
fn seen(group: &LineGroup, side: LogSide) -> Symptom {
    let own = side != LogSide::Server;
    Symptom {
        code: group.code,
        flags: if own { group.flags.clone() } else { Vec::new() },
        details: Some(group.details.clone()).filter(|details| own && !details.is_empty()),
    }
}

fn pod_of<'m>(doc: &DocId, mesh: &'m Mesh) -> Option<&'m PodFacts> {
    let mut parts = doc.split().1.strip_prefix("logs/")?.split('/');
    mesh.pod(parts.next()?, parts.next()?)
}

/// What was called, as far as the line tells.
fn url(line: &AccessLine, side: LogSide) -> Option<Url> {
    let cluster = ClusterName::parse(&line.cluster);
    let name = ClusterName::parse(&line.server_name);
    let service = cluster.filter(|cluster| !cluster.host.is_empty()).or(name);
    if line.method.is_empty() && line.path.is_empty() {
        let tcp = |host: &str, port: &str| Url::parse(&format!("tcp://{host}:{port}")).ok();
        return match service {
            Some(service) => tcp(service.host, service.port),
            None if side == LogSide::Client => Url::parse(&format!("tcp://{}", line.local)).ok(),
            // A connection that no filter chain took: what was sent is not known, only where to.
            None if line.details == "filter_chain_not_found" => {
                Url::parse(&format!("http://{}/", line.local)).ok()
            }
            None => None,
        };
    }
    let is_https = side == LogSide::Gateway && !line.server_name.is_empty();
    let scheme = if is_https { "https" } else { "http" };
    let host = if line.authority.is_empty() {
        service?.host
    } else {
        line.authority.as_str()
    };
    let mut url = Url::parse(&format!("{scheme}://{host}{}", line.path)).ok()?;
    if !url.has_port && side != LogSide::Gateway {
        let port = service
            .or(cluster)
            .and_then(|cluster| cluster.port.parse().ok());
        // The port that the client connected to.
        let port = port.or_else(|| line.local.rsplit_once(':')?.1.parse().ok());
        (url.port, url.has_port) = (port.unwrap_or(url.port), port.is_some());
    }
    Some(url)
}

/// The command that asks it of a source, named as ` -s PATH`, or of the cluster; what is not known
/// stands in capitals.
pub fn command(group: &LineGroup, asking: Option<&Asking>, source: &str) -> Option<String> {
    let line = &group.sample;
    let side = group.judgement.side;
    let from = match asking.map(|asking| &asking.call.from) {
        Some(Caller::Pod { namespace, name }) => shell::word(&format!("{namespace}/{name}")),
        Some(Caller::Outside) => "outside".to_owned(),
        None if side == LogSide::Gateway => "outside".to_owned(),
        Some(Caller::Somebody) | None => "CLIENT".to_owned(),
    };
    let to = asking.map_or_else(|| url(line, side), |asking| Some(asking.call.to.clone()))?;
    let seen = asking.map_or_else(|| seen(group, side), |asking| asking.seen.clone());
    let method = if matches!(line.method.as_str(), "" | "GET") {
        String::new()
    } else {
        format!("-X {} ", shell::word(&line.method))
    };
    let flags = if seen.flags.is_empty() {
        String::new()
    } else {
        shell::word(&format!("/{}", seen.flags.join(",")))
    };
    let to = written(&to);
    Some(format!(
        "meshladder why --from {from} {method}--to {to} --seen {}{flags}{source}",
        seen.code
    ))
}

/// What a line's request called, as a shell takes it.
pub(super) fn called(line: &AccessLine, side: LogSide) -> Option<String> {
    url(line, side).map(|url| written(&url))
}

fn written(url: &Url) -> String {
    let Url {
        scheme,
        host,
        port,
        path,
        ..
    } = url;
    let path = if *scheme == Scheme::Tcp {
        ""
    } else {
        path.as_str()
    };
    shell::word(&format!("{}://{host}:{port}{path}", scheme.word()))
}
