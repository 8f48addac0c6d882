//! What is wrong with an EnvoyFilter's patches.

use crate::finding::{Evidence, Fix};
use crate::rules::{Facts, Sink};
use meshladder_capture::Kind;
use meshladder_mesh::Object;
use meshladder_text::tree::{Node, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Its place depends on other filters, and nothing orders them.
    Relative,
    /// As above, and an earlier patch of the same name is for some proxies only.
    RelativeByVersion,
    Replace,
    Add,
    Remove,
}

/// Tells the first patch of each EnvoyFilter that has the fault.
pub(super) fn tell(facts: &Facts<'_>, fault: Fault, message: &str, advice: &str, out: &mut Sink) {
    for filter in facts.mesh.objects.of_kind(Kind::EnvoyFilter) {
        out.examined();
        let Some(patch) = faults(filter)
            .into_iter()
            .find(|(found, _)| *found == fault)
            .map(|(_, patch)| patch)
        else {
            continue;
        };
        let operation = patch.get("operation").unwrap_or(patch);
        let message = format!("{} {message}", filter.id);
        out.find(
            filter.id.clone(),
            message,
            Evidence::of(filter, operation, "the operation"),
        )
        .fix(Fix::advice(advice));
    }
}

fn faults(filter: &Object) -> Vec<(Fault, &Node)> {
    let is_ordered = filter
        .spec_at(["priority"])
        .is_some_and(|priority| priority.value != Value::Number("0".into()));
    let mut by_version = Vec::new();
    let mut found = Vec::new();
    for config in filter.spec_list("configPatches") {
        let Some(patch) = config
            .get("patch")
            .filter(|patch| patch.value != Value::Null)
        else {
            break;
        };
        let name = patch
            .at(["value", "name"])
            .and_then(Node::str)
            .unwrap_or_default();
        let fault = fault(
            config.str_at("applyTo").unwrap_or_default(),
            patch,
            is_ordered,
        );
        match fault {
            Some(Fault::Relative) if by_version.contains(&name) => {
                found.push((Fault::RelativeByVersion, patch));
            }
            Some(fault) => found.push((fault, patch)),
            None => {}
        }
        if config.at(["match", "proxy", "proxyVersion"]).is_some() {
            by_version.push(name);
        }
    }
    found
}

fn fault(apply_to: &str, patch: &Node, is_ordered: bool) -> Option<Fault> {
    let is_route = ["ROUTE_CONFIGURATION", "HTTP_ROUTE"].contains(&apply_to);
    let is_replaced = ["NETWORK_FILTER", "HTTP_FILTER", "VIRTUAL_HOST"].contains(&apply_to);
    match patch.str_at("operation")? {
        "ADD" if is_route => Some(Fault::Add),
        "REMOVE" if is_route => Some(Fault::Remove),
        "REPLACE" if !is_replaced => Some(Fault::Replace),
        "INSERT_BEFORE" | "INSERT_AFTER" | "REMOVE" | "REPLACE" if !is_ordered => {
            Some(Fault::Relative)
        }
        _ => None,
    }
}
