//! What a rule of several clusters may look at.

use super::{Sink, Symptom};
use crate::finding::{Evidence, Finding, Severity, Subject};
use meshladder_capture::Kind;
use meshladder_mesh::views::Service;
use meshladder_mesh::{Cluster, Clusters, Object};
use meshladder_sim::trace::{EndKind, Trace};
use meshladder_sim::walk::{Call, Caller};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Crossing<'a> {
    /// The clusters.
    pub clusters: &'a Clusters,
    /// The request that was asked about.
    pub request: Option<CrossedRequest<'a>>,
}

/// A request, seen from all clusters.
#[derive(Clone, Copy, Debug)]
pub struct CrossedRequest<'a> {
    /// The caller's cluster.
    pub home: &'a Cluster,
    /// The question.
    pub call: &'a Call,
    /// Its walk, through whatever clusters it comes.
    pub trace: &'a Trace,
    /// What was seen.
    pub seen: Option<&'a Symptom>,
}

impl Crossing<'_> {
    /// How bad it is when the clusters are not joined as they should be: a request that fails
    /// suffers from it, one that succeeds does not, and without one somebody may.
    pub fn severity(&self) -> Severity {
        match &self.request {
            None => Severity::Warning,
            Some(request) if request.fails() => Severity::Error,
            Some(_) => Severity::Info,
        }
    }

    /// A finding about an object of a cluster; its proof already says which cluster's it is.
    pub fn find<'s>(
        &self,
        out: &'s mut Sink,
        cluster: &Cluster,
        subject: impl Into<Subject>,
        message: impl Into<String>,
        proof: Evidence,
    ) -> &'s mut Finding {
        let finding = out.find(subject, message, proof);
        finding.cluster = Some(cluster.name.clone());
        finding.severity(self.severity())
    }
}

impl<'a> CrossedRequest<'a> {
    /// Whether it failed, or would.
    pub fn fails(&self) -> bool {
        match self.seen {
            Some(seen) => !seen.is_success(),
            None => {
                self.trace.branches.iter().any(|branch| {
                    !matches!(branch.end.kind, EndKind::Forwarded | EndKind::Undecided)
                })
            }
        }
    }

    /// The pod that calls.
    pub fn client(&self) -> Option<&'a Object> {
        let Caller::Pod { namespace, name } = &self.call.from else {
            return None;
        };
        self.home.mesh.objects.get(Kind::Pod, namespace, name)
    }

    /// The Service it calls, as a cluster has it.
    pub fn service_in(&self, cluster: &'a Cluster) -> Option<Service<'a>> {
        let namespace = if let Caller::Pod { namespace, .. } = &self.call.from {
            namespace
        } else {
            "default"
        };
        let host = self.call.to.host.trim_end_matches('.').to_ascii_lowercase();
        let facts = cluster.mesh.service_named(&host, namespace)?;
        Service::get(&cluster.mesh.objects, &facts.namespace, &facts.name)
    }

    /// Whether no pod of the caller's own cluster serves it, or its proxy knows of nobody who does.
    pub fn is_starved(&self) -> bool {
        let has_pods = self
            .service_in(self.home)
            .is_some_and(|service| !self.home.mesh.running_pods_of(service).is_empty());
        let ends = &self.trace.branches;
        !has_pods
            || ends
                .iter()
                .any(|branch| branch.end.kind == EndKind::NoEndpoints)
    }

    /// Whether it may go to a cluster: its proxy has an endpoint there, or should have one and has
    /// none at all.
    pub fn may_reach(&self, cluster: &Cluster) -> bool {
        let is_there = |address| {
            cluster.mesh.pod_at(address).is_some()
                || cluster.mesh.service_at_external(address).is_some()
        };
        let mut endpoints = self
            .trace
            .sender()
            .into_iter()
            .flat_map(|hop| &hop.endpoints)
            .peekable();
        if endpoints.peek().is_none() {
            return self.is_starved();
        }
        endpoints.any(|endpoint| {
            let id = endpoint.elsewhere.as_deref();
            id == Some(&cluster.id) || endpoint.socket.is_some_and(|(ip, _)| is_there(ip))
        })
    }
}
