//! TLS to Prometheus: the system's roots or those that are given, and our own certificate.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Config};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{AskError, Credentials};

/// Puts into a configuration whom we trust and who we are.
pub(super) fn configure(config: &mut Config, access: &Credentials) -> Result<(), AskError> {
    if let Some(path) = &access.cacert {
        config.root_cert = Some(certificates(path)?);
    }
    if let Some(own) = own(access)? {
        config.auth_info = own;
    }
    Ok(())
}

/// Our certificate and its key, which may stand in one file.
fn own(access: &Credentials) -> Result<Option<AuthInfo>, AskError> {
    let Some(cert) = &access.cert else {
        return match &access.key {
            None => Ok(None),
            Some(key) => Err(wrong(key, "a key without a certificate: give --cert too")),
        };
    };
    let key = access.key.as_ref().unwrap_or(cert);
    // The client library takes what it is given; what is none is told by its file here.
    certificates(cert)?;
    private_key(key)?;
    Ok(Some(AuthInfo {
        client_certificate_data: Some(STANDARD.encode(read(cert)?)),
        client_key_data: Some(STANDARD.encode(read(key)?).into()),
        ..AuthInfo::default()
    }))
}

fn certificates(path: &Path) -> Result<Vec<Vec<u8>>, AskError> {
    let pem = read(path)?;
    let mut found = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        found.push(certificate.map_err(|why| unreadable(path, &why))?.to_vec());
    }
    if found.is_empty() {
        return Err(wrong(path, "it has no certificate"));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<(), AskError> {
    match PrivateKeyDer::from_pem_slice(read(path)?.as_bytes()) {
        Ok(_) => Ok(()),
        Err(pem::Error::NoItemsFound) => Err(wrong(path, "it has no private key")),
        Err(why) => Err(unreadable(path, &why)),
    }
}

fn unreadable(path: &Path, why: &pem::Error) -> AskError {
    wrong(path, &why.to_string())
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
