//! `Pod`, its containers and what is reported of them.

use std::cmp::Reverse;
use std::net::IpAddr;

use meshladder_text::tree::{Node, Value};

use super::{Leaf, PodTemplate, number, text, texts};
use crate::Mesh;

/// The container that the proxy runs in.
const PROXY: &str = "istio-proxy";

/// What the CNI plugin writes on a pod whose traffic goes through ztunnel.
const REDIRECTION: &str = "ambient.istio.io/redirection";

object_view! {
    /// A pod.
    Pod
}

part_view! {
    /// A container of a pod or of a pod's template.
    Container
}

part_view! {
    /// What is reported of a container that was started.
    ContainerStatus
}

/// A port that a container declares.
#[derive(Clone, Copy, Debug)]
pub struct ContainerPort<'m> {
    /// The port, as written.
    pub node: &'m Node,
    /// `containerPort`
    pub number: u16,
    /// Its name; empty without one.
    pub name: &'m str,
    /// `TCP` unless it says otherwise.
    pub transport: &'m str,
}

/// See [`preference`].
pub type Preference = (bool, u8, bool, String, Reverse<u64>, String);

impl<'m> Pod<'m> {
    /// The pod as what it was made from.
    pub fn template(self) -> PodTemplate<'m> {
        PodTemplate::of_pod(self.object)
    }

    /// Its containers, the lasting ones first.
    pub fn containers(self) -> impl Iterator<Item = Container<'m>> {
        containers(&self.object.node)
    }

    /// The container of the proxy: a native sidecar is an init container.
    pub fn proxy(self) -> Option<Container<'m>> {
        self.containers().find(Container::is_proxy)
    }

    /// Whether a proxy runs in it.
    pub fn has_proxy(self) -> bool {
        self.proxy().is_some()
    }

    /// Whether ztunnel, not a sidecar, takes its traffic.
    pub fn is_ambient(self) -> bool {
        self.object.annotation(REDIRECTION) == Some("enabled")
    }

    /// Whether it has a proxy or is ambient, or, while it does not run yet, will be.
    pub fn is_in_mesh(self, mesh: &Mesh) -> bool {
        self.template().is_in_mesh(mesh)
    }

    /// Whether its proxy is that of a gateway.
    pub fn is_router(self) -> bool {
        let mut proxies = self.containers().filter(Container::is_proxy);
        proxies.any(|proxy| proxy.args().any(|arg| *arg == "router"))
    }

    /// `Running`, `Pending`, …
    pub fn phase(self) -> &'m str {
        phase(&self.object.node)
    }

    /// Whether it is running.
    pub fn is_running(self) -> bool {
        self.phase() == "Running"
    }

    /// Whether its `Ready` condition holds.
    pub fn is_ready(self) -> bool {
        self.condition("Ready")
            .is_some_and(|condition| condition.str_at("status") == Some("True"))
    }

    /// Whether it is being deleted.
    pub fn is_terminating(self) -> bool {
        self.object
            .node
            .at(["metadata", "deletionTimestamp"])
            .is_some()
    }

    /// The condition of a type.
    pub fn condition(self, kind: &str) -> Option<&'m Node> {
        condition(&self.object.node, kind)
    }

    /// All its addresses, the main one first.
    pub fn ips(self) -> Vec<IpAddr> {
        ips(&self.object.node)
    }

    /// The service account that it runs as; `default` unless it names one.
    pub fn service_account(self) -> &'m str {
        self.template().service_account()
    }

    /// The node that it runs on.
    pub fn node_name(self) -> Option<Leaf<'m>> {
        text(self.object.spec()?, "nodeName").filter(|name| !name.is_empty())
    }

    /// What is reported of its containers, init containers too.
    pub fn statuses(self) -> impl Iterator<Item = ContainerStatus<'m>> {
        let status = self.object.node.get("status");
        ["containerStatuses", "initContainerStatuses"]
            .into_iter()
            .flat_map(move |key| status.map_or(&[][..], |status| status.items_at(key)))
            .map(ContainerStatus::of)
    }
}

impl<'m> Container<'m> {
    /// Its name.
    pub fn name(self) -> &'m str {
        self.node.str_at("name").unwrap_or_default()
    }

    /// Whether the proxy runs in it.
    pub fn is_proxy(&self) -> bool {
        self.name() == PROXY
    }

    /// Its image.
    pub fn image(self) -> Option<Leaf<'m>> {
        text(self.node, "image")
    }

    /// The arguments it is started with.
    pub fn args(self) -> impl Iterator<Item = Leaf<'m>> {
        texts(self.node.items_at("args"))
    }

    /// The ports that it declares.
    pub fn ports(self) -> impl Iterator<Item = ContainerPort<'m>> {
        let ports = self.node.items_at("ports").iter();
        ports.filter_map(|node| {
            Some(ContainerPort {
                node,
                number: number(node, "containerPort")?.value,
                name: node.str_at("name").unwrap_or_default(),
                transport: node.str_at("protocol").unwrap_or("TCP"),
            })
        })
    }

    /// `securityContext.runAsUser`
    pub fn run_as_user(self) -> Option<Leaf<'m, i64>> {
        number(self.node.get("securityContext")?, "runAsUser")
    }
}

impl<'m> ContainerStatus<'m> {
    /// The container's name.
    pub fn name(self) -> &'m str {
        self.node.str_at("name").unwrap_or_default()
    }

    /// How often it was started again.
    pub fn restarts(self) -> u64 {
        number(self.node, "restartCount").map_or(0, |count| count.value)
    }

    /// `state.waiting`, `state.running` or `state.terminated`
    pub fn state(self, which: &str) -> Option<&'m Node> {
        self.node.at(["state", which])
    }

    /// `lastState.terminated`
    pub fn last_end(self) -> Option<&'m Node> {
        self.node.at(["lastState", "terminated"])
    }
}

/// The containers of a pod or template, the lasting ones first.
pub(super) fn containers(pod: &Node) -> impl Iterator<Item = Container<'_>> {
    let spec = pod.get("spec");
    ["containers", "initContainers"]
        .into_iter()
        .flat_map(move |key| spec.map_or(&[][..], |spec| spec.items_at(key)))
        .map(Container::of)
}

/// `status.phase` of a pod.
pub fn phase(pod: &Node) -> &str {
    let phase = pod.at(["status", "phase"]);
    phase.and_then(Node::str).unwrap_or_default()
}

/// Whether a container of a pod or template is the proxy.
pub fn has_proxy(pod: &Node) -> bool {
    containers(pod).any(|container| container.is_proxy())
}

/// All addresses of a pod, the main one first.
pub fn ips(pod: &Node) -> Vec<IpAddr> {
    let main = pod.at(["status", "podIP"]).and_then(Node::str);
    let all = pod
        .at(["status", "podIPs"])
        .map_or(&[][..], Node::items)
        .iter()
        .filter_map(|ip| ip.str_at("ip"));
    let mut ips: Vec<IpAddr> = main
        .into_iter()
        .chain(all)
        .filter_map(|ip| ip.parse().ok())
        .collect();
    ips.dedup();
    ips
}

fn condition<'m>(pod: &'m Node, kind: &str) -> Option<&'m Node> {
    let conditions = pod.at(["status", "conditions"])?.items();
    conditions
        .iter()
        .find(|condition| condition.str_at("type") == Some(kind))
}

/// How good a choice a pod is for a question about its workload; the smallest is the best. The
/// order is that of `kubectl logs deploy/x`: scheduled, running, ready, ready for longest,
/// restarted most, oldest.
pub fn preference(pod: &Node) -> Preference {
    let scheduled = pod
        .at(["spec", "nodeName"])
        .and_then(Node::str)
        .is_some_and(|name| !name.is_empty());
    let phase = match phase(pod) {
        "Running" => 0,
        "Pending" => 2,
        _ => 1,
    };
    let ready =
        condition(pod, "Ready").filter(|condition| condition.str_at("status") == Some("True"));
    let since = ready
        .and_then(|ready| ready.str_at("lastTransitionTime"))
        .unwrap_or_default();
    let created = pod
        .at(["metadata", "creationTimestamp"])
        .and_then(Node::str)
        .unwrap_or_default();
    (
        !scheduled,
        phase,
        ready.is_none(),
        since.to_owned(),
        Reverse(restarts(pod)),
        created.to_owned(),
    )
}

fn restarts(pod: &Node) -> u64 {
    let statuses = pod
        .at(["status", "containerStatuses"])
        .map_or(&[][..], Node::items);
    let count = |status: &Node| match &status.get("restartCount")?.value {
        Value::Number(text) => text.parse().ok(),
        _ => None,
    };
    statuses.iter().filter_map(count).max().unwrap_or(0)
}
