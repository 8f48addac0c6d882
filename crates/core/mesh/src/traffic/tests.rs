use super::*;
use crate::tests::mesh_of;
use meshladder_capture::Kind;

const CART: &str = "cart.shop.svc.cluster.local";

const OBJECTS: &str = "kind: Service
metadata: {name: cart, namespace: shop}
---
kind: Pod
metadata: {name: p, namespace: tools}
---
kind: Pod
metadata: {name: p, namespace: shop}
---
kind: Pod
metadata: {name: gw, namespace: ingress, labels: {istio: ingress}}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: main, namespace: ingress}
spec: {selector: {istio: ingress}, servers: [{port: {number: 80, protocol: HTTP}, hosts: ['*.test']}]}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: egress, namespace: ingress}
spec: {selector: {istio: egress}}
";

fn service(namespace: &str, name: &str, day: u8, spec: &str) -> String {
    format!(
        "---\nkind: VirtualService\nmetadata: {{name: {name}, namespace: {namespace}, \
         creationTimestamp: '2026-01-0{day}T00:00:00Z'}}\nspec: {{{spec}}}\n"
    )
}

fn used(services: &[&String], client: &str) -> Vec<String> {
    let more: String = services.iter().map(|service| service.as_str()).collect();
    let mesh = mesh_of(&format!("{OBJECTS}{more}"));
    let scope = mesh.scope(
        mesh.objects
            .get(Kind::Pod, client, "p")
            .expect("it is there"),
    );
    mesh.virtual_services(scope, CART)
        .iter()
        .map(|service| service.id.name.to_string())
        .collect()
}

#[test]
fn one_virtual_service_is_used_for_a_host() {
    let old = service("shop", "old", 1, "hosts: [cart]");
    let young = service("shop", "a-young", 2, &format!("hosts: [{CART}]"));
    let wide = service("shop", "wide", 1, "hosts: ['*.shop.svc.cluster.local']");
    let private = service("shop", "private", 3, "hosts: [cart], exportTo: [.]");
    let named = service("shop", "named", 2, "hosts: [cart], exportTo: [tools, shop]");
    let gateway = service(
        "shop",
        "gateway",
        1,
        "hosts: [cart], gateways: [ingress/main]",
    );
    let both = service(
        "shop",
        "both",
        3,
        "hosts: [cart], gateways: [ingress/main, mesh]",
    );
    let half_short = service("shop", "half-short", 1, "hosts: [cart.shop]");
    let other = service("tools", "other", 1, "hosts: [cart]");
    for (services, client, expected) in [
        (vec![&young, &old], "tools", vec!["old", "a-young"]),
        (vec![&wide, &young], "tools", vec!["a-young", "wide"]),
        (vec![&old, &private], "shop", vec!["private", "old"]),
        (vec![&old, &private], "tools", vec!["old"]),
        (
            vec![&old, &named, &private],
            "shop",
            vec!["named", "private", "old"],
        ),
        (vec![&old, &named, &private], "tools", vec!["named", "old"]),
        (vec![&gateway, &both], "tools", vec!["both"]),
        (vec![&half_short, &other], "tools", vec![]),
    ] {
        assert_eq!(used(&services, client), expected, "{client} {services:?}");
    }
}

#[test]
fn a_sidecar_imports_a_virtual_service_by_its_own_namespace() {
    let foreign = service("zoo", "foreign", 1, &format!("hosts: [{CART}]"));
    let narrow = "---\nkind: Sidecar\nmetadata: {name: s, namespace: tools}\nspec: {egress: [{hosts: [shop/*]}]}\n";
    assert_eq!(used(&[&foreign], "tools"), ["foreign"]);
    assert_eq!(
        used(&[&foreign, &narrow.to_owned()], "tools"),
        Vec::<String>::new()
    );
}

/// The first step not taken, and why.
fn lost(services: &[String], client: &str, name: &str) -> Option<(StepKind, String)> {
    let mesh = mesh_of(&format!("{OBJECTS}{}", services.concat()));
    let scope = mesh.scope(
        mesh.objects
            .get(Kind::Pod, client, "p")
            .expect("it is there"),
    );
    let service = mesh
        .objects
        .get(Kind::VirtualService, "shop", name)
        .expect("it is there");
    let host = service.spec_strings("hosts").next().expect("it has a host");
    let steps = mesh.sidecar_steps(service, host, scope);
    steps
        .into_iter()
        .find(|step| !step.holds)
        .map(|step| (step.kind, step.why))
}

#[test]
fn the_first_step_not_taken_says_why_a_virtual_service_has_no_effect() {
    let sidecar = "---\nkind: Sidecar\nmetadata: {name: s, namespace: tools}\nspec: {egress: [{hosts: [./*]}]}\n";
    let hidden = "---\nkind: ServiceEntry\nmetadata: {name: e, namespace: shop}\nspec: {hosts: [e.test], exportTo: [.]}\n";
    let other = |day| service("shop", "other", day, "hosts: [cart]");
    for (spec, more, expected) in [
        ("hosts: [cart]", String::new(), None),
        (
            "hosts: [cart], exportTo: [.]",
            String::new(),
            Some((
                StepKind::Exported,
                "exported to its own namespace shop only",
            )),
        ),
        (
            "hosts: [cart]",
            sidecar.to_owned(),
            Some((
                StepKind::Imported,
                "Sidecar tools/s does not import shop/cart.shop.svc.cluster.local",
            )),
        ),
        (
            "hosts: [cart], gateways: [ingress/main]",
            String::new(),
            Some((
                StepKind::GatewayBound,
                "its gateways do not name mesh, so it is not for sidecars",
            )),
        ),
        (
            "hosts: [cart.shop]",
            String::new(),
            Some((
                StepKind::HostKnown,
                "no Service or ServiceEntry has the host cart.shop",
            )),
        ),
        (
            "hosts: [e.test]",
            hidden.to_owned(),
            Some((
                StepKind::HostKnown,
                "ServiceEntry shop/e has the host e.test, but tools does not see it",
            )),
        ),
        (
            "hosts: [cart]",
            other(1),
            Some((
                StepKind::NotShadowed,
                "VirtualService shop/other is used for cart.shop.svc.cluster.local: it is older",
            )),
        ),
        ("hosts: [cart]", other(3), None),
    ] {
        let found = lost(&[service("shop", "mine", 2, spec), more], "tools", "mine");
        assert_eq!(
            found.as_ref().map(|(kind, why)| (*kind, why.as_str())),
            expected,
            "{spec}"
        );
    }
}

#[test]
fn a_gateway_s_pod_needs_a_gateway_that_is_there_selects_it_and_takes_the_host() {
    for (spec, holds, why) in [
        (
            "hosts: [a.test], gateways: [ingress/main]",
            true,
            "Gateway ingress/main takes it on port 80",
        ),
        (
            "hosts: [a.test], gateways: [main]",
            false,
            "there is no Gateway shop/main",
        ),
        (
            "hosts: [a.test], gateways: [ingress/egress]",
            false,
            "Gateway ingress/egress does not select Pod ingress/gw",
        ),
        (
            "hosts: [a.com], gateways: [ingress/main]",
            false,
            "no server of Gateway ingress/main takes a.com",
        ),
        ("hosts: [a.test]", false, "it names no Gateway"),
        (
            "hosts: [a.test], gateways: [gone, ingress/main]",
            true,
            "Gateway ingress/main takes it on port 80",
        ),
    ] {
        let mesh = mesh_of(&format!("{OBJECTS}{}", service("shop", "mine", 1, spec)));
        let pod = mesh
            .objects
            .get(Kind::Pod, "ingress", "gw")
            .expect("it is there");
        let mine = mesh
            .objects
            .get(Kind::VirtualService, "shop", "mine")
            .expect("it is there");
        let steps = mesh.gateway_steps(mine, &mine.spec_list("hosts")[0], pod);
        let bound = steps
            .iter()
            .find(|step| step.kind == StepKind::GatewayBound)
            .expect("it is a step");
        assert_eq!((bound.holds, bound.why.as_str()), (holds, why), "{spec}");
    }
}

#[test]
fn delegates_and_destinations_are_found() {
    let root = "hosts: [cart], http: [{delegate: {name: d, namespace: zoo}}, {delegate: {name: gone}}, {delegate: {name: h}}, \
                {route: [{destination: {host: cart, subset: v1, port: {number: 80}}}], mirror: {host: m.test}}], \
                tcp: [{route: [{destination: {host: db.tools}}]}]";
    let mesh = mesh_of(
        &[
            service("shop", "root", 1, root),
            service("zoo", "d", 1, "http: [{}]"),
            service("shop", "h", 1, "hosts: [x.test]"),
        ]
        .concat(),
    );
    let root = mesh
        .objects
        .get(Kind::VirtualService, "shop", "root")
        .expect("it is there");
    let delegates: Vec<_> = mesh
        .delegates(root)
        .iter()
        .map(|d| (d.name, d.target.is_some(), d.is_usable))
        .collect();
    assert_eq!(
        delegates,
        [
            (("zoo", "d"), true, true),
            (("shop", "gone"), false, false),
            (("shop", "h"), true, false)
        ]
    );
    let found = destinations(root, &mesh.domain);
    let places: Vec<_> = found
        .iter()
        .map(|d| (d.host.as_str(), d.subset, d.port))
        .collect();
    assert_eq!(
        places,
        [
            (CART, Some("v1"), Some(80)),
            ("m.test", None, None),
            ("db.tools", None, None)
        ]
    );
}
