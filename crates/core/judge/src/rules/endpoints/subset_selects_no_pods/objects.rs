//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::analyzed::known;
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::labels::LabelIndex;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Member, Node};

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Error,
    needs: Inputs::of(&[
        Kind::DestinationRule,
        Kind::Pod,
        Kind::Service,
        Kind::ServiceEntry,
    ]),
    uses: Inputs::of(&[Kind::Deployment, Kind::Node, Kind::WorkloadEntry]),
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let behind = Behind::new(facts.mesh);
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        if rule.spec_list("subsets").is_empty() {
            continue;
        }
        let host = rule
            .spec_at(["host"])
            .and_then(Node::str)
            .unwrap_or_default();
        let known = known(
            facts.mesh,
            rule,
            &facts.mesh.domain.fqdn(host, &rule.id.namespace),
        );
        for subset in rule.spec_list("subsets") {
            out.examined();
            let Some(labels) = subset
                .get("labels")
                .filter(|labels| !labels.members().is_empty())
            else {
                continue;
            };
            // Of a host that nobody has, any pod would do.
            let is_selected = if known.is_empty() {
                behind.has_pod(None, None, labels)
            } else {
                known.iter().any(|owner| behind.has(owner, labels))
            };
            if is_selected {
                continue;
            }
            let name = subset.str_at("name").unwrap_or_default();
            let message = format!(
                "subset {name} of {} selects {}, and no pod of {host} has these labels",
                rule.id,
                labels.to_json()
            );
            out.find(
                rule.id.clone(),
                message,
                Evidence::of(rule, labels, "what the subset selects"),
            )
            .fix(Fix::advice("give the subset labels that the pods have"));
        }
    }
}

/// What Services and ServiceEntries may have behind them, beside pods, by label.
struct Behind<'m> {
    mesh: &'m Mesh,
    deployments: LabelIndex,
    entries: LabelIndex,
}

impl<'m> Behind<'m> {
    fn new(mesh: &'m Mesh) -> Self {
        let members = |labels: Option<&'m Node>| labels.map_or(&[][..], Node::members);
        let all = |kind| mesh.objects.of_kind(kind).iter();
        Self {
            mesh,
            deployments: LabelIndex::of(
                all(Kind::Deployment).map(|deployment| members(made(deployment))),
            ),
            entries: LabelIndex::of(
                all(Kind::WorkloadEntry).map(|entry| members(entry.spec_at(["labels"]))),
            ),
        }
    }

    /// Whether something behind a Service or ServiceEntry has the labels.
    fn has(&self, owner: &Object, labels: &Node) -> bool {
        let namespace = owner.id.namespace.as_str();
        let selector = |path: &[&str]| {
            let node = path
                .iter()
                .try_fold(owner.spec()?, |node, key| node.get(key));
            node.filter(|selector| !selector.members().is_empty())
        };
        if owner.id.is(Kind::Service) {
            return match selector(&["selector"]) {
                Some(selector) => {
                    self.has_pod(Some(namespace), Some(selector), labels)
                        || self.is_made(namespace, selector, labels)
                }
                // Its endpoints are kept by hand, so any pod of the namespace may be one.
                None => self.has_pod(Some(namespace), None, labels),
            };
        }
        let endpoints = owner.spec_list("endpoints");
        // "NONE: Assume that incoming connections have already been resolved": there are no
        // endpoints to choose from.
        owner
            .spec_at(["resolution"])
            .and_then(Node::str)
            .is_none_or(|resolution| resolution == "NONE")
            || endpoints
                .iter()
                .any(|endpoint| has_labels(labels, endpoint.get("labels")))
            || selector(&["workloadSelector", "labels"]).is_some_and(|selector| {
                self.has_pod(Some(namespace), Some(selector), labels)
                    || self.has_entry(namespace, selector, labels)
            })
    }

    fn has_pod(&self, namespace: Option<&str>, selector: Option<&Node>, labels: &Node) -> bool {
        let of_node = |label: &Member| &*label.key == HOSTNAME || LOCALITY.contains(&&*label.key);
        // What a pod has from its node does not lead to it.
        let own = (!labels.members().iter().any(of_node)).then_some(labels);
        let wanted: Vec<&Node> = selector.into_iter().chain(own).collect();
        let mut near = self.mesh.pods_near(namespace, &wanted);
        near.any(|pod| {
            selector.is_none_or(|selector| has_labels(selector, pod.labels()))
                && has(self.mesh, pod, labels)
        })
    }

    fn has_entry(&self, namespace: &str, selector: &Node, labels: &Node) -> bool {
        let entries = self.mesh.objects.of_kind(Kind::WorkloadEntry);
        self.entries
            .near(entries, Some(namespace), &[selector, labels])
            .any(|entry| {
                let own = entry.spec_at(["labels"]);
                has_labels(selector, own) && has_labels(labels, own)
            })
    }

    /// Whether a Deployment, perhaps one without pods now, would make such a pod.
    fn is_made(&self, namespace: &str, selector: &Node, labels: &Node) -> bool {
        let deployments = self.mesh.objects.of_kind(Kind::Deployment);
        self.deployments
            .near(deployments, Some(namespace), &[selector, labels])
            .any(|deployment| {
                has_labels(selector, made(deployment)) && has_labels(labels, made(deployment))
            })
    }
}

fn made(deployment: &Object) -> Option<&Node> {
    deployment.spec_at(["template", "metadata", "labels"])
}

const HOSTNAME: &str = "kubernetes.io/hostname";

/// The labels of a node that its pods get. What follows one that is missing is not taken.
const LOCALITY: [&str; 3] = [
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.istio.io/subzone",
];

/// Pods count with where they run.
fn has(mesh: &Mesh, pod: &Object, labels: &Node) -> bool {
    let name = pod.spec_at(["nodeName"]).and_then(Node::str);
    let node = name.and_then(|name| mesh.objects.get(Kind::Node, "", name));
    labels.members().iter().all(|wanted| {
        let value = wanted.value.str();
        let of_node = || match &*wanted.key {
            HOSTNAME => name == value,
            key => {
                let parts = LOCALITY
                    .iter()
                    .map_while(|part| Some((*part, node?.label(part)?)));
                parts
                    .filter(|(part, _)| *part == key)
                    .any(|(_, label)| Some(label) == value)
            }
        };
        pod.label(&wanted.key) == value || of_node()
    })
}
