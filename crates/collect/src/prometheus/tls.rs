//! TLS to Prometheus: rustls with ring, the system's roots or those that are given, and our own
//! certificate.

use std::path::Path;
use std::sync::Arc;

use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use super::{Access, AskError};

pub(super) fn config(access: &Access) -> Result<TlsConfig, AskError> {
    let roots = match &access.cacert {
        None => system(),
        Some(path) => certificates(path)?,
    };
    let config = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .client_cert(own(access)?)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
    Ok(config.build())
}

/// What the system trusts. Where it has nothing, no server is trusted, and the handshake says so.
fn system() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs().certs;
    found
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect()
}

/// Our certificate and its key, which may stand in one file.
fn own(access: &Access) -> Result<Option<ClientCert>, AskError> {
    let Some(cert) = &access.cert else {
        return match &access.key {
            None => Ok(None),
            Some(key) => Err(wrong(key, "a key without a certificate: give --cert too")),
        };
    };
    let key = access.key.as_ref().unwrap_or(cert);
    Ok(Some(ClientCert::new_with_certs(
        &certificates(cert)?,
        private_key(key)?,
    )))
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, AskError> {
    let found: Vec<_> = items(path)?
        .into_iter()
        .filter_map(|item| {
            if let PemItem::Certificate(certificate) = item {
                Some(certificate)
            } else {
                None
            }
        })
        .collect();
    if found.is_empty() {
        Err(wrong(path, "it has no certificate"))
    } else {
        Ok(found)
    }
}

fn private_key(path: &Path) -> Result<PrivateKey<'static>, AskError> {
    let key = items(path)?.into_iter().find_map(|item| {
        if let PemItem::PrivateKey(key) = item {
            Some(key)
        } else {
            None
        }
    });
    key.ok_or_else(|| wrong(path, "it has no private key"))
}

fn items(path: &Path) -> Result<Vec<PemItem<'static>>, AskError> {
    let pem = read(path)?;
    parse_pem(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|why| wrong(path, &why.to_string()))
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, AskError> {
    std::fs::read_to_string(path).map_err(|why| wrong(path, &crate::error::plain(&why)))
}

pub(super) fn wrong(path: &Path, why: &str) -> AskError {
    AskError::File {
        path: path.display().to_string(),
        why: why.to_owned(),
    }
}
