//! See the page beside this file.

use super::called_service::{self, CalledService};
use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::access_log::{self, AccessLine};
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::services::{ServicePort, number, ports, target_port};
use meshladder_text::shell;
use meshladder_text::tree::Node;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0706",
    name: "target-port-not-open",
    aka: &["KIA0701"],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every Service's targetPort is a port that its pods listen on",
    needs: Inputs::of(&[Kind::Service, Kind::Pod]),
    uses: Inputs::NONE.and(&[Part::Logs]),
    explains: &["ML07", "ML10"],
    docs: include_str!("target_port_not_open.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for called in called_service::services(facts, case) {
        let pods = called.pods(facts.mesh, None);
        let wanted =
            |port: &ServicePort<'_>| called.port.is_none_or(|number| number == port.number);
        for (index, port) in ports(called.service)
            .enumerate()
            .filter(|(_, port)| wanted(port))
        {
            out.examined();
            let at = Lead {
                called: &called,
                index,
                port,
                pods: &pods,
            };
            match port.target_port.filter(|target| number(target).is_none()) {
                Some(name) => at.named(name, case, out),
                None => at.numbered(facts, case, out),
            }
        }
    }
}

/// One port of a Service, and the pods behind it.
struct Lead<'m> {
    called: &'m CalledService<'m>,
    index: usize,
    port: ServicePort<'m>,
    pods: &'m [&'m Object],
}

impl Lead<'_> {
    /// A name that no container gives to a port leads nowhere.
    fn named(&self, name: &Node, case: Option<&Case<'_>>, out: &mut Sink) {
        if self.pods.is_empty()
            || self
                .pods
                .iter()
                .any(|pod| target_port(&self.port, pod).is_some())
        {
            return;
        }
        let id = &self.called.service.id;
        let message = format!(
            "{id} leads port {} to a port named {}, which no container of its {} has",
            self.port.number,
            name.str().unwrap_or_default(),
            called_service::count(self.pods.len(), "pod")
        );
        let finding = out.find(
            id.clone(),
            message,
            Evidence::of(self.called.service, name, "the name of the port"),
        );
        called_service::hit(finding, self.called.service, self.pods, case);
        self.repair(finding);
    }

    /// Containers need not declare their ports, so a number that none declares is a lead; a refused
    /// connection proves it.
    fn numbered(&self, facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
        let Some(target) = self
            .pods
            .first()
            .and_then(|pod| target_port(&self.port, pod))
        else {
            return;
        };
        let declared = self.declared();
        if declared.is_empty() || declared.iter().any(|(_, number)| *number == target) {
            return;
        }
        let refused = self.pods.iter().find_map(|pod| refused(facts, pod, target));
        let suffers = case.is_some_and(|case| case.saw(503));
        let (id, list) = (&self.called.service.id, words(&declared));
        let message = match &refused {
            Some(_) => format!(
                "{id} leads port {} to {target}, where its pods refuse connections; they declare {list}",
                self.port.number
            ),
            None => format!(
                "{id} leads port {} to {target}, which its pods do not declare; they declare {list}",
                self.port.number
            ),
        };
        let node = self.port.target_port.unwrap_or(self.port.node);
        let finding = out.find(
            id.clone(),
            message,
            Evidence::of(self.called.service, node, "where the Service leads"),
        );
        called_service::hit(finding, self.called.service, self.pods, case);
        match refused {
            Some(line) => {
                let shows = format!("nobody listens on {target}: {}", line.failure);
                finding.see(Evidence::line(&DocId::new(line.doc), line.number, shows));
            }
            None if suffers => _ = finding.confidence(Confidence::Likely),
            None => {
                _ = finding
                    .severity(Severity::Info)
                    .confidence(Confidence::Possible);
            }
        }
        self.repair(finding);
    }

    /// The ports that the application's containers declare.
    fn declared(&self) -> Vec<(&str, u16)> {
        let Some(pod) = self.pods.first() else {
            return Vec::new();
        };
        let containers = pod
            .spec_list("containers")
            .iter()
            .filter(|c| c.str_at("name") != Some("istio-proxy"));
        let ports =
            containers.flat_map(|container| container.get("ports").map_or(&[][..], Node::items));
        ports
            .filter_map(|port| {
                Some((
                    port.str_at("name").unwrap_or_default(),
                    number(port.get("containerPort")?)?,
                ))
            })
            .collect()
    }

    fn repair(&self, finding: &mut crate::finding::Finding) {
        let declared = self.declared();
        let best = declared
            .iter()
            .find(|(_, number)| *number == self.port.number);
        let best = best.or_else(|| {
            declared
                .iter()
                .find(|(name, _)| !name.is_empty() && *name == self.port.name)
        });
        let only = || {
            if let [only] = declared.as_slice() {
                Some(only)
            } else {
                None
            }
        };
        if let Some((_, number)) = best.or_else(only) {
            let path = format!("/spec/ports/{}/targetPort", self.index);
            finding.fix(Fix::patch(
                &self.called.service.id,
                [Op::add(path, *number)],
            ));
        }
        if let Some(pod) = self.pods.first() {
            let (namespace, name) = (&pod.id.namespace, &pod.id.name);
            finding.fix(Fix::look(shell::command(
                "kubectl get pod {} -n {} -o jsonpath='{.spec.containers[*].ports}'",
                &[name, namespace],
            )));
        }
    }
}

fn words(declared: &[(&str, u16)]) -> String {
    declared
        .iter()
        .map(|(_, number)| number.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The last time that a pod's proxy could not connect to its application on that port.
fn refused(facts: &Facts<'_>, pod: &Object, port: u16) -> Option<AccessLine> {
    let log = called_service::proxy_log(facts, pod)?;
    let cluster = format!("inbound|{port}||");
    let is_refusal = |line: &AccessLine| {
        let why = format!("{} {}", line.failure, line.details)
            .replace('_', " ")
            .to_ascii_lowercase();
        line.cluster == cluster
            && (why.contains("connection refused") || why.contains("connect error: 111"))
    };
    access_log::lines(&log).filter(is_refusal).last()
}
