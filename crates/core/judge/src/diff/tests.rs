//! Two small proxies, compared.

use std::fmt::Write;
use std::sync::Arc;

use super::*;
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Builder, Snapshot};
use meshladder_mesh::Mesh;

fn dump(pod: &str, ip: &str, weights: (u32, u32), extra: &str) -> String {
    let route = format!(
        r#"{{"match":{{"prefix":"/"}},"metadata":{{"filter_metadata":{{"istio":{{"config":"/apis/networking.istio.io/v1/namespaces/shop/virtual-service/catalog"}}}}}},
        "route":{{"weighted_clusters":{{"clusters":[{{"name":"outbound|80|v1|c.shop.svc.cluster.local","weight":{}}},{{"name":"outbound|80|v2|c.shop.svc.cluster.local","weight":{}}}]}}}}}}"#,
        weights.0, weights.1
    );
    format!(
        r#"{{"configs":[
        {{"@type":"type.googleapis.com/envoy.admin.v3.BootstrapConfigDump","bootstrap":{{"node":{{"id":"sidecar~{ip}~{pod}.shop~x","metadata":{{"INSTANCE_IPS":"{ip}","NAME":"{pod}"}}}}}}}},
        {{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","dynamic_active_clusters":[{{"version_info":"{pod}","cluster":{{"name":"inbound|80||","upstream_bind_config":{{"source_address":{{"address":"{ip}"}}}}}}}}{extra}]}},
        {{"@type":"type.googleapis.com/envoy.admin.v3.RoutesConfigDump","dynamic_route_configs":[{{"route_config":{{"name":"80","virtual_hosts":[{{"name":"c.shop:80","domains":["c.shop"],"routes":[{route}]}}]}}}}]}}
        ]}}"#
    )
}

fn side<'d>(name: &str, text: &'d str) -> ProxySide<'d> {
    let doc = DocId::new(format!("proxies/shop/{name}/config_dump.json"));
    ProxySide {
        name: name.to_owned(),
        doc,
        text,
        names: Arc::default(),
        is_same_mesh: true,
        is_istiods: false,
    }
}

fn between(a: &str, b: &str) -> Diff {
    proxies(&side("a", a), &side("b", b)).expect("both are dumps")
}

const CLUSTER: &str = r#",{"cluster":{"name":"outbound|80|v2|c.shop.svc.cluster.local"}}"#;

#[test]
fn replicas_differ_in_nothing_but_noise() {
    let diff = between(
        &dump("c-1", "10.0.0.1", (90, 10), ""),
        &dump("c-2", "10.0.0.2", (90, 10), ""),
    );
    assert_eq!(diff.changes, []);
    assert_eq!(diff.compared, 3);
    assert!(
        diff.noise.counts["addresses and names"] >= 1,
        "{:?}",
        diff.noise
    );
}

#[test]
fn a_change_of_weights_is_said_in_words_and_blamed_on_its_object() {
    let diff = between(
        &dump("c-1", "10.0.0.1", (90, 10), ""),
        &dump("c-2", "10.0.0.2", (100, 0), ""),
    );
    let [change] = diff.changes.as_slice() else {
        panic!("one change: {:?}", diff.changes)
    };
    let means = "10 % goes to v2 of c.shop.svc.cluster.local:80 on A, 0 % on B; \
                 90 % goes to v1 of c.shop.svc.cluster.local:80 on A, 100 % on B";
    assert_eq!(change.means.as_deref(), Some(means));
    assert_eq!(
        change.objects,
        [ObjectRef::of(Kind::VirtualService, "shop", "catalog")]
    );
    assert_eq!(change.edits.len(), 2);
}

#[test]
fn the_odd_one_out_is_the_one_that_the_others_are_not_like() {
    let texts = [("c-1", 10), ("c-2", 0), ("c-3", 10)].map(|(pod, canary)| {
        dump(
            pod,
            &format!("10.0.0.{}", &pod[2..]),
            (100 - canary, canary),
            "",
        )
    });
    let sides: Vec<ProxySide<'_>> = ["c-1", "c-2", "c-3"]
        .iter()
        .zip(&texts)
        .map(|(name, text)| side(name, text))
        .collect();
    let (alike, odd) = odd_ones(&sides).expect("all are dumps");
    assert_eq!((alike.a.as_str(), alike.b.as_str()), ("c-1", "c-3"));
    assert_eq!(
        odd.iter().map(|odd| odd.like.clone()).collect::<Vec<_>>(),
        [["c-2"]]
    );
}

/// diff(A, A) is empty, and diff(B, A) is diff(A, B) seen from the other side.
#[test]
fn a_difference_is_the_mirror_of_its_opposite() {
    let texts = [
        dump("c-1", "10.0.0.1", (90, 10), ""),
        dump("c-2", "10.0.0.2", (0, 100), CLUSTER),
        dump("c-3", "10.0.0.3", (50, 50), ""),
    ];
    let seen = |diff: &Diff, mirror: bool| {
        let mut seen: Vec<_> = diff
            .changes
            .iter()
            .flat_map(|change| change.edits.iter().map(move |edit| (change, edit)))
            .map(|(change, edit)| {
                let what = match (edit.what, mirror) {
                    (ChangeKind::Added, true) => ChangeKind::Removed,
                    (ChangeKind::Removed, true) => ChangeKind::Added,
                    (what, _) => what,
                };
                let values = if mirror {
                    (&edit.new, &edit.old)
                } else {
                    (&edit.old, &edit.new)
                };
                (
                    change.kind.clone(),
                    change.name.clone(),
                    what,
                    edit.path.clone(),
                    values.0.clone(),
                    values.1.clone(),
                )
            })
            .collect();
        seen.sort();
        seen
    };
    for a in &texts {
        assert!(between(a, a).is_empty());
        for b in &texts {
            assert_eq!(seen(&between(a, b), false), seen(&between(b, a), true));
        }
    }
}

#[test]
fn what_is_no_dump_is_said_with_its_name() {
    let good = dump("c-1", "10.0.0.1", (90, 10), "");
    assert_eq!(
        proxies(&side("a", &good), &side("b", "{}"))
            .err()
            .as_deref(),
        Some("b: not a config dump: it has no list `configs`")
    );
}

#[test]
fn what_is_left_aside_counts_only_where_it_differs() {
    let listener = |port: u16| {
        format!(
            r#"{{"name":"out","draining_state":{{"listener":{{"name":"out","address":{{"port":{port}}}}}}}}}"#
        )
    };
    let text = |port| {
        let clusters = r#",{"cluster":{"name":"PassthroughCluster","type":"ORIGINAL_DST"}}"#;
        let more = format!(
            r#",{{"@type":"type.googleapis.com/envoy.admin.v3.ListenersConfigDump","dynamic_listeners":[{}]}},
            {{"@type":"type.googleapis.com/envoy.admin.v3.EndpointsConfigDump","dynamic_endpoint_configs":[{{"endpoint_config":{{"cluster_name":"PassthroughCluster"}}}}]}}]}}"#,
            listener(port)
        );
        let dump = dump("c-1", "10.0.0.1", (90, 10), clusters);
        format!(
            "{}{more}",
            dump.trim_end()
                .strip_suffix("]}")
                .expect("the end of a dump")
        )
    };
    assert_eq!(between(&text(80), &text(80)).noise.counts, BTreeMap::new());
    let other = between(&text(80), &text(90)).noise.counts;
    assert_eq!(other, BTreeMap::from([("listeners on their way out", 2)]));
}

/// Pods as `name workload revision kind`.
fn mesh_of(pods: &[(&str, &str, &str, &str)], dumps: bool) -> (Snapshot, Mesh) {
    let mut builder = Builder::new();
    let mut yaml = String::new();
    for (at, (name, workload, revision, kind)) in pods.iter().enumerate() {
        let written = write!(
            yaml,
            "---\nkind: Pod\napiVersion: v1\nmetadata: {{name: {name}, namespace: shop, ownerReferences: [{{kind: StatefulSet, name: {workload}, controller: true}}], \
             labels: {{istio.io/rev: a-tag}}, annotations: {{sidecar.istio.io/status: '{{\"revision\":\"{revision}\"}}'}}}}\n\
             spec: {{containers: [{{name: istio-proxy, args: [proxy, {kind}]}}]}}\nstatus: {{phase: Running, podIP: 10.0.1.{at}}}\n"
        );
        written.expect("a String takes it");
        let (canary, ip) = (
            if *revision == "old" { 10 } else { 0 },
            format!("10.0.1.{at}"),
        );
        if dumps {
            let id = DocId::new(format!("proxies/shop/{name}/config_dump.json"));
            builder.add(
                id,
                *name,
                dump(name, &ip, (100 - canary, canary), "").into(),
            );
        }
    }
    builder.add(DocId::new("k8s/pods.yaml"), "pods.yaml", yaml.into());
    let snapshot = builder.finish();
    let mesh = Mesh::build(&snapshot);
    (snapshot, mesh)
}

#[test]
fn revisions_are_compared_by_workloads_that_have_both() {
    let pods = [
        ("cart-0", "cart", "old", "sidecar"),
        ("cart-1", "cart", "new", "sidecar"),
        ("front-0", "front", "old", "sidecar"),
        ("pay-0", "pay", "new", "sidecar"),
    ];
    let (snapshot, mesh) = mesh_of(&pods, true);
    let (diff, pairs) = revisions(&snapshot, &mesh, ("old", "new")).expect("both have proxies");
    let pod = |name: &str| ObjectRef::of(Kind::Pod, "shop", name);
    let workload = Some(ObjectRef::of(Kind::StatefulSet, "shop", "cart"));
    assert_eq!(
        pairs,
        [Pair {
            a: pod("cart-0"),
            b: pod("cart-1"),
            workload
        }]
    );
    let [change] = diff.changes.as_slice() else {
        panic!("one change: {:?}", diff.changes)
    };
    assert_eq!(
        (change.on.as_slice(), change.kind.as_str()),
        (&["shop/cart".to_owned()][..], "route")
    );
    assert_eq!(
        (diff.a.as_str(), diff.b.as_str()),
        ("revision old", "revision new")
    );
}

#[test]
fn without_such_a_workload_one_of_each_kind_stands_for_its_revision() {
    let pods = [
        ("front-0", "front", "old", "sidecar"),
        ("pay-0", "pay", "new", "sidecar"),
        ("gate-0", "gate", "old", "router"),
        ("way-0", "way", "new", "waypoint"),
    ];
    let (snapshot, mesh) = mesh_of(&pods, true);
    let (diff, pairs) = revisions(&snapshot, &mesh, ("old", "new")).expect("both have proxies");
    assert_eq!(
        pairs
            .iter()
            .map(|pair| (pair.a.name.as_str(), pair.b.name.as_str()))
            .collect::<Vec<_>>(),
        [("front-0", "pay-0")]
    );
    assert_eq!(pairs[0].workload, None);
    assert_eq!(diff.changes[0].on, ["shop/front-0 and shop/pay-0"]);
}

#[test]
fn a_revision_that_nobody_has_is_told_with_those_that_there_are() {
    let (snapshot, mesh) = mesh_of(&[("cart-0", "cart", "old", "sidecar")], true);
    let told = revisions(&snapshot, &mesh, ("old", "none")).expect_err("nobody has it");
    assert_eq!(
        told,
        "no proxy of revision `none` in what was read; there are old"
    );
}
