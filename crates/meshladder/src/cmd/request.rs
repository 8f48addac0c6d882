//! From request flags to a question.

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, Need, Shape, Snapshot};
use meshladder_mesh::Mesh;
use meshladder_sim::request::Claims;
use meshladder_sim::walk::{Call, Caller, Principal, Scheme, Url};

use crate::args::request::RequestFlags;
use crate::exit::{Failure, UNREADABLE, USAGE};

/// Reads the flags; names of workloads are looked up in what the source holds.
pub(super) fn call(
    flags: &RequestFlags,
    namespace: Option<&str>,
    snapshot: &Snapshot,
    mesh: &Mesh,
) -> Result<Call, Failure> {
    let to = flags
        .to
        .as_deref()
        .ok_or_else(|| Failure::new(USAGE, "what is called? name it with --to URL"))?;
    question_to(flags, to, namespace, snapshot, mesh)
}

/// The call, with another URL than the flags say.
pub(super) fn question_to(
    flags: &RequestFlags,
    to: &str,
    namespace: Option<&str>,
    snapshot: &Snapshot,
    mesh: &Mesh,
) -> Result<Call, Failure> {
    let to = Url::parse(to).map_err(|why| Failure::new(USAGE, why))?;
    let headers = flags
        .headers
        .iter()
        .map(|line| header(line))
        .collect::<Result<Vec<_>, _>>()?;
    let principal = flags.principal.as_deref().map(Principal::parse);
    let from = match flags.from.as_deref() {
        None => Caller::Somebody,
        Some(text) => caller(text, namespace, snapshot, mesh)?,
    };
    Ok(Call {
        from,
        method: if to.scheme == Scheme::Tcp {
            String::new()
        } else {
            flags.method.clone()
        },
        to,
        headers,
        http: flags.http.clone(),
        sni: flags
            .sni
            .as_ref()
            .map(|name| (name != "none").then(|| name.clone())),
        source_ip: flags.source_ip,
        principal: principal
            .transpose()
            .map_err(|why| Failure::new(USAGE, why))?,
        claims: claims(flags)?,
    })
}

fn header(line: &str) -> Result<(String, String), Failure> {
    let split = line
        .split_once(':')
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    split
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| Failure::new(USAGE, format!("`{line}` is no header: try `name: value`")))
}

/// A token in a header is a token like any other; without one there is none.
fn claims(flags: &RequestFlags) -> Result<Claims, Failure> {
    if let Some(path) = &flags.token {
        let token = std::fs::read_to_string(path);
        let token = token.map_err(|why| {
            Failure::new(UNREADABLE, format!("cannot read {}: {why}", path.display()))
        })?;
        return Ok(Claims::Token(token.trim().to_owned()));
    }
    if flags.jwt_claims.is_empty() {
        return Ok(Claims::None);
    }
    let claim = |text: &String| {
        let split = text
            .split_once('=')
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        split.ok_or_else(|| Failure::new(USAGE, format!("`{text}` is no claim: try `name=value`")))
    };
    flags
        .jwt_claims
        .iter()
        .map(claim)
        .collect::<Result<_, _>>()
        .map(Claims::Given)
}

/// `outside`, a pod by its name, or a pod of a workload: `ns/name`, `name.ns`, `deploy/name`.
pub(super) fn caller(
    text: &str,
    namespace: Option<&str>,
    snapshot: &Snapshot,
    mesh: &Mesh,
) -> Result<Caller, Failure> {
    if text == "outside" {
        return Ok(Caller::Outside);
    }
    if let Some((namespace, name)) = text.split_once('/') {
        let pods = || mesh.pods.iter().filter(|pod| pod.namespace == namespace);
        let of = |pod: &&meshladder_mesh::PodFacts| pod.owner.rsplit('/').next() == Some(name);
        let found = pods()
            .find(|pod| pod.name == name)
            .or_else(|| pods().filter(|pod| pod.running).find(of))
            // One that does not come up is asked about all the more.
            .or_else(|| pods().find(of));
        if let Some(pod) = found {
            return Ok(Caller::Pod {
                namespace: pod.namespace.clone(),
                name: pod.name.clone(),
            });
        }
    }
    // Where pods may not be read, proxies say themselves whose they are; without any the caller is
    // only a name.
    let own = namespace;
    if let (Some((namespace, name)), Coverage::Denied(_)) =
        (text.split_once('/'), coverage_of_pods(snapshot))
    {
        let workload = format!("deploy/{name}.{namespace}");
        let found = [text, workload.as_str()]
            .iter()
            .find_map(|target| super::source::find(snapshot, target, own, Shape::ConfigDump).ok());
        let as_given = || (namespace.to_owned(), name.to_owned());
        let (namespace, name) = found.map_or_else(as_given, |proxy| (proxy.namespace, proxy.pod));
        return Ok(Caller::Pod { namespace, name });
    }
    let proxy = super::source::find(snapshot, text, namespace, Shape::ConfigDump)
        .map_err(Failure::with_our_code)?;
    Ok(Caller::Pod {
        namespace: proxy.namespace,
        name: proxy.pod,
    })
}

fn coverage_of_pods(snapshot: &Snapshot) -> Coverage {
    snapshot.coverage(&Need::Objects(Kind::Pod))
}
