//! `proxy-config secret`: certificates and roots, as facts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Table;
use meshladder_capture::envoy::dump::{Dump, Resource, ResourceState, Section};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;
use meshladder_text::x509::{self, Certificate};

/// One certificate, or one secret that has none.
#[derive(Clone, Debug)]
pub struct SecretRow<'a> {
    name: Cow<'a, str>,
    state: ResourceState,
    certificate: Option<Result<Certificate, String>>,
    trust_domain: Option<String>,
    /// Whether it is the first of its secret. istioctl shows no other.
    first: bool,
}

/// The certificates of all secrets: those of warming ones first, then those in use.
pub fn select<'a>(dump: &Dump<'a>) -> Vec<SecretRow<'a>> {
    let mut rows: Vec<_> = dump.of(Section::Secrets).flat_map(rows).collect();
    rows.sort_by_key(|row| row.state != ResourceState::Warming);
    rows
}

/// The table; "valid" is meant at `now`, and `named` prefixes each name as `proxy-config all` does.
/// `wide` shows every certificate of a chain, and whose it is.
pub fn table<'a>(rows: &[SecretRow<'a>], now: Option<Time>, named: bool, wide: bool) -> Table<'a> {
    const HEADER: [&str; 12] = [
        "RESOURCE NAME",
        "TYPE",
        "STATUS",
        "VALID CERT",
        "SERIAL NUMBER",
        "NOT AFTER",
        "NOT BEFORE",
        "TRUST DOMAIN",
        "SUBJECT",
        "ISSUER",
        "SANS",
        "SHA-256",
    ];
    let shown: Vec<_> = rows
        .iter()
        .filter(|row| wide || row.first && row.state != ResourceState::Static)
        .collect();
    let trust_domains = shown.iter().all(|row| row.trust_domain.is_some());
    let columns = if wide {
        HEADER.len()
    } else {
        7 + usize::from(trust_domains && !shown.is_empty())
    };
    let mut table = Table::new(5, &HEADER[..columns]);
    for row in shown {
        let mut cells = cells(row, now);
        if named {
            cells[0] = format!("secret/{}", row.name).into();
        }
        table.row(cells.into_iter().take(columns));
    }
    table
}

fn cells<'a>(row: &SecretRow<'a>, now: Option<Time>) -> [Cow<'a, str>; 12] {
    let start = [row.name.clone(), Cow::default(), row.state.word().into()];
    let trust_domain: Cow<'a, str> = row.trust_domain.clone().unwrap_or_default().into();
    let [name, _, state] = start;
    match &row.certificate {
        Some(Ok(c)) => {
            let valid = now.map_or("unknown", |now| {
                if c.not_before <= now && now <= c.not_after {
                    "true"
                } else {
                    "false"
                }
            });
            let kind = if c.is_ca { "CA" } else { "Cert Chain" };
            let texts = [
                c.serial.clone(),
                c.not_after.to_string(),
                c.not_before.to_string(),
            ]
            .map(Cow::from);
            let [serial, not_after, not_before] = texts;
            let [subject, issuer, sans, sha256] = [
                c.subject.clone(),
                c.issuer.clone(),
                c.sans.join(","),
                c.sha256.clone(),
            ]
            .map(Cow::from);
            [
                name,
                kind.into(),
                state,
                valid.into(),
                serial,
                not_after,
                not_before,
                trust_domain,
                subject,
                issuer,
                sans,
                sha256,
            ]
        }
        broken => {
            let why = broken
                .as_ref()
                .and_then(|c| c.as_ref().err())
                .map(|e| Cow::from(format!("unreadable: {e}")));
            let mut cells = [const { Cow::Borrowed("") }; 12];
            (cells[0], cells[2], cells[3], cells[7], cells[8]) = (
                name,
                state,
                "false".into(),
                trust_domain,
                why.unwrap_or_default(),
            );
            cells
        }
    }
}

fn rows<'a>(secret: &Resource<'a>) -> Vec<SecretRow<'a>> {
    let mut rows = Vec::new();
    for (trust_domain, pem) in bundles(secret.raw) {
        for (place, certificate) in x509::from_pem(&pem).into_iter().enumerate() {
            let own = certificate
                .as_ref()
                .ok()
                .and_then(|c| c.trust_domain().map(str::to_owned));
            let trust_domain = trust_domain.clone().or(own);
            let first = place == 0;
            rows.push(SecretRow {
                name: secret.name.clone(),
                state: secret.state,
                certificate: Some(certificate),
                trust_domain,
                first,
            });
        }
    }
    if rows.is_empty() {
        // Never delivered, or nothing a certificate is in: that it exists is worth a row.
        let (name, state) = (secret.name.clone(), secret.state);
        rows.push(SecretRow {
            name,
            state,
            certificate: None,
            trust_domain: None,
            first: true,
        });
    }
    rows
}

/// Trust domain (when the secret is a bundle per trust domain) and PEM of each bundle.
fn bundles(secret: Option<Raw<'_>>) -> Vec<(Option<String>, Vec<u8>)> {
    let Some(secret) = secret else {
        return Vec::new();
    };
    let validators = secret.at([
        "validation_context",
        "custom_validator_config",
        "typed_config",
    ]);
    let mut found: Vec<_> = validators
        .into_iter()
        .flat_map(|config| config.list("trust_domains"))
        .filter_map(|domain| {
            Some((
                domain.string_at("name").map(String::from),
                data(domain.get("trust_bundle")?)?,
            ))
        })
        .collect();
    let sources = [
        ["tls_certificate", "certificate_chain"],
        ["validation_context", "trusted_ca"],
    ];
    found.extend(
        sources
            .iter()
            .filter_map(|path| Some((None, data(secret.at(*path)?)?))),
    );
    found
}

/// The bytes of a `DataSource` that are in the dump.
fn data(source: Raw<'_>) -> Option<Vec<u8>> {
    if let Some(bytes) = source.string_at("inline_bytes") {
        return STANDARD.decode(bytes.as_bytes()).ok();
    }
    source
        .string_at("inline_string")
        .map(|text| text.into_owned().into_bytes())
}

/// Of each secret that is in use the certificate that expires first, by name.
pub fn soonest(dump: &Dump<'_>) -> BTreeMap<String, Certificate> {
    let mut found: BTreeMap<String, Certificate> = BTreeMap::new();
    for row in select(dump)
        .into_iter()
        .filter(|row| row.state != ResourceState::Warming)
    {
        let Some(Ok(certificate)) = row.certificate else {
            continue;
        };
        let known = found
            .entry(row.name.into_owned())
            .or_insert_with(|| certificate.clone());
        if certificate.not_after < known.not_after {
            *known = certificate;
        }
    }
    found
}

/// SHA-256 of every certificate in the secret `ROOTCA`.
pub fn root_fingerprints(dump: &Dump<'_>) -> BTreeSet<String> {
    let roots = dump
        .of(Section::Secrets)
        .filter(|r| r.name == "ROOTCA")
        .flat_map(rows);
    roots
        .filter_map(|row| Some(row.certificate?.ok()?.sha256))
        .collect()
}
