//! See the page beside this file.

use std::collections::BTreeSet;

use super::joint;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{Cluster, Object, ObjectRef};
use meshladder_text::tree::Node;
use meshladder_text::x509::{self, Certificate};

pub(super) static RULE: Rule = Rule {
    code: "ML1209",
    name: "roots-differ",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "the clusters of a mesh trust a root in common",
    needs: Inputs::of(&[Kind::ConfigMap]),
    uses: Inputs::of(&[Kind::Secret, Kind::Service, Kind::Pod, Kind::Namespace])
        .and(&[Part::Istiod]),
    explains: &["ML07", "ML08", "ML10"],
    docs: include_str!("roots_differ.md"),
    check: Check::Clusters(check),
};

/// The ConfigMap in which istiod gives every namespace the root.
const ROOT: &str = "istio-ca-root-cert";
/// The Secret with the CA that was plugged in.
const CACERTS: &str = "cacerts";

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    let mut told: BTreeSet<(&str, &str)> = BTreeSet::new();
    for pair in joint::pairs(crossing) {
        let (from, to) = (pair.from, pair.to);
        let (Some(own), Some(other)) = (Roots::of(from), Roots::of(to)) else {
            continue;
        };
        out.examined();
        let (one, two) = (
            from.name.as_str().min(&to.name),
            from.name.as_str().max(&to.name),
        );
        if own.have_common(&other) || !told.insert((one, two)) {
            continue;
        }
        let message = format!(
            "{} and {} trust no root in common ({} and {}), so no TLS handshake between them succeeds",
            from.name,
            to.name,
            own.names(),
            other.names()
        );
        let namespace = &to.mesh.config.root_namespace;
        let subject = ObjectRef::of(Kind::Secret, namespace, CACERTS);
        let shows = format!("the root that {} trusts", to.name);
        let proof = joint::of(to, Evidence::of(other.map, other.node, shows));
        let shows = format!("the root that {} trusts", from.name);
        crossing
            .find(out, to, subject, message, proof)
            .see(joint::of(from, Evidence::of(own.map, own.node, shows)))
            .fix(Fix::advice(format!(
                "give istiod in both clusters a `{CACERTS}` Secret whose intermediates one root has signed, and restart the pods"
            )));
    }
}

/// The roots that a cluster trusts.
struct Roots<'m> {
    map: &'m Object,
    node: &'m Node,
    certificates: Vec<Certificate>,
}

impl<'m> Roots<'m> {
    fn of(cluster: &'m Cluster) -> Option<Self> {
        let (map, node) = joint::config_value(cluster, ROOT, "root-cert.pem")?;
        let certificates: Vec<_> = x509::from_pem(node.str()?.as_bytes())
            .into_iter()
            .filter_map(Result::ok)
            .collect();
        (!certificates.is_empty()).then_some(Self {
            map,
            node,
            certificates,
        })
    }

    /// A root that was renewed keeps its key.
    fn have_common(&self, other: &Self) -> bool {
        let own = &self.certificates;
        own.iter().any(|one| {
            let mut theirs = other.certificates.iter();
            theirs.any(|two| one.key_sha256 == two.key_sha256)
        })
    }

    fn names(&self) -> String {
        let names: Vec<_> = self
            .certificates
            .iter()
            .map(|one| one.subject.as_str())
            .collect();
        names.join(" and ")
    }
}
