//! Hosts and gateways of a VirtualService.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::Object;
use crate::host::{covers, overlaps};
use crate::schema::fault::{Flaw, Repair, shown};
use crate::schema::fields::items;
use crate::schema::names;
use crate::schema::walk::SchemaWalk;
use meshladder_text::tree::Node;

/// Whether it is for gateways alone.
pub(super) fn is_for_gateways(object: &Object) -> bool {
    let gateways = object.spec_list("gateways");
    !gateways.is_empty() && gateways.iter().all(|gateway| gateway.str() != Some("mesh"))
}

/// Whether the hosts are names, each said once, and `*` only at a gateway.
pub(super) fn hosts<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    let for_gateways = is_for_gateways(walk.object);
    let mut all_good = true;
    for host in items(spec, "hosts") {
        let Some(name) = host.str() else { continue };
        let what = match problem(name, for_gateways, walk.object) {
            Some(what) => format!("is {}, {what}", shown(host)),
            None if name == "*" && !for_gateways => {
                "is \"*\", which only a VirtualService for gateways may have".to_owned()
            }
            None => continue,
        };
        all_good = false;
        walk.fault(Flaw::InvalidHost, host, what);
    }
    if all_good {
        all_apart(items(spec, "hosts"), walk);
    }
}

fn problem(name: &str, for_gateways: bool, object: &Object) -> Option<String> {
    if name.parse::<IpAddr>().is_ok() {
        return None;
    }
    // What passes between networks is told by names such as
    // `outbound_.80_._.cart.shop.svc.cluster.local`.
    if for_gateways && name.starts_with("outbound_.") && matches_sni(object) {
        return None;
    }
    names::host_problem(name, true)
}

fn matches_sni(object: &Object) -> bool {
    for tls in object.spec_list("tls") {
        for condition in items(tls, "match") {
            if !items(condition, "sniHosts").is_empty() {
                return true;
            }
        }
    }
    false
}

/// "Duplicates include literal duplicates as well as wildcard duplicates"
fn all_apart<'n>(hosts: &'n [Node], walk: &mut SchemaWalk<'n>) {
    if hosts.len() < 2 {
        return;
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut wildcards: Vec<&str> = Vec::new();
    for host in hosts {
        let Some(name) = host.str() else { continue };
        let is_wildcard = name.starts_with('*');
        let mut before = wildcards
            .iter()
            .find(|known| overlaps(known, name))
            .copied();
        if before.is_none() && seen.contains(name) {
            before = Some(name);
        }
        // Only a wildcard is compared with all: a VirtualService may have thousands of hosts.
        if before.is_none() && is_wildcard {
            before = seen.iter().find(|known| covers(name, known)).copied();
        }
        if let Some(before) = before {
            let what = format!("which {before} before it has too");
            walk.value_fault(Flaw::Duplicate, host, what);
        }
        seen.insert(name);
        if is_wildcard {
            wildcards.push(name);
        }
    }
}

/// "prefer the <namespace>/<name> format"
pub(super) fn legacy_gateways<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    for gateway in items(node, "gateways") {
        let name = gateway.str().unwrap_or_default();
        let Some((first, rest)) = name.split_once('.').filter(|_| !name.contains('/')) else {
            continue;
        };
        let better = format!("{}/{first}", rest.split('.').next().unwrap_or_default());
        if names::is_gateway(&better) {
            let what = format!("an old way to write {better}");
            walk.value_fault(Flaw::Deprecated, gateway, what).repair =
                Some(Repair::Replace(better.into()));
        }
    }
}

/// "SNI host is not a compatible subset of any of the virtual service hosts"
pub(super) fn tls_match<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    legacy_gateways(node, walk);
    let object = walk.object;
    for sni in items(node, "sniHosts") {
        let Some(name) = sni.str() else { continue };
        if name.parse::<IpAddr>().is_ok() {
            walk.value_fault(
                Flaw::NoEffect,
                sni,
                "and clients send names as SNI, not addresses",
            );
        } else if let Some(what) = problem(name, is_for_gateways(object), object) {
            walk.value_fault(Flaw::InvalidHost, sni, what.clone());
        } else if !object.spec_strings("hosts").any(|host| covers(host, name)) {
            walk.value_fault(Flaw::InvalidHost, sni, "which none of the hosts has");
        }
    }
}
