//! See the page beside this file.

use super::envoy_filter_for_nobody::{inserted, selects};
use super::in_sync::in_sync;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::fleet::Proxy;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::Section;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::scope::is_router;
use meshladder_text::json::escape;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0621",
    name: "envoy-filter-not-in-proxy",
    aka: &["IST0151"],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every filter that an EnvoyFilter inserts is in the proxies it selects",
    needs: Inputs::of(&[Kind::EnvoyFilter, Kind::Pod]),
    uses: Inputs::NONE.and(&[Part::Istiod]),
    explains: &[],
    docs: include_str!("envoy_filter_not_in_proxy.md"),
    check: Check::Proxy(check),
};

fn check(facts: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    let (Some(pod), Some(doc)) = (proxy.pod, &proxy.docs.config_dump) else {
        return;
    };
    let Some(listeners) = proxy
        .dump
        .as_ref()
        .and_then(|dump| dump.section(Section::Listeners))
    else {
        return;
    };
    let listeners = listeners.text();
    let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
        return;
    };
    for filter in facts.mesh.objects.of_kind(Kind::EnvoyFilter) {
        if !selects(facts.mesh, filter, stored) {
            continue;
        }
        for (name, patch) in inserted(filter).filter(|(_, patch)| is_for(patch, is_router(stored)))
        {
            out.examined();
            if listeners.contains(&escape(name)) {
                continue;
            }
            let anchor = anchor(patch).filter(|anchor| !listeners.contains(&escape(anchor)));
            let why = anchor.map_or_else(String::new, |anchor| {
                format!(": the filter {anchor} that it goes by is not there")
            });
            let message = format!(
                "{} inserts {name}, which is not in the proxy of {}{why}",
                filter.id, stored.id
            );
            let node = patch.get("patch").unwrap_or(patch);
            let finding = out.find(
                filter.id.clone(),
                message,
                Evidence::of(filter, node, "what it inserts"),
            );
            finding.see(Evidence::document(&doc.id, format!("{name} is not here")));
            finding.hits(pod.reference()).confidence(Confidence::Likely);
            // A proxy that is behind will get it, or has refused it: that is for the rung `sync`.
            if !in_sync(facts, proxy) {
                finding.severity(Severity::Info);
            }
            finding.fix(Fix::advice("use INSERT_FIRST, or an anchor that is there; of several EnvoyFilters the older and those of lower priority come first"));
        }
    }
}

/// Whether a patch is for this kind of proxy, and for all its listeners.
fn is_for(patch: &Node, router: bool) -> bool {
    let context = patch
        .at(["match", "context"])
        .and_then(Node::str)
        .unwrap_or("ANY");
    let narrow = ["portNumber", "name", "listenerFilter"]
        .iter()
        .any(|key| patch.at(["match", "listener", key]).is_some());
    let narrow_chain = [
        "name",
        "sni",
        "transportProtocol",
        "applicationProtocols",
        "destinationPort",
    ]
    .iter()
    .any(|key| {
        patch
            .at(["match", "listener", "filterChain", key])
            .is_some()
    });
    let versioned = patch.at(["match", "proxy"]).is_some();
    let kind = match context {
        "GATEWAY" => router,
        "SIDECAR_INBOUND" | "SIDECAR_OUTBOUND" => !router,
        _ => true,
    };
    kind && !narrow && !narrow_chain && !versioned
}

/// The filter that the new one is put beside.
fn anchor(patch: &Node) -> Option<&str> {
    let filter = patch.at(["match", "listener", "filterChain", "filter"])?;
    filter
        .at(["subFilter", "name"])
        .or_else(|| filter.get("name"))
        .and_then(Node::str)
}
