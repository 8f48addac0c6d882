//! The objects that authorization depends on, each with the document it stands in.

use std::collections::BTreeMap;

use crate::doc::json::Raw;
use crate::doc::tree::Node;
use crate::doc::yaml;
use crate::model::object::{self, Object};
use crate::model::selector::has_labels;
use crate::sim::authz::{self, Mesh as Settings};
use crate::snapshot::{Coverage, DocId, Meta, Need, Shape, Snapshot};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// `AuthorizationPolicy`, `RequestAuthentication`, `PeerAuthentication`.
    pub(super) policies: Vec<Kept>,
    pub(super) services: Vec<Kept>,
    /// `EnvoyFilter` and `WasmPlugin`: what puts filters of its own into a proxy.
    patches: Vec<Kept>,
    /// What makes pods: Deployments and their like.
    pub(super) workloads: Vec<Kept>,
    /// The named ports of each pod, by namespace and name.
    pub(super) ports: BTreeMap<(String, String), Vec<(String, u16)>>,
    pub(super) settings: Settings,
    /// `pathNormalization.normalization` of the mesh.
    pub(super) normalization: String,
}

/// An object, and where it stands.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) doc: DocId,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) node: Node,
}

impl Objects {
    pub(super) fn gather(snapshot: &Snapshot) -> Self {
        let mut objects = Self::default();
        for id in snapshot.ids() {
            match id.shape() {
                Shape::Objects => {
                    // What cannot be read was told when the Snapshot was made.
                    let Ok(doc) = snapshot.open(id) else { continue };
                    object::each_in(&doc, &mut |object| objects.add(id, object));
                }
                // What istiod itself works with counts more than the ConfigMap, which may be younger.
                Shape::IstiodDebug if id.as_str().ends_with("/debug/mesh.json") => {
                    let Ok(doc) = snapshot.open(id) else { continue };
                    if let Ok(config) = Raw::of(&doc.text).and_then(Node::from_json) {
                        objects.configure(&config);
                    }
                }
                _ => {}
            }
        }
        objects
    }

    fn add(&mut self, id: &DocId, object: Object<'_>) {
        let kept = || Kept {
            doc: id.clone(),
            kind: object.kind().to_owned(),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            node: object.node.clone(),
        };
        match object.kind() {
            "AuthorizationPolicy" | "RequestAuthentication" | "PeerAuthentication"
                if object.group() == "security.istio.io" =>
            {
                self.policies.push(kept());
            }
            "EnvoyFilter" | "WasmPlugin" => self.patches.push(kept()),
            "Service" if object.group().is_empty() => self.services.push(kept()),
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => self.workloads.push(kept()),
            "Pod" => {
                let key = (object.namespace().to_owned(), object.name().to_owned());
                self.ports.insert(key, named_ports(object.node.get("spec")));
            }
            "ConfigMap" if object.name() == "istio" => {
                let mesh = object.node.at(["data", "mesh"]).and_then(Node::str).map(yaml::load);
                if let Some(config) = mesh.as_ref().and_then(|mesh| mesh.documents.first()) {
                    self.configure(config);
                }
            }
            _ => {}
        }
    }

    fn configure(&mut self, config: &Node) {
        self.settings = Settings::read(config);
        let normalization = config.at(["pathNormalization", "normalization"]).and_then(Node::str);
        normalization.unwrap_or_default().clone_into(&mut self.normalization);
    }

    /// What the evaluator takes.
    pub(super) fn policies(&self) -> authz::Objects<'_> {
        let of = |kind: &str| self.policies.iter().filter(|p| p.kind == kind).map(|p| &p.node).collect();
        authz::Objects {
            authorization_policies: of("AuthorizationPolicy"),
            request_authentications: of("RequestAuthentication"),
            peer_authentications: of("PeerAuthentication"),
        }
    }

    pub(super) fn find_policy(&self, kind: &str, namespace: &str, name: &str) -> Option<&Kept> {
        self.policies.iter().find(|p| p.kind == kind && p.namespace == namespace && p.name == name)
    }

    /// The kind of policies that could not be listed, and why: there may be more than we see.
    pub(super) fn missing(&self, snapshot: &Snapshot) -> Option<String> {
        KINDS.iter().find_map(|kind| {
            let need = Need::Objects(format!("{kind}.security.istio.io"));
            let mut lacking = None;
            for source in snapshot.sources() {
                match snapshot.coverage_in(source.0, &need) {
                    // What one source has, another need not have.
                    Coverage::Complete => return None,
                    _ if self.are_given_files(source) => return None,
                    Coverage::Denied(why) | Coverage::Partial(why) => lacking = Some(format!("all {need}: {why}")),
                    Coverage::NotAsked => {}
                }
            }
            Some(lacking.unwrap_or_else(|| format!("the {need}, which the source does not have")))
        })
    }

    /// A folder of YAML is what its owner says it is, once it has a policy at all.
    fn are_given_files(&self, (name, meta): (&str, Option<&Meta>)) -> bool {
        let of_source = |kept: &Kept| kept.doc.split().0 == name;
        meta.is_some_and(|meta| meta.form == "files") && self.policies.iter().any(of_source)
    }

    /// An object that may put a filter into the inbound chains of a workload, where it may decide before any policy.
    pub(super) fn find_patch(&self, namespace: &str, labels: &Node) -> Option<&Kept> {
        let is_near = |patch: &&Kept| patch.namespace == namespace || patch.namespace == *self.settings.root_namespace;
        let selects = |patch: &&Kept| {
            let spec = patch.node.get("spec");
            let wanted =
                spec.and_then(|s| s.at(["workloadSelector", "labels"]).or_else(|| s.at(["selector", "matchLabels"])));
            wanted.is_none_or(|wanted| has_labels(wanted, Some(labels)))
        };
        let mut near = self.patches.iter().filter(is_near).filter(selects);
        near.find(|patch| patch.kind == "WasmPlugin" || adds_filters(&patch.node))
    }

    /// What to bear in mind of policies that were given as files.
    pub(super) fn note(&self, snapshot: &Snapshot) -> Option<String> {
        let given = snapshot.sources().any(|source| self.are_given_files(source));
        given.then(|| "only the policies in the files given are known".to_owned())
    }
}

fn adds_filters(envoy_filter: &Node) -> bool {
    let patches = envoy_filter.at(["spec", "configPatches"]).map_or(&[][..], Node::items);
    patches.iter().any(|patch| {
        let context = patch.at(["match", "context"]).and_then(Node::str).unwrap_or("ANY");
        let operation = patch.at(["patch", "operation"]).and_then(Node::str).unwrap_or_default();
        let apply_to = patch.str_at("applyTo").unwrap_or_default();
        ["ANY", "SIDECAR_INBOUND"].contains(&context)
            && operation != "MERGE"
            && ["HTTP_FILTER", "NETWORK_FILTER", "FILTER_CHAIN", "LISTENER"].contains(&apply_to)
    })
}

const KINDS: [&str; 3] = ["authorizationpolicies", "requestauthentications", "peerauthentications"];

/// Name and number of the ports that a pod's containers declare.
pub(super) fn named_ports(spec: Option<&Node>) -> Vec<(String, u16)> {
    let containers = |key| spec.and_then(|spec| spec.get(key)).map_or(&[][..], Node::items);
    let all = containers("containers").iter().chain(containers("initContainers"));
    let ports = all.flat_map(|container| container.get("ports").map_or(&[][..], Node::items));
    ports
        .filter_map(|port| Some((port.str_at("name")?.to_owned(), super::port::number(port.get("containerPort")?)?)))
        .collect()
}
