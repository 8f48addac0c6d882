//! What the objects of a kind say, by name: one file a kind. A view borrows the object's tree and
//! parses nothing ahead, so it costs nothing to make, and whatever it gives still knows where it
//! stands.
//!
//! A rule goes from the object down to what is wrong, and points at it:
//!
//! ```text
//! for service in VirtualService::all(&facts.mesh.objects) {
//!     for route in service.http_routes() {
//!         for destination in route.destinations() {
//!             let host = destination.full_host(service.namespace(), &facts.mesh.domain);
//!             if facts.mesh.registered(&host).next().is_none() {
//!                 let proof = Evidence::of(service.object, destination.node, "where it leads");
//!                 out.find(service.object.id.clone(), format!("there is no {host}"), proof);
//!             }
//!         }
//!     }
//! }
//! ```
//!
//! A view of a whole object has `object`, a view of a part has `node`, and a single value is a
//! [`Leaf`]: the value, and the node it was read from. What nobody wrote is `None` or empty; where
//! Istio has a default, the method of the view applies it and says so.

use std::fmt;
use std::ops::Deref;

use meshladder_text::tree::{Node, Value};

/// Makes the view of a kind: a struct around the object, and the ways to get at one.
macro_rules! object_view {
    ($(#[$doc:meta])* $view:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $view<'m> {
            /// The object.
            pub object: &'m $crate::Object,
        }

        impl<'m> $view<'m> {
            /// The view of an object, which is of this kind.
            pub fn of(object: &'m $crate::Object) -> Self {
                Self { object }
            }

            /// All objects of this kind, by namespace and name.
            pub fn all(objects: &'m $crate::Objects) -> impl Iterator<Item = Self> + use<'m> {
                let kind = meshladder_capture::Kind::$view;
                objects.of_kind(kind).iter().map(Self::of)
            }

            /// Those of a namespace.
            pub fn in_namespace(
                objects: &'m $crate::Objects,
                namespace: &str,
            ) -> impl Iterator<Item = Self> + use<'m> {
                let kind = meshladder_capture::Kind::$view;
                objects.in_namespace(kind, namespace).map(Self::of)
            }

            /// The one of that name.
            pub fn get(
                objects: &'m $crate::Objects,
                namespace: &str,
                name: &str,
            ) -> Option<Self> {
                let kind = meshladder_capture::Kind::$view;
                objects.get(kind, namespace, name).map(Self::of)
            }

            /// What it is.
            pub fn id(self) -> &'m $crate::ObjectRef {
                &self.object.id
            }

            /// Its namespace.
            pub fn namespace(self) -> &'m str {
                &self.object.id.namespace
            }

            /// Its name.
            pub fn name(self) -> &'m str {
                &self.object.id.name
            }
        }
    };
}

/// Makes the view of a part of an object.
macro_rules! part_view {
    ($(#[$doc:meta])* $view:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $view<'m> {
            /// The part, as written.
            pub node: &'m meshladder_text::tree::Node,
        }

        impl<'m> $view<'m> {
            /// The view of a part.
            pub fn of(node: &'m meshladder_text::tree::Node) -> Self {
                Self { node }
            }
        }
    };
}

pub mod authorization_policy;
pub mod config_map;
pub mod destination_rule;
pub mod endpoint_slice;
pub mod envoy_filter;
pub mod event;
pub mod gateway;
pub mod http_route;
pub mod k8s_gateway;
pub mod namespace;
pub mod network_policy;
pub mod peer_authentication;
pub mod pod;
pub mod request_authentication;
pub mod service;
pub mod service_entry;
pub mod sidecar;
pub mod telemetry;
pub mod virtual_service;
pub mod webhook;
pub mod workload;

pub use authorization_policy::AuthorizationPolicy;
pub use config_map::ConfigMap;
pub use destination_rule::DestinationRule;
pub use endpoint_slice::EndpointSlice;
pub use envoy_filter::EnvoyFilter;
pub use event::Event;
pub use gateway::Gateway;
pub use http_route::HttpRoute;
pub use k8s_gateway::K8sGateway;
pub use namespace::Namespace;
pub use network_policy::NetworkPolicy;
pub use peer_authentication::PeerAuthentication;
pub use pod::{Container, Pod};
pub use request_authentication::RequestAuthentication;
pub use service::Service;
pub use service_entry::ServiceEntry;
pub use sidecar::Sidecar;
pub use telemetry::Telemetry;
pub use virtual_service::VirtualService;
pub use webhook::{MutatingWebhook, ValidatingWebhook};
pub use workload::PodTemplate;

/// A value, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'m, T = &'m str> {
    /// What it was read from.
    pub node: &'m Node,
    /// The value.
    pub value: T,
}

impl<T> Deref for Leaf<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq<T> for Leaf<'_, T> {
    fn eq(&self, other: &T) -> bool {
        self.value == *other
    }
}

impl<T: fmt::Display> fmt::Display for Leaf<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<'m> Leaf<'m> {
    /// A text; none for what is not one.
    pub fn text(node: &'m Node) -> Option<Self> {
        let value = node.str()?;
        Some(Self { node, value })
    }
}

impl<'m, T: std::str::FromStr> Leaf<'m, T> {
    /// A number, or a text that is one; none for what is not.
    pub fn number(node: &'m Node) -> Option<Self> {
        let value = match &node.value {
            Value::Number(text) | Value::String(text) => text.parse().ok()?,
            _ => return None,
        };
        Some(Self { node, value })
    }
}

/// The text of a member.
fn text<'m>(node: &'m Node, key: &str) -> Option<Leaf<'m>> {
    node.get(key).and_then(Leaf::text)
}

/// The text of a member that says something.
fn filled<'m>(node: &'m Node, key: &str) -> Option<Leaf<'m>> {
    text(node, key).filter(|leaf| !leaf.is_empty())
}

/// The number of a member.
fn number<'m, T: std::str::FromStr>(node: &'m Node, key: &str) -> Option<Leaf<'m, T>> {
    node.get(key).and_then(Leaf::number)
}

/// The texts of a list.
fn texts(items: &[Node]) -> impl Iterator<Item = Leaf<'_>> {
    items.iter().filter_map(Leaf::text)
}

/// Whether a member is `true`.
fn is_true(node: &Node, key: &str) -> bool {
    node.get(key)
        .is_some_and(|node| node.value == Value::Bool(true))
}
