//! istioctl's bug-report: its files have the names of the URLs they were read from.

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, DocId, Meta, Need};

use crate::CollectError;
use crate::archive::Tree;
use crate::layout::SourceParts;
use crate::names::{self, parts};
use crate::sniff::{Content, Guess, is_json, sniff};
use crate::source_file::SourceFile;
use crate::store::Store;

/// What `kubectl get all,jobs,ingresses,endpointslices,configmaps,networkpolicies` lists, as
/// `cluster/k8s-resources`.
const RESOURCES: [Kind; 13] = [
    Kind::ConfigMap,
    Kind::CronJob,
    Kind::DaemonSet,
    Kind::Deployment,
    Kind::EndpointSlice,
    Kind::Ingress,
    Kind::Job,
    Kind::NetworkPolicy,
    Kind::Pod,
    Kind::ReplicaSet,
    Kind::ReplicationController,
    Kind::Service,
    Kind::StatefulSet,
];

/// And in it, of kinds that nothing reads.
const OTHER_RESOURCES: &str = "horizontalpodautoscalers.autoscaling";

/// `cluster/k8s-cluster-resources`.
const CLUSTER_RESOURCES: [Kind; 5] = [
    Kind::CustomResourceDefinition,
    Kind::MutatingWebhook,
    Kind::Namespace,
    Kind::Node,
    Kind::ValidatingWebhook,
];

/// `cluster/crs` has every object of every custom kind, this one among them that nothing reads: of
/// a kind that is not in it there are none.
const OTHER_CUSTOM_RESOURCES: &str = "xbackendtrafficpolicies.gateway.networking.x-k8s.io";

/// Whether a file makes a bug-report of what it lies in.
pub(crate) fn is_part(path: &str) -> bool {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["proxies", _, _, file] => file.starts_with("config_dump") && !file.contains('.'),
        ["bug-report.log"]
        | ["cluster", "k8s-resources" | "k8s-cluster-resources" | "crs"]
        | ["istio", _, _, "discovery.log"]
        | ["istio", _, _, "debug", _] => true,
        _ => false,
    }
}

/// Names the files of a bug-report, whole or in part.
///
/// # Errors
/// When it is larger than allowed.
pub(crate) fn settle(
    tree: Tree,
    top: &str,
    store: &mut Store,
) -> Result<SourceParts, CollectError> {
    let mut settled = SourceParts {
        meta: Meta {
            form: "bug-report",
            ..Meta::default()
        },
        ..SourceParts::default()
    };
    let has = |file: &str| {
        tree.files
            .iter()
            .any(|found| &found.path[top.len()..] == file && is_objects(found))
    };
    let (resources, cluster_resources) = (
        has("cluster/k8s-resources"),
        has("cluster/k8s-cluster-resources"),
    );
    let custom = Kind::ALL.iter().filter(|kind| kind.has_schema());
    let custom: Vec<Kind> = custom.copied().collect();
    for (is_there, kinds, other) in [
        (resources, &RESOURCES[..], Some(OTHER_RESOURCES)),
        (cluster_resources, &CLUSTER_RESOURCES[..], None),
        (
            has("cluster/crs"),
            &custom[..],
            Some(OTHER_CUSTOM_RESOURCES),
        ),
    ] {
        if is_there {
            let other = other.map(|name| Need::OtherObjects(name.to_owned()));
            let needs = kinds.iter().map(|kind| Need::Objects(*kind)).chain(other);
            settled
                .notes
                .extend(needs.map(|need| (need, Coverage::Complete)));
        }
    }
    if !resources && has("cluster/pods") {
        let why = "the bug-report has only the pods of Istio's namespace".to_owned();
        settled
            .notes
            .push((Need::Objects(Kind::Pod), Coverage::Partial(why)));
    }
    for found in tree.files {
        let path = &found.path[top.len()..];
        // These two repeat what the two large lists have.
        let is_copy =
            (path == "cluster/pods" && resources) || (path == "cluster/nodes" && cluster_resources);
        if let Some(id) = id(path, &found).filter(|_| !is_copy) {
            settled.take(id, found, store)?;
        }
    }
    Ok(settled)
}

fn id(path: &str, found: &SourceFile) -> Option<DocId> {
    let id = match path.split('/').collect::<Vec<_>>().as_slice() {
        ["proxies", namespace, pod, "istio-proxy.log"] => {
            format!("logs/{namespace}/{pod}/istio-proxy.log")
        }
        // A ztunnel is asked as proxies are, and tells something else.
        ["proxies", namespace, pod, "config_dump"] if is_ztunnel(found) => {
            format!("ztunnels/{namespace}/{pod}/config_dump.json")
        }
        ["proxies", namespace, pod, rest @ ..] => {
            format!("proxies/{namespace}/{pod}/{}", of_proxy(rest, found)?)
        }
        ["cni", pod, log] if names::ends_in(log, &["log"]) => {
            format!("logs/istio-system/{pod}/install-cni.log")
        }
        ["istio", _, pod, "debug", name] => format!("istiod/{pod}/debug/{name}.json"),
        ["istio", _, pod, "metrics"] => format!("istiod/{pod}/metrics.txt"),
        ["istio" | "operator", namespace, pod, log] if names::ends_in(log, &["log"]) => {
            format!("logs/{namespace}/{pod}/{log}")
        }
        ["cluster", name] if is_objects(found) => format!("k8s/{name}.yaml"),
        _ => format!("other/{path}"),
    };
    Some(DocId::new(parts(&id)))
}

/// The bundle's name for what was read from this URL of a proxy.
fn of_proxy(url: &[&str], found: &SourceFile) -> Option<String> {
    let is_json = found.head().is_ok_and(|(head, _)| is_json(&head));
    Some(match url {
        [dump] if dump.starts_with("config_dump") => "config_dump.json".to_owned(),
        ["stats", "prometheus"] => "stats.prom".to_owned(),
        ["cores", ..] => return None,
        [name] if names::ends_in(name, &["json", "txt", "log"]) => (*name).to_owned(),
        rest => format!(
            "{}.{}",
            rest.join("-"),
            if is_json { "json" } else { "txt" }
        ),
    })
}

fn is_ztunnel(found: &SourceFile) -> bool {
    found
        .head()
        .is_ok_and(|(head, whole)| sniff(&head, whole) == Guess::Known(Content::Ztunnel))
}

/// Some of the lists are tables for people.
fn is_objects(found: &SourceFile) -> bool {
    found
        .head()
        .is_ok_and(|(head, whole)| sniff(&head, whole) == Guess::Known(Content::Objects))
}
