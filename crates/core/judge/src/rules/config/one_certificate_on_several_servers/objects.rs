//! As the objects alone show it.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::gateways::servers;
use meshladder_mesh::labels::LabelIndex;
use meshladder_mesh::selector::has_labels;
use meshladder_text::tree::Node;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::Gateway]),
    uses: Inputs::NONE,
};

/// A Gateway and the `tls` of one of its servers.
type Use<'m> = (&'m Object, &'m Node);

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut uses: BTreeMap<String, Vec<Use<'_>>> = BTreeMap::new();
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway) {
        out.examined();
        for tls in servers(gateway).filter_map(|server| server.node.get("tls")) {
            if let Some(certificate) = certificate(tls) {
                uses.entry(certificate).or_default().push((gateway, tls));
            }
        }
    }
    let mut told = BTreeSet::new();
    for (certificate, uses) in uses.iter().filter(|(_, uses)| uses.len() > 1) {
        for ((gateway, tls), other) in shared(uses) {
            if told.insert(&gateway.id) {
                let message = format!(
                    "{} and {} use the same certificate, {certificate}: a browser that keeps its connection to one may send requests for the other",
                    gateway.id, other.id
                );
                out.find(
                    gateway.id.clone(),
                    message,
                    Evidence::of(gateway, tls, "the certificate"),
                )
                .fix(Fix::advice(
                    "put the hosts of one certificate into one Gateway",
                ));
            }
        }
    }
}

/// A Secret, or two files.
fn certificate(tls: &Node) -> Option<String> {
    let text = |key: &str| tls.str_at(key).filter(|text| !text.is_empty());
    let files = || {
        Some(format!(
            "{} with {}",
            text("serverCertificate")?,
            text("privateKey")?
        ))
    };
    text("credentialName").map(str::to_owned).or_else(files)
}

/// Those that another Gateway, for all or some of the same pods, has too. "If the selector of one
/// is part of the other's, the pods of the other are also its own."
fn shared<'m>(uses: &[Use<'m>]) -> Vec<(Use<'m>, &'m Object)> {
    let mut by_selector: BTreeMap<String, Vec<Use<'m>>> = BTreeMap::new();
    for used in uses {
        let selector = selector(used.0).map(Node::to_json).unwrap_or_default();
        by_selector.entry(selector).or_default().push(*used);
    }
    let firsts: Vec<&Object> = by_selector.values().map(|uses| uses[0].0).collect();
    let index = LabelIndex::of(
        firsts
            .iter()
            .map(|gateway| selector(gateway).map_or(&[][..], Node::members)),
    );
    let mut found = Vec::new();
    for (own, uses) in by_selector.values().enumerate() {
        let first = uses[0].0;
        let second = uses
            .iter()
            .map(|(gateway, _)| *gateway)
            .find(|gateway| gateway.id != first.id);
        let narrower = match selector(first) {
            None => firsts
                .iter()
                .enumerate()
                .find(|(other, _)| *other != own)
                .map(|(_, other)| *other),
            Some(labels) => {
                let near = index
                    .candidates(&[labels])
                    .unwrap_or(&[])
                    .iter()
                    .map(|(_, other)| *other);
                let mut others = near
                    .filter(|other| *other != own)
                    .map(|other| firsts[other]);
                others.find(|other| has_labels(labels, selector(other)))
            }
        };
        for used in uses {
            let beside = if used.0.id == first.id {
                second
            } else {
                Some(first)
            };
            found.extend(
                beside
                    .or(narrower)
                    .filter(|other| other.id != used.0.id)
                    .map(|other| (*used, other)),
            );
        }
    }
    found
}

fn selector(gateway: &Object) -> Option<&Node> {
    gateway
        .spec_at(["selector"])
        .filter(|selector| !selector.members().is_empty())
}
