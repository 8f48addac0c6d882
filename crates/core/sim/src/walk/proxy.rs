//! One proxy's configuration, compiled for a walk. What only some requests meet is compiled when
//! one first does.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::documents::Loaded;
use crate::chain::FilterChain;
use crate::cluster::Clusters;
use crate::filters::{HttpFilters, Overrides};
use crate::listener::Listeners;
use crate::network::{NetworkFilterKind, NetworkFilters};
use crate::path::RequestPreparation;
use crate::rbac::RbacFilter;
use crate::route::{RouteDecision, RouteTable, RouteTarget};
use crate::runtime::Runtime;
use crate::tls::{Secrets, Transport};
use crate::upgrade::Upgrades;
use meshladder_capture::envoy::clusters::ClusterStatuses as Statuses;
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::snapshot::{DocId, ProxyRef};
use meshladder_text::json::Raw;
use meshladder_text::x509;

/// A proxy, ready to be asked.
pub(super) struct Proxy<'a> {
    pub(super) id: &'a ProxyRef,
    pub(super) doc: &'a DocId,
    pub(super) listeners: Listeners<'a>,
    pub(super) clusters: Clusters<'a>,
    pub(super) secrets: Secrets<'a>,
    /// The SPIFFE identity in its own certificate.
    pub(super) identity: Option<String>,
    /// The id of its cluster, as it says itself.
    pub(super) cluster_id: Option<String>,
    pub(super) dump: Dump<'a>,
    runtime: Runtime<'a>,
    /// By the place of the filter chain in the dump.
    chains: Cache<usize, Inside<'a>>,
    /// By the place of the route configuration.
    tables: Cache<usize, RouteTable<'a>>,
    /// By the places of the route and of the entry of its weighted clusters.
    overrides: Cache<(usize, usize), Overrides>,
    no_overrides: Rc<Overrides>,
}

/// The inside of a filter chain.
pub(super) struct Inside<'a> {
    pub(super) transport: Transport<'a>,
    pub(super) filters: NetworkFilters<'a>,
    /// The policies of each of them.
    pub(super) policies: Vec<Option<RbacFilter>>,
    pub(super) manager: Option<Manager<'a>>,
}

/// A connection manager.
pub(super) struct Manager<'a> {
    pub(super) at: usize,
    pub(super) before: RequestPreparation,
    pub(super) upgrades: Upgrades,
    /// None when the proxy does not have it.
    pub(super) table: Option<Rc<RouteTable<'a>>>,
    pub(super) filters: HttpFilters<'a>,
    /// Whether the filter `istio.alpn` says which HTTP a request is.
    pub(super) says_http: bool,
}

impl<'a> Proxy<'a> {
    /// Compiles a proxy's documents.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn compile(loaded: &'a Loaded) -> Result<Self, String> {
        let dump = Dump::index(&loaded.dump.text, &Section::ALL)
            .map_err(|fault| loaded.dump.problem(&fault).to_string())?;
        if let Some(fault) = dump.fault.as_ref().or(dump.odd.first()) {
            return Err(loaded.dump.problem(fault).to_string());
        }
        let statuses = loaded
            .statuses
            .as_deref()
            .and_then(|text| Statuses::read(text).ok());
        Ok(Self {
            id: &loaded.proxy,
            doc: &loaded.dump.id,
            runtime: dump
                .section(Section::Bootstrap)
                .map(Runtime::compile)
                .unwrap_or_default(),
            listeners: Listeners::compile(&dump),
            clusters: Clusters::compile(&dump, statuses.as_ref()),
            secrets: Secrets::compile(&dump),
            identity: identity(&dump),
            cluster_id: cluster_id(&dump),
            dump,
            chains: Cache::default(),
            tables: Cache::default(),
            overrides: Cache::default(),
            no_overrides: Rc::default(),
        })
    }

    /// What is inside a filter chain.
    pub(super) fn inside(&self, chain: &FilterChain<'a>) -> Rc<Inside<'a>> {
        self.chains.get(chain.at, || {
            let filters = NetworkFilters::compile(chain.raw);
            let policies = filters.filters.iter().map(|filter| match filter.kind {
                NetworkFilterKind::Rbac => filter.config.map(RbacFilter::compile),
                _ => None,
            });
            let manager = filters
                .filters
                .iter()
                .find(|filter| matches!(filter.kind, NetworkFilterKind::HttpConnectionManager));
            Inside {
                transport: Transport::compile(chain.raw.get("transport_socket")),
                policies: policies.collect(),
                manager: manager
                    .and_then(|filter| filter.config)
                    .map(|config| self.manager(config)),
                filters,
            }
        })
    }

    fn manager(&self, config: Raw<'a>) -> Manager<'a> {
        let table = config.get("route_config").or_else(|| {
            let name = config.at(["rds", "route_config_name"])?.string()?;
            self.dump
                .of(Section::Routes)
                .find(|r| r.name == name)
                .and_then(|r| r.raw)
        });
        let filters = HttpFilters::compile(config, &self.runtime, &|name| self.extension(name));
        Manager {
            at: config.offset(),
            before: RequestPreparation::compile(config, &self.runtime),
            upgrades: Upgrades::compile(config),
            table: table.map(|raw| {
                self.tables
                    .get(raw.offset(), || RouteTable::compile(raw, &self.runtime))
            }),
            says_http: filters
                .filters()
                .iter()
                .any(|filter| filter.name == "istio.alpn"),
            filters,
        }
    }

    /// What a route and the things around it say of filters; `branch` is the one of the weighted
    /// clusters.
    pub(super) fn overrides(
        &self,
        decision: &RouteDecision<'_, 'a>,
        branch: Option<usize>,
    ) -> Rc<Overrides> {
        let branch = match &decision.target {
            RouteTarget::Clusters(all) => branch.and_then(|number| all.get(number)),
            _ => None,
        };
        if !decision.has_overrides(branch) {
            return Rc::clone(&self.no_overrides);
        }
        let entry = branch
            .and_then(|branch| branch.entry)
            .map_or(0, |entry| entry.raw.offset());
        let key = (decision.route.raw.offset(), entry);
        self.overrides.get(key, || {
            Overrides::of_scopes(&decision.scopes(branch), &self.runtime)
        })
    }

    /// What ECDS delivered for a filter.
    fn extension(&self, name: &str) -> Option<Raw<'a>> {
        self.dump
            .of(Section::Ecds)
            .find(|r| r.name == name)
            .and_then(|r| r.raw)
    }
}

/// Values that are made once and then shared.
struct Cache<K, V>(RefCell<HashMap<K, Rc<V>>>);

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<K: Eq + Hash, V> Cache<K, V> {
    fn get(&self, key: K, make: impl FnOnce() -> V) -> Rc<V> {
        if let Some(value) = self.0.borrow().get(&key) {
            return Rc::clone(value);
        }
        let value = Rc::new(make());
        self.0.borrow_mut().insert(key, Rc::clone(&value));
        value
    }
}

fn cluster_id(dump: &Dump<'_>) -> Option<String> {
    let node = dump
        .section(Section::Bootstrap)?
        .at(["bootstrap", "node", "metadata"])?;
    Some(node.string_at("CLUSTER_ID")?.into_owned())
}

fn identity(dump: &Dump<'_>) -> Option<String> {
    let secret = dump
        .of(Section::Secrets)
        .find(|r| r.name == "default")?
        .raw?;
    let chain = secret
        .at(["tls_certificate", "certificate_chain", "inline_bytes"])?
        .string()?;
    let certificates = x509::from_pem(&STANDARD.decode(chain.as_bytes()).ok()?);
    let sans = certificates.into_iter().next()?.ok()?.sans;
    sans.into_iter()
        .find_map(|san| san.strip_prefix("URI:").map(str::to_owned))
}
