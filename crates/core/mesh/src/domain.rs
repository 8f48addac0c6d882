//! The domain of the cluster, in which Services have their full names.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use super::{Object, Objects};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Shape, Snapshot};
use meshladder_text::json::Raw;
use meshladder_text::tree::Node;

/// See the module: `cluster.local`, unless whoever installed the cluster chose another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain(Arc<str>);

impl Default for Domain {
    fn default() -> Self {
        Self("cluster.local".into())
    }
}

impl Domain {
    /// By the flags of istiod and of the proxies, or else by what a proxy calls itself.
    pub(super) fn find(objects: &Objects, snapshot: &Snapshot) -> Self {
        let told = objects
            .of_kind(Kind::Pod)
            .iter()
            .find_map(of_pod)
            .map(str::to_owned);
        told.or_else(|| of_a_proxy(snapshot))
            .map_or_else(Self::default, |domain| Self(domain.into()))
    }

    /// The domain itself.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The full name of a host in an object of this namespace. Only a name without any dot is
    /// short: `catalog.shop` stays `catalog.shop`, which is no Service.
    pub fn fqdn<'h>(&self, host: &'h str, namespace: &str) -> Cow<'h, str> {
        if host.is_empty() || host == "*" || host.contains('.') || host.parse::<IpAddr>().is_ok() {
            return Cow::Borrowed(host);
        }
        Cow::Owned(self.service(host, namespace))
    }

    /// The full name of a Service.
    pub fn service(&self, name: &str, namespace: &str) -> String {
        format!("{name}.{namespace}.svc.{}", self.0)
    }

    /// What stands before `.svc.cluster.local` in a full name.
    pub fn without<'h>(&self, host: &'h str) -> Option<&'h str> {
        host.strip_suffix(&*self.0)?.strip_suffix(".svc.")
    }

    /// Name and namespace of the Service that a full name stands for, whether there is one or not.
    pub fn service_name<'h>(&self, host: &'h str) -> Option<(&'h str, &'h str)> {
        self.without(host)?
            .split_once('.')
            .filter(|(_, namespace)| !namespace.contains('.'))
    }
}

/// `discovery --domain cluster.local` in a pod of istiod's, `proxy sidecar --domain
/// $(POD_NAMESPACE).svc.cluster.local` in others.
fn of_pod(pod: &Object) -> Option<&str> {
    let containers = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| pod.spec_list(list));
    containers.into_iter().find_map(|container| {
        let mut args = container
            .get("args")
            .map_or(&[][..], Node::items)
            .iter()
            .filter_map(Node::str);
        let told = match container.str_at("name")? {
            "discovery" | "istio-proxy" => args.find(|arg| *arg == "--domain").and(args.next())?,
            _ => return None,
        };
        let domain = told.rsplit_once(".svc.").map_or(told, |(_, domain)| domain);
        (!domain.is_empty() && !domain.contains('$')).then_some(domain)
    })
}

/// `sidecar~10.244.0.9~cart-1.shop~shop.svc.cluster.local`
fn of_a_proxy(snapshot: &Snapshot) -> Option<String> {
    let (_, id) = snapshot.proxies_with(Shape::ConfigDump).next()?;
    let document = snapshot.open(id).ok()?;
    let mut configs = Raw::of(&document.text).ok()?.get("configs")?.elements();
    let node = configs
        .find_map(|config| config.at(["bootstrap", "node", "id"]))?
        .string()?;
    let (_, domain) = node.rsplit_once('~')?.1.split_once(".svc.")?;
    (!domain.is_empty()).then(|| domain.to_owned())
}

#[cfg(test)]
mod tests;
