use super::*;
use crate::tests::mesh_of;
use meshladder_capture::Kind;

const SHOP: &str = "kind: Service
metadata: {name: cart, namespace: shop, creationTimestamp: '2026-01-02T00:00:00Z'}
spec:
  selector: {app: cart}
  ports: [{name: http, port: 80, targetPort: web}, {name: admin, port: 81}, {name: grpc-x, port: 82, targetPort: 9090}]
---
kind: Service
metadata: {name: bare, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: fn, namespace: shop}
---
kind: Pod
metadata:
  name: cart-1
  namespace: shop
  labels: {app: cart, pod-template-hash: abc}
  ownerReferences: [{kind: ReplicaSet, name: cart-abc, controller: true}]
spec: {containers: [{name: app, ports: [{name: web, containerPort: 8080}]}]}
status: {phase: Pending, conditions: [{type: Ready, status: 'False'}]}
---
kind: Pod
metadata: {name: cart-2, namespace: tools, labels: {app: cart}}
---
kind: Deployment
metadata: {name: cart, namespace: shop}
---
kind: EndpointSlice
metadata: {name: cart-x, namespace: shop, labels: {kubernetes.io/service-name: cart}}
endpoints:
- {addresses: [10.0.0.1], conditions: {ready: false}, targetRef: {kind: Pod, name: cart-1}}
- {addresses: [10.0.0.2]}
";

fn names<'m>(objects: impl IntoIterator<Item = &'m Object>) -> Vec<&'m str> {
    objects
        .into_iter()
        .map(|object| object.id.name.as_str())
        .collect()
}

#[test]
fn a_service_leads_to_pods_and_endpoints_and_back() {
    let mesh = mesh_of(SHOP);
    let cart = mesh.service("shop", "cart").expect("it is there");
    let pod = mesh
        .objects
        .get(Kind::Pod, "shop", "cart-1")
        .expect("it is there");
    assert_eq!(names(mesh.selected_pods(cart)), ["cart-1"]);
    assert_eq!(
        names(mesh.selected_pods(mesh.service("shop", "bare").expect("it is there"))),
        Vec::<&str>::new()
    );
    assert_eq!(names(mesh.services_of(pod)), ["cart"]);
    assert!(mesh.service("shop", "fn").is_none());
    assert_eq!(
        names(mesh.service_of_host("cart.shop.svc.cluster.local")),
        ["cart"]
    );
    let endpoints: Vec<_> = mesh
        .endpoints(cart)
        .iter()
        .map(|e| (e.address, e.is_ready, e.pod.map(|pod| pod.id.name.as_str())))
        .collect();
    assert_eq!(
        endpoints,
        [
            ("10.0.0.1", false, Some("cart-1")),
            ("10.0.0.2", true, None)
        ]
    );
    let ports: Vec<_> = ports(cart)
        .map(|port| (port.number, port.protocol, target_port(&port, pod)))
        .collect();
    assert_eq!(
        ports,
        [
            (80, Protocol::Http, Some(8080)),
            (81, Protocol::Sniffed, Some(81)),
            (82, Protocol::Grpc, Some(9090))
        ]
    );
    assert!(!is_ready(pod));
}

#[test]
fn a_pod_s_workload_is_found_with_and_without_its_replica_set() {
    let replica_set = |owner: &str| {
        format!(
            "---\nkind: ReplicaSet\nmetadata: {{name: cart-abc, namespace: shop, ownerReferences: [{{kind: {owner}, name: cart}}]}}\n\
             ---\nkind: Rollout\nmetadata: {{name: cart, namespace: shop}}\n"
        )
    };
    for (more, kind) in [
        (String::new(), "Deployment"),
        (replica_set("Deployment"), "Deployment"),
        (replica_set("Rollout"), "Rollout"),
    ] {
        let mesh = mesh_of(&format!("{SHOP}{more}"));
        let pod = mesh
            .objects
            .get(Kind::Pod, "shop", "cart-1")
            .expect("it is there");
        assert_eq!(
            mesh.workload_of(pod)
                .map(|workload| workload.id.kind.as_str()),
            Some(kind),
            "{more}"
        );
    }
}

#[test]
fn one_object_owns_a_host_for_each_client() {
    let entry = |namespace: &str, name: &str, day: u8, spec: &str| {
        format!(
            "---\nkind: ServiceEntry\nmetadata: {{name: {name}, namespace: {namespace}, \
             creationTimestamp: '2026-01-0{day}T00:00:00Z'}}\nspec: {{{spec}}}\n"
        )
    };
    let cart = "hosts: [cart.shop.svc.cluster.local]";
    let yaml = [
        SHOP.to_owned(),
        entry("tools", "squat", 1, cart),
        entry("other", "hidden", 1, &format!("{cart}, exportTo: [.]")),
        entry("tools", "young", 3, "hosts: [a.test]"),
        entry("zoo", "old", 1, "hosts: [a.test]"),
        entry("zoo", "wide", 1, "hosts: ['*.test', '*.far.test']"),
        entry("zoo", "far", 2, "hosts: ['*.far.test']"),
    ]
    .concat();
    let mesh = mesh_of(&yaml);
    for (namespace, host, expected) in [
        ("shop", "cart.shop.svc.cluster.local", vec!["cart", "squat"]),
        (
            "tools",
            "cart.shop.svc.cluster.local",
            vec!["squat", "cart"],
        ),
        (
            "elsewhere",
            "cart.shop.svc.cluster.local",
            vec!["cart", "squat"],
        ),
        (
            "other",
            "cart.shop.svc.cluster.local",
            vec!["hidden", "cart", "squat"],
        ),
        ("shop", "a.test", vec!["old", "young"]),
        ("tools", "a.test", vec!["young", "old"]),
        ("shop", "b.test", vec!["wide"]),
        ("shop", "b.far.test", vec!["wide", "far"]),
        ("shop", "nowhere", vec![]),
    ] {
        let found = mesh.registry(mesh.namespace_scope(namespace), host);
        assert_eq!(names(found), expected, "{namespace} {host}");
    }
}
