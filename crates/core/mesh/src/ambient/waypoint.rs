//! Which waypoint the traffic to a Service or a workload goes through, as istiod computes it.

use meshladder_capture::Kind;
use meshladder_text::tree::Node;

use crate::selector;
use crate::views::{K8sGateway, Pod};
use crate::{Mesh, Object};

/// Names the waypoint; `none` is for none.
pub const USE_WAYPOINT: &str = "istio.io/use-waypoint";
/// Its namespace, where it is another: it counts only beside the name.
pub const USE_WAYPOINT_NAMESPACE: &str = "istio.io/use-waypoint-namespace";
/// Which traffic a waypoint is for.
pub const WAYPOINT_FOR: &str = "istio.io/waypoint-for";
/// Whether gateways go through the waypoint too.
pub const INGRESS_USE_WAYPOINT: &str = "istio.io/ingress-use-waypoint";
/// The Gateway that a pod or a Service is part of.
pub const GATEWAY_NAME: &str = "gateway.networking.k8s.io/gateway-name";
/// Who deployed what istiod deploys.
pub const MANAGED: &str = "gateway.istio.io/managed";
/// The class of waypoints.
pub const WAYPOINT_CLASS: &str = "istio-waypoint";
/// Who answers for waypoints' classes.
pub const WAYPOINT_CONTROLLER: &str = "istio.io/mesh-controller";

/// What becomes of the traffic to an object.
#[derive(Clone, Copy, Debug)]
pub enum WaypointBinding<'m> {
    /// Nothing names a waypoint, or `none` does.
    None,
    /// It goes through this one.
    Bound {
        /// The waypoint.
        gateway: K8sGateway<'m>,
        /// What names it.
        label: WaypointLabel<'m>,
    },
    /// A waypoint is named, and it goes past it.
    Unbound {
        /// What names it.
        label: WaypointLabel<'m>,
        /// Why.
        why: Unbound<'m>,
    },
}

/// The label that names a waypoint.
#[derive(Clone, Copy, Debug)]
pub struct WaypointLabel<'m> {
    /// The object itself, or its namespace.
    pub object: &'m Object,
    /// The label.
    pub node: &'m Node,
    /// The waypoint's namespace.
    pub namespace: &'m str,
    /// The waypoint's name.
    pub name: &'m str,
}

/// Why a waypoint that is named is not gone through. Traffic then goes past it: it fails open.
#[derive(Clone, Copy, Debug)]
pub enum Unbound<'m> {
    /// There is no such Gateway.
    Missing,
    /// It has no address yet.
    NotReady(K8sGateway<'m>),
    /// It does not take objects of this namespace.
    NotPermitted(K8sGateway<'m>),
    /// It is for other traffic.
    OtherTraffic(K8sGateway<'m>),
}

/// Which traffic: that to a Service's address, or to a pod's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficType {
    /// To Services.
    Service,
    /// To pods' own addresses.
    Workload,
}

impl TrafficType {
    /// As labels call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Workload => "workload",
        }
    }
}

impl<'m> WaypointBinding<'m> {
    /// The waypoint that it goes through.
    pub fn gateway(&self) -> Option<K8sGateway<'m>> {
        match self {
            Self::Bound { gateway, .. } => Some(*gateway),
            _ => None,
        }
    }

    /// Whether a waypoint is named, reached or not.
    pub fn label(&self) -> Option<WaypointLabel<'m>> {
        match self {
            Self::None => None,
            Self::Bound { label, .. } | Self::Unbound { label, .. } => Some(*label),
        }
    }
}

impl Mesh {
    /// The waypoint of a Service or ServiceEntry, for traffic to its address.
    pub fn service_waypoint<'m>(&'m self, service: &'m Object) -> WaypointBinding<'m> {
        // A waypoint's own Service is behind none.
        let managed = service.label(MANAGED);
        if managed.is_some_and(|by| by.contains("mesh-controller") || by.contains("eastwest")) {
            return WaypointBinding::None;
        }
        self.bind(service, TrafficType::Service)
    }

    /// The waypoint of a pod, for traffic to its own address.
    pub fn workload_waypoint<'m>(&'m self, pod: &'m Object) -> WaypointBinding<'m> {
        if self.is_waypoint_pod(pod) {
            return WaypointBinding::None;
        }
        match self.bind(pod, TrafficType::Workload) {
            // What only the namespace says, and is for Services, is not said of pods.
            WaypointBinding::Unbound {
                label,
                why: Unbound::OtherTraffic(_),
            } if label.object.is(Kind::Namespace) => WaypointBinding::None,
            binding => binding,
        }
    }

    fn bind<'m>(&'m self, object: &'m Object, traffic: TrafficType) -> WaypointBinding<'m> {
        let Some(label) = self.waypoint_label(object) else {
            return WaypointBinding::None;
        };
        if label.name == "none" {
            return WaypointBinding::None;
        }
        let unbound = |why| WaypointBinding::Unbound { label, why };
        let Some(gateway) = K8sGateway::get(&self.objects, label.namespace, label.name) else {
            return unbound(Unbound::Missing);
        };
        if gateway.status_addresses().is_empty() {
            return unbound(Unbound::NotReady(gateway));
        }
        if !self.is_permitted(gateway, &object.id.namespace) {
            return unbound(Unbound::NotPermitted(gateway));
        }
        let own = self.waypoint_for(gateway);
        if own != "all" && own != traffic.word() {
            return unbound(Unbound::OtherTraffic(gateway));
        }
        WaypointBinding::Bound { gateway, label }
    }

    /// The label that counts: the object's own, whatever it says, before its namespace's.
    pub fn waypoint_label<'m>(&'m self, object: &'m Object) -> Option<WaypointLabel<'m>> {
        let namespace = self.objects.get(Kind::Namespace, "", &object.id.namespace);
        [Some(object), namespace]
            .into_iter()
            .flatten()
            .find_map(|said_by| {
                let node = said_by.labels()?.get(USE_WAYPOINT)?;
                Some(WaypointLabel {
                    object: said_by,
                    node,
                    namespace: said_by
                        .label(USE_WAYPOINT_NAMESPACE)
                        .unwrap_or(&object.id.namespace),
                    name: node.str().unwrap_or_default(),
                })
            })
    }

    /// Which traffic a waypoint is for: its own label, then its class's, else Services'.
    pub fn waypoint_for<'m>(&'m self, gateway: K8sGateway<'m>) -> &'m str {
        let of_class = || {
            let class = gateway.class_name()?;
            let class = self.objects.get(Kind::GatewayClass, "", class.value)?;
            class.label(WAYPOINT_FOR)
        };
        let own = gateway.object.label(WAYPOINT_FOR);
        own.or_else(of_class).unwrap_or("service")
    }

    /// Whether a Gateway takes objects of a namespace: `allowedRoutes` of its HBONE listener.
    fn is_permitted(&self, gateway: K8sGateway<'_>, namespace: &str) -> bool {
        let is_own = namespace == gateway.namespace();
        let listener = gateway
            .listeners()
            .find(|listener| listener.port().is_some_and(|port| *port == super::HBONE));
        let allowed =
            listener.and_then(|listener| listener.node.at(["allowedRoutes", "namespaces"]));
        let from = allowed.and_then(|allowed| allowed.str_at("from"));
        match from {
            Some("All") => true,
            Some("Selector") => {
                let object = self.objects.get(Kind::Namespace, "", namespace);
                let wanted = allowed.and_then(|allowed| allowed.get("selector"));
                wanted
                    .zip(object)
                    .is_some_and(|(wanted, object)| selector::accepts(wanted, object.labels()))
            }
            _ => is_own,
        }
    }

    /// Whether a Gateway is a waypoint: of a class that the mesh's controller answers for, or that
    /// is called as that of waypoints.
    pub fn is_waypoint(&self, gateway: K8sGateway<'_>) -> bool {
        let Some(name) = gateway.class_name() else {
            return false;
        };
        let class = self.objects.get(Kind::GatewayClass, "", name.value);
        let controller = class.and_then(|class| class.spec_at(["controllerName"])?.str());
        match controller {
            Some(controller) => controller == WAYPOINT_CONTROLLER,
            None => name.value == WAYPOINT_CLASS,
        }
    }

    /// The waypoints.
    pub fn waypoints(&self) -> impl Iterator<Item = K8sGateway<'_>> {
        K8sGateway::all(&self.objects).filter(|gateway| self.is_waypoint(*gateway))
    }

    /// The pods of a Gateway that istiod deployed.
    pub fn deployed_pods<'m>(&'m self, gateway: K8sGateway<'m>) -> impl Iterator<Item = Pod<'m>> {
        Pod::in_namespace(&self.objects, gateway.namespace())
            .filter(move |pod| pod.object.label(GATEWAY_NAME) == Some(gateway.name()))
    }

    /// The Deployment of a Gateway that istiod deployed.
    pub fn deployment_of(&self, gateway: K8sGateway<'_>) -> Option<&Object> {
        let name = gateway.name();
        let mut here = self
            .objects
            .in_namespace(Kind::Deployment, gateway.namespace());
        here.find(|deployment| {
            deployment.label(GATEWAY_NAME) == Some(name)
                || deployment
                    .spec_at(["template", "metadata", "labels", GATEWAY_NAME])
                    .and_then(Node::str)
                    == Some(name)
        })
    }

    /// The waypoint that a pod is an instance of.
    pub fn waypoint_of_pod(&self, pod: &Object) -> Option<K8sGateway<'_>> {
        let name = pod.label(GATEWAY_NAME)?;
        K8sGateway::get(&self.objects, &pod.id.namespace, name)
            .filter(|gateway| self.is_waypoint(*gateway))
    }

    fn is_waypoint_pod(&self, pod: &Object) -> bool {
        pod.label(MANAGED)
            .is_some_and(|by| by.contains("mesh-controller"))
            || self.waypoint_of_pod(pod).is_some()
    }

    /// Whether gateways go through the waypoint of a Service: its own label before its namespace's.
    pub fn uses_waypoint_from_ingress(&self, service: &Object) -> bool {
        let namespace = self.objects.get(Kind::Namespace, "", &service.id.namespace);
        let own = service.label(INGRESS_USE_WAYPOINT);
        let said = own.or_else(|| namespace?.label(INGRESS_USE_WAYPOINT));
        said == Some("true")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::mesh_of;

    const OBJECTS: &str = "kind: Namespace
metadata: {name: shop, labels: {istio.io/use-waypoint: waypoint, team: a}}
---
kind: Namespace
metadata: {name: partner}
---
kind: Namespace
metadata: {name: tools, labels: {team: a}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: waypoint, namespace: shop}
spec: {gatewayClassName: istio-waypoint, listeners: [{name: mesh, port: 15008, protocol: HBONE, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: a}}}}}]}
status: {addresses: [{type: Hostname, value: waypoint.shop.svc.cluster.local}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: pods, namespace: partner, labels: {istio.io/waypoint-for: workload}}
spec: {gatewayClassName: istio-waypoint}
status: {addresses: [{type: Hostname, value: pods.partner.svc.cluster.local}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: late, namespace: partner}
spec: {gatewayClassName: istio-waypoint}
";

    fn binding(service: &str) -> String {
        let mesh = mesh_of(&format!("{OBJECTS}---\n{service}\n"));
        let object = mesh
            .objects
            .of_kind(Kind::Service)
            .first()
            .or_else(|| mesh.objects.of_kind(Kind::Pod).first())
            .expect("it is there");
        let binding = if object.is(Kind::Pod) {
            mesh.workload_waypoint(object)
        } else {
            mesh.service_waypoint(object)
        };
        match binding {
            WaypointBinding::None => "none".to_owned(),
            WaypointBinding::Bound { gateway, .. } => gateway.id().to_string(),
            WaypointBinding::Unbound { why, label } => {
                let why = match why {
                    Unbound::Missing => "missing",
                    Unbound::NotReady(_) => "not ready",
                    Unbound::NotPermitted(_) => "not permitted",
                    Unbound::OtherTraffic(_) => "other traffic",
                };
                format!("{}/{}: {why}", label.namespace, label.name)
            }
        }
    }

    #[test]
    fn the_objects_own_label_counts_before_its_namespaces_and_nothing_falls_back() {
        for (object, expected) in [
            (
                "Service, metadata: {name: a, namespace: shop}",
                "Gateway shop/waypoint",
            ),
            (
                "Service, metadata: {name: a, namespace: shop, labels: {istio.io/use-waypoint: none}}",
                "none",
            ),
            (
                "Service, metadata: {name: a, namespace: shop, labels: {istio.io/use-waypoint: typo}}",
                "shop/typo: missing",
            ),
            (
                "Service, metadata: {name: a, namespace: shop, labels: {istio.io/use-waypoint: ''}}",
                "shop/: missing",
            ),
            ("Service, metadata: {name: a, namespace: partner}", "none"),
            (
                "Service, metadata: {name: a, namespace: partner, labels: {istio.io/use-waypoint: late}}",
                "partner/late: not ready",
            ),
            (
                "Service, metadata: {name: a, namespace: partner, labels: {istio.io/use-waypoint: pods}}",
                "partner/pods: other traffic",
            ),
            (
                "Service, metadata: {name: a, namespace: tools, labels: {istio.io/use-waypoint: waypoint, istio.io/use-waypoint-namespace: shop}}",
                "Gateway shop/waypoint",
            ),
            (
                "Service, metadata: {name: a, namespace: partner, labels: {istio.io/use-waypoint: waypoint, istio.io/use-waypoint-namespace: shop}}",
                "shop/waypoint: not permitted",
            ),
            // The namespace's waypoint is for Services, and pods do not ask for it.
            ("Pod, metadata: {name: a, namespace: shop}", "none"),
            (
                "Pod, metadata: {name: a, namespace: shop, labels: {istio.io/use-waypoint: waypoint}}",
                "shop/waypoint: other traffic",
            ),
            (
                "Pod, metadata: {name: a, namespace: partner, labels: {istio.io/use-waypoint: pods}}",
                "Gateway partner/pods",
            ),
        ] {
            assert_eq!(
                binding(&format!("{{kind: {object}}}")),
                expected,
                "{object}"
            );
        }
    }

    #[test]
    fn a_listener_that_says_nothing_takes_its_own_namespace() {
        let mesh = mesh_of(
            "kind: Namespace
metadata: {name: shop, labels: {istio.io/use-waypoint: waypoint}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: waypoint, namespace: shop}
spec: {gatewayClassName: istio-waypoint, listeners: [{name: mesh, port: 15008, protocol: HBONE}]}
status: {addresses: [{value: waypoint.shop.svc.cluster.local}]}
---
kind: Service
metadata: {name: a, namespace: shop}
---
kind: Service
metadata: {name: b, namespace: tools, labels: {istio.io/use-waypoint: waypoint, istio.io/use-waypoint-namespace: shop}}
",
        );
        let service = |namespace, name| mesh.service(namespace, name).expect("it is there");
        assert!(
            mesh.service_waypoint(service("shop", "a"))
                .gateway()
                .is_some()
        );
        assert!(
            mesh.service_waypoint(service("tools", "b"))
                .gateway()
                .is_none()
        );
    }
}
