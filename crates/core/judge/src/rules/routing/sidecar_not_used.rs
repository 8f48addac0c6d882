//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::scope::is_router;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0629",
    name: "sidecar-not-used",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every Sidecar is the one that some proxy goes by",
    needs: Inputs::of(&[Kind::Sidecar, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("sidecar_not_used.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mesh = facts.mesh;
    let (proxies, used) = proxies(mesh);
    let namespaced = |sidecar: &&Object| *sidecar.id.namespace != *mesh.config.root_namespace;
    for sidecar in mesh
        .objects
        .of_kind(Kind::Sidecar)
        .iter()
        .filter(namespaced)
    {
        out.examined();
        // Without any proxy nobody has to go by it.
        let Some(proxies) = proxies.get(sidecar.id.namespace.as_str()) else {
            continue;
        };
        if used.contains(&sidecar.id) {
            continue;
        }
        let is_proxy = |pod: &&Object| proxies.contains_key(pod.id.name.as_str());
        let meant: Vec<&Object> = match labels(sidecar) {
            Some(labels) => mesh
                .pods_with(Some(&sidecar.id.namespace), labels)
                .filter(is_proxy)
                .collect(),
            None => proxies.values().copied().collect(),
        };
        tell(facts, sidecar, &meant, out);
    }
}

/// The pods with a sidecar, by namespace and name.
type Proxies<'m> = BTreeMap<&'m str, BTreeMap<&'m str, &'m Object>>;

/// The pods with a sidecar, and every Sidecar that one of them goes by.
fn proxies(mesh: &Mesh) -> (Proxies<'_>, BTreeSet<&ObjectRef>) {
    let (mut all, mut used) = (Proxies::new(), BTreeSet::new());
    for pod in mesh.objects.of_kind(Kind::Pod) {
        let has_proxy = mesh
            .pod(&pod.id.namespace, &pod.id.name)
            .is_some_and(|pod| pod.has_proxy);
        if has_proxy && !is_router(pod) {
            used.extend(mesh.scope(pod).sidecar.map(|sidecar| &sidecar.id));
            let here = all.entry(pod.id.namespace.as_str()).or_default();
            here.insert(pod.id.name.as_str(), pod);
        }
    }
    (all, used)
}

fn labels(sidecar: &Object) -> Option<&Node> {
    sidecar
        .spec_at(["workloadSelector", "labels"])
        .filter(|labels| !labels.members().is_empty())
}

fn tell(facts: &Facts<'_>, sidecar: &Object, meant: &[&Object], out: &mut Sink) {
    let used = meant.first().and_then(|pod| facts.mesh.scope(pod).sidecar);
    let at = sidecar
        .spec_at(["workloadSelector"])
        .unwrap_or(&sidecar.node);
    let message = match used {
        None => format!(
            "{} selects no pod with a proxy, so it has no effect",
            sidecar.id
        ),
        Some(used) if labels(used).is_some() && labels(sidecar).is_none() => {
            format!(
                "{} has no effect: every pod of the namespace has a Sidecar of its own, such as {}",
                sidecar.id, used.id
            )
        }
        Some(used) => format!(
            "{} has no effect: {}, which is older, is used in its place",
            sidecar.id, used.id
        ),
    };
    let finding = out.find(
        sidecar.id.clone(),
        message,
        Evidence::of(sidecar, at, "whom it is for"),
    );
    let is_beaten = used.is_some_and(|used| labels(used).is_some() == labels(sidecar).is_some());
    if !is_beaten {
        finding
            .severity(Severity::Info)
            .when_asked(Severity::Warning);
    }
    if let Some(used) = used {
        finding.see(Evidence::object(used, "the Sidecar that is used"));
    }
    finding.hits.extend(meant.iter().map(|pod| pod.id.clone()));
    finding.fix(Fix::advice(
        "for a pod one Sidecar counts: make them one, or give each pods of its own",
    ));
}
