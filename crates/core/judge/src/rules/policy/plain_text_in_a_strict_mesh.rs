//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::policies::{age, selector};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2605",
    name: "plain-text-in-a-strict-mesh",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "no PeerAuthentication lets in plain text where the whole mesh is to use mutual TLS",
    needs: Inputs::of(&[Kind::PeerAuthentication]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("plain_text_in_a_strict_mesh.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let root = &*facts.mesh.config.root_namespace;
    let for_all = facts
        .mesh
        .objects
        .in_namespace(Kind::PeerAuthentication, root);
    let for_all = for_all
        .filter(|policy| selector(policy.spec()).is_none())
        .min_by_key(|policy| age(&policy.node));
    let Some(for_all) = for_all.filter(|policy| mode(policy.spec_at(["mtls"])) == Some("STRICT"))
    else {
        return;
    };
    for policy in facts
        .mesh
        .objects
        .of_kind(Kind::PeerAuthentication)
        .iter()
        .filter(|policy| policy.id != for_all.id)
    {
        out.examined();
        if let Some(mtls) = policy.spec_at(["mtls"]).filter(|mtls| is_weak(mtls)) {
            tell(policy, mtls, "", for_all, out);
        }
        let ports = policy
            .spec_at(["portLevelMtls"])
            .map_or(&[][..], Node::members);
        for port in ports.iter().filter(|port| is_weak(&port.value)) {
            tell(
                policy,
                &port.value,
                &format!(" on port {}", port.key),
                for_all,
                out,
            );
        }
    }
}

fn tell(policy: &Object, mtls: &Node, at: &str, for_all: &Object, out: &mut Sink) {
    let mode = mode(Some(mtls)).unwrap_or_default();
    let message = format!(
        "{} says {mode}{at}, so plain text gets in, though {} wants mutual TLS in all of the mesh",
        policy.id, for_all.id
    );
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, mtls, "what it says"),
    );
    finding.see(Evidence::object(for_all, "what the mesh says"));
    // A single port is left open on purpose, for a probe or a scraper outside the mesh.
    if !at.is_empty() {
        finding.severity(Severity::Info);
    }
    finding.fix(Fix::advice(
        "set the mode to STRICT or UNSET once all clients have proxies",
    ));
}

fn is_weak(mtls: &Node) -> bool {
    matches!(mode(Some(mtls)), Some("DISABLE" | "PERMISSIVE"))
}

fn mode(mtls: Option<&Node>) -> Option<&str> {
    mtls?.str_at("mode")
}
