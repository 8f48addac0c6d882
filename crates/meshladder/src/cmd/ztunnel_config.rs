//! `ztunnel-config`: istioctl's listings of one ztunnel.

use std::fmt::Write as _;
use std::io::Write;

use meshladder_capture::snapshot::{DocId, Document, ProxyRef, Shape, Snapshot};
use meshladder_capture::ztunnel::dump::ZtunnelDump;
use meshladder_mesh::Mesh;
use meshladder_mesh::ambient::NodeAgent;
use meshladder_mesh::views::Pod;
use meshladder_output::json::{self, Style};
use meshladder_output::tables::Table;
use meshladder_output::tables::ztunnel::{self, Direction, WorkloadFilter};
use meshladder_output::yaml;
use meshladder_text::json::Raw;
use meshladder_text::tree::Node;
use serde::Serialize;

use super::{live, source};
use crate::args::Global;
use crate::args::ztunnel_config::{
    Way, ZtunnelCommon, ZtunnelConfig, ZtunnelListing, ZtunnelOutput,
};
use crate::exit::{Failure, ISTIOCTL_ERROR, Outcome, UNREADABLE};
use crate::out;

/// A ztunnel's dump, what it is part of, and the pod that was meant.
struct Chosen {
    snapshot: Snapshot,
    document: Document,
    /// The pod that was named, when it is not the ztunnel itself.
    pod: Option<(String, String)>,
}

pub(super) fn run(global: &Global, config: &ZtunnelConfig) -> Outcome {
    match &config.listing {
        ZtunnelListing::Log { target } => log(global, target.as_deref()),
        ZtunnelListing::All {
            common,
            with_headers,
        } => all(global, common, *with_headers),
        ZtunnelListing::Workload {
            common,
            address,
            workload_namespace,
            workload_node,
        } => listing(global, common, false, |dump, chosen| {
            let filter = WorkloadFilter {
                address: address.clone(),
                namespace: workload_namespace.clone(),
                node: workload_node.clone(),
                pod: chosen.pod.clone(),
            };
            let found = ztunnel::workloads(dump, &filter);
            show(common.output, &ztunnel::workloads_json(&found), || {
                ztunnel::workload_table(dump, &found)
            })
        }),
        ZtunnelListing::Service {
            common,
            service_namespace,
        } => listing(global, common, false, |dump, _| {
            let found = ztunnel::services(dump, service_namespace.as_deref());
            show(common.output, &ztunnel::services_json(&found), || {
                ztunnel::service_table(dump, &found)
            })
        }),
        ZtunnelListing::Policy {
            common,
            policy_namespace,
        } => listing(global, common, false, |dump, _| {
            let found = ztunnel::policies(dump, policy_namespace.as_deref());
            show(common.output, &ztunnel::policies_json(&found), || {
                ztunnel::policy_table(&found)
            })
        }),
        ZtunnelListing::Certificate { common } => listing(global, common, true, |dump, chosen| {
            let found = &dump.certificates;
            show(common.output, &ztunnel::certificates_json(found), || {
                ztunnel::certificate_table(found, chosen.snapshot.taken_at())
            })
        }),
        ZtunnelListing::Connections {
            common,
            direction,
            raw,
            workload_namespace,
        } => listing(global, common, true, |dump, chosen| {
            let mut found = ztunnel::states(dump, workload_namespace.as_deref());
            if let Some((namespace, name)) = &chosen.pod {
                found.retain(|state| state.namespace == *namespace && state.name == *name);
            }
            let direction = direction.map(|way| match way {
                Way::Inbound => Direction::Inbound,
                Way::Outbound => Direction::Outbound,
            });
            show(common.output, &ztunnel::connections_json(&found), || {
                ztunnel::connections(dump, &found, direction, *raw)
            })
        }),
    }
}

fn listing(
    global: &Global,
    common: &ZtunnelCommon,
    is_of_node: bool,
    print: impl FnOnce(&ZtunnelDump<'_>, &Chosen) -> String,
) -> Outcome {
    let chosen = choose(global, common, is_of_node)?;
    let dump = read(&chosen.document)?;
    let text = print(&dump, &chosen);
    finish(&text, &chosen.document, &dump)
}

fn finish(text: &str, document: &Document, dump: &ZtunnelDump<'_>) -> Outcome {
    let mut out = out::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    // What came before a cut is listed; that it is not all is told.
    match &dump.fault {
        Some(fault) => Err(Failure::new(
            UNREADABLE,
            document.problem(fault).to_string(),
        )),
        None => Ok(0),
    }
}

fn read(document: &Document) -> Result<ZtunnelDump<'_>, Failure> {
    ZtunnelDump::read(&document.text)
        .map_err(|fault| Failure::new(UNREADABLE, document.problem(&fault).to_string()))
}

fn show<'a>(
    output: ZtunnelOutput,
    answer: &impl Serialize,
    table: impl FnOnce() -> Table<'a>,
) -> String {
    match output {
        ZtunnelOutput::Short => table().to_string(),
        ZtunnelOutput::Json => json::to_pretty(answer, 4) + "\n",
        ZtunnelOutput::Yaml => yaml::of(answer) + "\n",
    }
}

/// The five tables with a blank line before each, or the dump as it is.
fn all(global: &Global, common: &ZtunnelCommon, with_headers: bool) -> Outcome {
    let chosen = choose(global, common, false)?;
    let dump = read(&chosen.document)?;
    let text = match common.output {
        ZtunnelOutput::Short => tables(&dump, &chosen, with_headers),
        ZtunnelOutput::Json | ZtunnelOutput::Yaml => whole(&chosen.document, common.output)?,
    };
    finish(&text, &chosen.document, &dump)
}

fn tables(dump: &ZtunnelDump<'_>, chosen: &Chosen, with_headers: bool) -> String {
    let workloads = ztunnel::workloads(dump, &WorkloadFilter::default());
    let services = ztunnel::services(dump, None);
    let policies = ztunnel::policies(dump, None);
    let states = ztunnel::states(dump, None);
    let now = chosen.snapshot.taken_at();
    let parts = [
        ("WORKLOAD", ztunnel::workload_table(dump, &workloads)),
        ("SERVICE", ztunnel::service_table(dump, &services)),
        ("POLICY", ztunnel::policy_table(&policies)),
        (
            "SECRET",
            ztunnel::certificate_table(&dump.certificates, now),
        ),
        (
            "CONNECTIONS",
            ztunnel::connections(dump, &states, None, false),
        ),
    ];
    let mut text = String::new();
    for (title, table) in parts {
        if with_headers {
            let _ = write!(text, "------ {title} INFO ------");
        }
        let _ = write!(text, "\n{table}");
    }
    text
}

fn whole(document: &Document, output: ZtunnelOutput) -> Result<String, Failure> {
    let problem = |fault| Failure::new(UNREADABLE, document.problem(&fault).to_string());
    let raw = Raw::of(&document.text).map_err(problem)?;
    if output == ZtunnelOutput::Yaml {
        return Ok(yaml::text(&Node::from_json(raw).map_err(problem)?) + "\n");
    }
    let mut text = String::new();
    let style = Style {
        indent: 2,
        ..Style::PRETTY
    };
    json::write(&mut text, raw, style)
        .map_err(|_| Failure::new(UNREADABLE, "the dump cannot be written"))?;
    text.push('\n');
    Ok(text)
}

/// The ztunnel that is meant; a listing of what only a node has wants it named when there are
/// several.
fn choose(global: &Global, common: &ZtunnelCommon, is_of_node: bool) -> Result<Chosen, Failure> {
    let snapshot = match &common.file {
        Some(file) => source::read(&[file], global)?,
        None if global.source.is_empty() => live::ztunnels(global, common.proxy_admin_port)?,
        None => source::snapshot(global)?,
    };
    let mesh = Mesh::build(&snapshot);
    let all: Vec<(ProxyRef, DocId)> = snapshot
        .proxies_with(Shape::ZtunnelDump)
        .map(|(proxy, id)| (proxy, id.clone()))
        .collect();
    let (id, pod) = match (&common.target, &common.node) {
        (Some(target), _) => named(global, &mesh, &all, target)?,
        (None, Some(node)) => (on_node(&snapshot, &mesh, &all, node)?, None),
        (None, None) => {
            if all.len() != 1 && is_of_node {
                let what = "ztunnel pod name or --node must be set";
                return Err(Failure::new(ISTIOCTL_ERROR, what));
            }
            let (_, id) = all.first().ok_or_else(none_here)?;
            (id.clone(), None)
        }
    };
    let document = snapshot
        .open(&id)
        .map_err(|problem| Failure::new(UNREADABLE, problem.to_string()))?;
    Ok(Chosen {
        snapshot,
        document,
        pod,
    })
}

fn none_here() -> Failure {
    Failure::new(UNREADABLE, "the source has no config dump of a ztunnel").hint(
        "kubectl port-forward -n istio-system ZTUNNEL 15000, then curl 127.0.0.1:15000/config_dump",
    )
}

/// A ztunnel by name, or that of the node of another pod, which the listing is then about.
fn named(
    global: &Global,
    mesh: &Mesh,
    all: &[(ProxyRef, DocId)],
    target: &str,
) -> Result<(DocId, Option<(String, String)>), Failure> {
    let text = target.strip_prefix("pod/").unwrap_or(target);
    let (name, namespace) = match text.rsplit_once('.') {
        Some((name, namespace)) => (name, Some(namespace)),
        None => (text, global.namespace.as_deref()),
    };
    let is_meant = |own_namespace: &str, own: &str| {
        own == name && namespace.is_none_or(|namespace| namespace == own_namespace)
    };
    if let Some((_, id)) = all
        .iter()
        .find(|(proxy, _)| is_meant(&proxy.namespace, &proxy.pod))
    {
        return Ok((id.clone(), None));
    }
    let pod = Pod::all(&mesh.objects).find(|pod| is_meant(pod.namespace(), pod.name()));
    let node = pod.and_then(Pod::node_name);
    let Some((pod, node)) = pod.zip(node) else {
        let what = format!("there is no pod {target} that runs on a node");
        return Err(Failure::new(ISTIOCTL_ERROR, what));
    };
    let id = of_node(mesh, all, node.value)
        .ok_or_else(|| Failure::new(ISTIOCTL_ERROR, format!("no ztunnel was read on {node}")))?;
    Ok((
        id,
        Some((pod.namespace().to_owned(), pod.name().to_owned())),
    ))
}

fn on_node(
    snapshot: &Snapshot,
    mesh: &Mesh,
    all: &[(ProxyRef, DocId)],
    node: &str,
) -> Result<DocId, Failure> {
    let says_so = || {
        let mut ids = all.iter().map(|(_, id)| id);
        ids.find(|id| {
            snapshot.open(id).is_ok_and(|document| {
                ZtunnelDump::read(&document.text)
                    .is_ok_and(|dump| dump.node.eq_ignore_ascii_case(node))
            })
        })
    };
    of_node(mesh, all, node)
        .or_else(|| says_so().cloned())
        .ok_or_else(|| {
            Failure::new(
                ISTIOCTL_ERROR,
                format!("no ztunnel was read on node {node}"),
            )
        })
}

fn of_node(mesh: &Mesh, all: &[(ProxyRef, DocId)], node: &str) -> Option<DocId> {
    let ztunnel = mesh.node_agent(NodeAgent::Ztunnel, node)?;
    let (_, id) = all
        .iter()
        .find(|(proxy, _)| proxy.is_of(ztunnel.namespace(), ztunnel.name()))?;
    Some(id.clone())
}

/// The levels of one ztunnel, or of all.
fn log(global: &Global, target: Option<&str>) -> Outcome {
    let snapshot = if global.source.is_empty() {
        live::ztunnels(global, 15000)?
    } else {
        source::snapshot(global)?
    };
    let wanted = target.map(|text| text.strip_prefix("pod/").unwrap_or(text));
    let mut out = out::stdout();
    let mut is_any = false;
    for id in snapshot
        .ids()
        .filter(|id| id.as_str().ends_with("/logging.txt"))
    {
        let Some(proxy) = id.ztunnel() else { continue };
        let is_meant =
            wanted.is_none_or(|wanted| wanted == proxy.to_string() || wanted == proxy.pod);
        if let Some(document) = is_meant.then(|| snapshot.open(id).ok()).flatten() {
            is_any = true;
            write!(
                out,
                "{proxy}:\n{}\n\n",
                document.text.trim_end_matches('\n')
            )?;
        }
    }
    out.flush()?;
    if is_any {
        return Ok(0);
    }
    Err(Failure::new(
        UNREADABLE,
        "the source has no log levels of that ztunnel",
    ))
}
