//! Injection and NetworkPolicy on real meshes.

use std::path::Path;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::Shape;
use meshladder_capture::ztunnel::dump::ZtunnelDump;
use meshladder_capture::ztunnel::policy::L4Policy;
use meshladder_mesh::injection::Ca;
use meshladder_mesh::network_policy::{Passage, XDS};
use meshladder_mesh::views::PodTemplate;
use meshladder_mesh::{Mesh, Object};

use crate::expect::root;
use crate::meshes::{capture, shared};
use crate::support::opened;

fn mesh(bundle: &Path) -> Mesh {
    Mesh::build(&opened(bundle))
}

fn has_proxy(mesh: &Mesh, pod: &Object) -> bool {
    mesh.pod(&pod.id.namespace, &pod.id.name)
        .is_some_and(|pod| pod.has_proxy)
}

#[test]
fn the_pods_of_a_healthy_mesh_have_the_proxies_they_should_and_reach_istiod() {
    let mesh = mesh(&capture("healthy").bundle());
    let injectors = mesh.injectors();
    for hook in &injectors.webhooks {
        let served = injectors.served(*hook);
        assert!(
            served.answers.word() == "yes" && matches!(served.ca, Ca::Certificates(_)),
            "{served:?}"
        );
    }
    for pod in mesh.objects.of_kind(Kind::Pod) {
        let injection = injectors.injection(PodTemplate::of(pod).expect("a pod"));
        let expected = if has_proxy(&mesh, pod) { "yes" } else { "no" };
        assert_eq!(
            injection.expected.word(),
            expected,
            "{}: {}",
            pod.id,
            injection.decided_by.what
        );
        let reaches = mesh
            .reach_istiod(pod, XDS)
            .into_iter()
            .chain(mesh.reach_dns(pod));
        assert!(
            reaches
                .into_iter()
                .all(|reach| matches!(reach.passage, Passage::Allowed(_))),
            "{}",
            pod.id
        );
    }
}

#[test]
fn the_policy_that_cuts_proxies_off_is_found_for_each_of_them_and_for_no_other() {
    let demo = root().join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst");
    let payments = capture("payments-green-still-denies").bundle();
    for (bundle, policy, is_cut) in [
        (demo, "restrict-egress", ""),
        (payments, "payments-green-egress", "payments-green-"),
    ] {
        let mesh = mesh(&bundle);
        for pod in mesh
            .objects
            .of_kind(Kind::Pod)
            .iter()
            .filter(|pod| has_proxy(&mesh, pod))
        {
            let expected = pod.id.namespace == "shop" && pod.id.name.starts_with(is_cut);
            for reach in mesh.reach_istiod(pod, XDS) {
                let by = match &reach.passage {
                    Passage::Blocked(ends) => ends
                        .iter()
                        .flat_map(|end| &end.policies)
                        .map(|e| &*e.policy.id.name)
                        .collect(),
                    _ => Vec::new(),
                };
                assert_eq!(
                    by,
                    if expected { vec![policy] } else { vec![] },
                    "{}: {}",
                    bundle.display(),
                    pod.id
                );
            }
        }
    }
}

#[test]
fn a_webhook_left_behind_by_a_removed_revision_is_not_served() {
    let mesh = mesh(&capture("catalog-v2-pods-refused-by-stale-webhook").bundle());
    let injectors = mesh.injectors();
    let unserved: Vec<_> = injectors
        .webhooks
        .iter()
        .filter(|hook| injectors.served(**hook).answers.word() == "no")
        .collect();
    assert_eq!(unserved.len(), 1);
    assert_eq!(unserved[0].config.id.name, "istio-sidecar-injector-1-22");
    assert!(unserved[0].fails_closed());
}

/// What istiod sent to ztunnels of a real mesh is what its objects come to, workload by workload.
/// Of a ztunnel that was cut off from istiod nothing is known.
#[test]
fn objects_convert_to_the_policies_that_real_ztunnels_have() {
    let mut bundles = vec![root().join("fixtures/ambient/bundle")];
    if let Some(folder) = shared("meshes-ambient") {
        for entry in std::fs::read_dir(folder).expect("the captures can be read") {
            let path = entry.expect("an entry").path();
            if !path.to_string_lossy().contains("cut-from-istiod") {
                bundles.push(path.join("bundle.tar.gz"));
            }
        }
    }
    for bundle in bundles {
        let snapshot = opened(&bundle);
        let mesh = Mesh::build(&snapshot);
        let mut count = 0;
        for (ztunnel, id) in snapshot.proxies_with(Shape::ZtunnelDump) {
            let document = snapshot.open(id).expect("a dump");
            let dump = ZtunnelDump::read(&document.text).expect("a dump");
            let mut held: Vec<L4Policy> = dump.policies.iter().map(|(p, _)| p.clone()).collect();
            held.sort_by_key(L4Policy::key);
            assert_eq!(
                held,
                mesh.l4_policies(),
                "{ztunnel} of {}",
                bundle.display()
            );
            for pod in mesh.objects.of_kind(Kind::Pod) {
                let Some(workload) = dump.pod(&pod.id.namespace, &pod.id.name) else {
                    continue;
                };
                count += 1;
                let mut listed = mesh.l4_listed(pod);
                let mut own: Vec<String> =
                    workload.policies.iter().map(ToString::to_string).collect();
                listed.sort();
                own.sort();
                assert_eq!(own, listed, "{} of {}", pod.id, bundle.display());
            }
        }
        assert!(count > 0, "{} has no ztunnel", bundle.display());
    }
}
