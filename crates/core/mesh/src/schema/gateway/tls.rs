//! TLS of a server: which certificates go with which mode.

use crate::schema::fault::{Flaw, shown};
use crate::schema::fields::{at_most_one, entries, filled, has, items, text};
use crate::schema::walk::SchemaWalk;
use meshladder_text::tree::Node;

pub(super) fn settings<'n>(tls: &'n Node, walk: &mut SchemaWalk<'n>) {
    versions_and_ciphers(tls, walk);
    at_most_one(
        tls,
        &["credentialName", "credentialNames", "tlsCertificates"],
        walk,
    );
    match text(tls, "mode") {
        "ISTIO_MUTUAL" => {
            for field in [
                "serverCertificate",
                "privateKey",
                "caCertificates",
                "credentialName",
            ] {
                if let Some(file) = filled(tls, field) {
                    walk.fault(
                        Flaw::Misfit,
                        file,
                        "is set, and mode ISTIO_MUTUAL takes Istio's own certificates",
                    );
                }
            }
        }
        mode @ ("SIMPLE" | "MUTUAL" | "OPTIONAL_MUTUAL") => certificates(tls, mode, walk),
        mode => {
            let files = [
                "caCrl",
                "serverCertificate",
                "privateKey",
                "caCertificates",
                "credentialName",
            ];
            if let Some(file) = files.iter().find_map(|field| filled(tls, field)) {
                let mode = if mode.is_empty() { "PASSTHROUGH" } else { mode };
                walk.fault(
                    Flaw::NoEffect,
                    file,
                    format!("has no effect: mode {mode} uses no certificate"),
                );
            }
        }
    }
}

/// "SIMPLE TLS requires a server certificate", "MUTUAL TLS requires a client CA bundle"
fn certificates<'n>(tls: &'n Node, mode: &str, walk: &mut SchemaWalk<'n>) {
    let has_name =
        filled(tls, "credentialName").is_some() || entries(tls, "credentialNames").is_some();
    if has_name {
        return;
    }
    let mut missing = Vec::new();
    if entries(tls, "tlsCertificates").is_none() {
        missing.extend(
            ["serverCertificate", "privateKey"]
                .into_iter()
                .filter(|field| filled(tls, field).is_none()),
        );
    }
    let has_ca = filled(tls, "caCertificates").is_some() || has(tls, "caCertCredentialName");
    let has_ca = has_ca
        || items(tls, "tlsCertificates")
            .iter()
            .any(|one| filled(one, "caCertificates").is_some());
    if mode != "SIMPLE" && !has_ca {
        missing.push("caCertificates");
    }
    if !missing.is_empty() {
        let what = format!(
            "has mode {mode} and lacks credentialName, or {}",
            missing.join(" and ")
        );
        walk.fault(Flaw::MissingField, tls, what);
    }
    if let Some(crl) = filled(tls, "caCrl").filter(|_| mode == "SIMPLE") {
        walk.fault(
            Flaw::Misfit,
            crl,
            "is set, and mode SIMPLE asks for no client certificate",
        );
    }
}

/// "TLS version below TLSV1_2 require setting compatible ciphers", "ignoring invalid cipher suites"
fn versions_and_ciphers<'n>(tls: &'n Node, walk: &mut SchemaWalk<'n>) {
    let suites = items(tls, "cipherSuites");
    let is_old = matches!(text(tls, "minProtocolVersion"), "TLSV1_0" | "TLSV1_1");
    if let Some(least) = tls
        .get("minProtocolVersion")
        .filter(|_| is_old && suites.is_empty())
    {
        walk.fault(
            Flaw::NoEffect,
            least,
            "has no effect without cipherSuites: none of the usual ones fits it",
        );
    }
    for (at, suite) in suites.iter().enumerate() {
        let Some(name) = suite.str() else { continue };
        if !is_cipher(name) {
            walk.value_fault(
                Flaw::NoEffect,
                suite,
                "which is no cipher suite, and ignored",
            );
        } else if suites[..at].iter().any(|before| before.str() == Some(name)) {
            walk.fault(Flaw::NoEffect, suite, format!("repeats {}", shown(suite)));
        }
    }
}

/// Whether BoringSSL knows the suite; operators such as `-ALL` are not looked into.
fn is_cipher(name: &str) -> bool {
    const KNOWN: [&str; 15] = [
        "AES128-GCM-SHA256",
        "AES128-SHA",
        "AES256-GCM-SHA384",
        "AES256-SHA",
        "DES-CBC3-SHA",
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        "ECDHE-ECDSA-AES128-SHA",
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDHE-ECDSA-AES256-SHA",
        "ECDHE-ECDSA-CHACHA20-POLY1305",
        "ECDHE-RSA-AES128-GCM-SHA256",
        "ECDHE-RSA-AES128-SHA",
        "ECDHE-RSA-AES256-GCM-SHA384",
        "ECDHE-RSA-AES256-SHA",
        "ECDHE-RSA-CHACHA20-POLY1305",
    ];
    let is_operator = name.chars().next().is_none_or(|c| !c.is_alphanumeric());
    is_operator || name == "ALL" || KNOWN.contains(&name)
}
