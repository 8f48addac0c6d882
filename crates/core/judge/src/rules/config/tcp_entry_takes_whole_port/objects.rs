//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::number;
use meshladder_text::tree::Node;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::ServiceEntry]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    if allocates(facts.mesh.config.tree.as_ref()) {
        return;
    }
    for entry in facts.mesh.objects.of_kind(Kind::ServiceEntry) {
        out.examined();
        let allocated = entry
            .node
            .at(["status", "addresses"])
            .map_or(&[][..], Node::items);
        if !entry.spec_list("addresses").is_empty() || !allocated.is_empty() {
            continue;
        }
        for port in entry.spec_list("ports") {
            let protocol = port.str_at("protocol").unwrap_or_default();
            if protocol.is_empty() || protocol.eq_ignore_ascii_case("TCP") {
                let number = port.get("number").and_then(number).unwrap_or_default();
                let message = format!(
                    "{} has TCP port {number} and no address, so it takes all traffic to that port",
                    entry.id
                );
                out.find(
                    entry.id.clone(),
                    message,
                    Evidence::of(entry, port, "a TCP port"),
                )
                .fix(Fix::advice(
                    "give spec.addresses a value, or name the protocol that is spoken",
                ));
            }
        }
    }
}

/// Whether proxies give every ServiceEntry an address.
fn allocates(config: Option<&Node>) -> bool {
    let metadata = config.and_then(|config| config.at(["defaultConfig", "proxyMetadata"]));
    let is_on = |key: &str| metadata.and_then(|metadata| metadata.str_at(key)) == Some("true");
    let allocates = is_on("ISTIO_META_DNS_AUTO_ALLOCATE") || is_on("PILOT_ENABLE_IP_AUTOALLOCATE");
    is_on("ISTIO_META_DNS_CAPTURE") && allocates
}
