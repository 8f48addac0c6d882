//! One proxy's configuration, compiled for a walk.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::doc::json::Raw;
use crate::envoy::clusters::{self, Clusters as Statuses};
use crate::envoy::dump::{Dump, Section};
use crate::sim::cluster::Clusters;
use crate::sim::listener::Listeners;
use crate::sim::runtime::Runtime;
use crate::sim::tls::Secrets;
use crate::snapshot::{DocId, Document, ProxyRef, Shape, Snapshot};
use crate::x509;

/// A proxy's documents, read.
pub(super) struct Loaded {
    proxy: ProxyRef,
    dump: Document,
    /// `/clusters` in its JSON form.
    statuses: Option<String>,
}

/// A proxy, ready to be asked.
pub(super) struct Proxy<'a> {
    /// `namespace/pod`.
    pub(super) name: String,
    pub(super) doc: DocId,
    pub(super) dump: Dump<'a>,
    pub(super) runtime: Runtime<'a>,
    pub(super) listeners: Listeners<'a>,
    pub(super) clusters: Clusters<'a>,
    pub(super) secrets: Secrets<'a>,
    /// The SPIFFE identity in its own certificate.
    pub(super) identity: Option<String>,
}

impl Loaded {
    /// Reads a proxy's documents.
    ///
    /// # Errors
    /// The fact that is missing: the dump.
    pub(super) fn open(snapshot: &Snapshot, proxy: &ProxyRef) -> Result<Self, String> {
        let of = |shape| snapshot.proxies_with(shape).find(|(p, _)| p == proxy).map(|(_, id)| id);
        let missing = || format!("the config dump of {}/{}", proxy.namespace, proxy.pod);
        let dump = snapshot.open(of(Shape::ConfigDump).ok_or_else(missing)?).map_err(|problem| problem.to_string())?;
        let text = of(Shape::Clusters).and_then(|id| snapshot.open(id).ok());
        let statuses = text.and_then(|document| Some(clusters::as_json(&document.text).ok()?.into_owned()));
        Ok(Self { proxy: proxy.clone(), dump, statuses })
    }

    /// Whether the proxy says that an address is its own.
    pub(super) fn has_address(&self, address: IpAddr) -> bool {
        let Ok(dump) = Dump::index(&self.dump.text, &[]) else { return false };
        let ips =
            dump.section(Section::Bootstrap).and_then(|b| b.at(["bootstrap", "node", "metadata", "INSTANCE_IPS"]));
        let ips = ips.and_then(Raw::string).unwrap_or_default();
        ips.split(',').any(|ip| ip.trim().parse() == Ok(address))
    }
}

impl<'a> Proxy<'a> {
    /// Compiles a proxy's documents.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn compile(loaded: &'a Loaded) -> Result<Self, String> {
        let dump =
            Dump::index(&loaded.dump.text, &Section::ALL).map_err(|fault| loaded.dump.problem(&fault).to_string())?;
        if let Some(fault) = &dump.fault {
            return Err(loaded.dump.problem(fault).to_string());
        }
        let statuses = loaded.statuses.as_deref().and_then(|text| Statuses::read(text).ok());
        Ok(Self {
            name: format!("{}/{}", loaded.proxy.namespace, loaded.proxy.pod),
            doc: loaded.dump.id.clone(),
            runtime: dump.section(Section::Bootstrap).map(Runtime::compile).unwrap_or_default(),
            listeners: Listeners::compile(&dump),
            clusters: Clusters::compile(&dump, statuses.as_ref()),
            secrets: Secrets::compile(&dump),
            identity: identity(&dump),
            dump,
        })
    }

    /// The route configuration of that name.
    pub(super) fn route_config(&self, name: &str) -> Option<Raw<'a>> {
        self.dump.of(Section::Routes).find(|r| r.name == name).and_then(|r| r.raw)
    }

    /// What ECDS delivered for a filter.
    pub(super) fn extension(&self, name: &str) -> Option<Raw<'a>> {
        self.dump.of(Section::Ecds).find(|r| r.name == name).and_then(|r| r.raw)
    }
}

fn identity(dump: &Dump<'_>) -> Option<String> {
    let secret = dump.of(Section::Secrets).find(|r| r.name == "default")?.raw?;
    let chain = secret.at(["tls_certificate", "certificate_chain", "inline_bytes"])?.string()?;
    let certificates = x509::from_pem(&STANDARD.decode(chain.as_bytes()).ok()?);
    let sans = certificates.into_iter().next()?.ok()?.sans;
    sans.into_iter().find_map(|san| san.strip_prefix("URI:").map(str::to_owned))
}
