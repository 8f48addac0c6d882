//! `proxy-config listener`.

use std::borrow::Cow;

use super::Table;
use meshladder_capture::envoy::clusters::HostAddress;
use meshladder_capture::envoy::dump::{Dump, Resource, ResourceState, Section};

mod chain;
mod chain_match;

use chain::Chain;

/// istioctl's filters.
#[derive(Clone, Debug, Default)]
pub struct ListenerFilter {
    /// `--address`
    pub address: Option<String>,
    /// `--port`
    pub port: Option<u64>,
    /// `--type`
    pub kind: Option<String>,
}

/// One listener, as far as a listing shows it.
#[derive(Clone, Debug)]
pub struct ListenerRow<'d, 'a> {
    /// The dump's entry.
    pub resource: &'d Resource<'a>,
    addresses: Vec<HostAddress<'a>>,
    chains: Vec<Chain>,
}

/// The listeners the filter accepts, in the dump's order: dynamic ones, then static ones. What is
/// warming, draining or refused is not in use: only `wide` asks for it.
pub fn select<'d, 'a>(
    dump: &'d Dump<'a>,
    filter: &ListenerFilter,
    wide: bool,
) -> Vec<ListenerRow<'d, 'a>> {
    let shown = |r: &&Resource<'_>| {
        wide || matches!(r.state, ResourceState::Active | ResourceState::Static)
    };
    let read = |resource| ListenerRow::read(resource);
    let mut found: Vec<_> = dump
        .of(Section::Listeners)
        .filter(shown)
        .map(read)
        .filter(|l| l.accepted(filter))
        .collect();
    found.sort_by_key(|l| l.resource.state == ResourceState::Static);
    found
}

/// The short table: a row a filter chain with `verbose`, else a row a listener.
pub fn table<'a>(
    mut listeners: Vec<ListenerRow<'_, 'a>>,
    verbose: bool,
    named: bool,
    wide: bool,
) -> Table<'a> {
    const VERBOSE: [&str; 7] = [
        "NAME",
        "ADDRESSES",
        "PORT",
        "MATCH",
        "DESTINATION",
        "STATE",
        "REJECTED",
    ];
    const BRIEF: [&str; 6] = ["NAME", "ADDRESSES", "PORT", "TYPE", "STATE", "REJECTED"];
    let header: &[&str] = if verbose { &VERBOSE } else { &BRIEF };
    // `wide` names the listener too: that is what logs and Envoy's own messages call it.
    let columns = usize::from(!named && !wide)..header.len() - if wide { 0 } else { 2 };
    let mut table = Table::new(1, &header[columns.clone()]);
    listeners.sort_by_cached_key(|l| (l.port(), l.address_text(), l.kind()));
    for listener in &listeners {
        let [name, addresses, port] = listener.identity(named);
        let rejected = listener
            .resource
            .error
            .as_ref()
            .map(|e| e.details.clone())
            .unwrap_or_default();
        let state = listener.resource.state.word();
        let mut add = |cells: &[String]| {
            let mut row = vec![name.clone(), addresses.clone(), port.clone()];
            row.extend(cells.iter().cloned().map(Cow::Owned));
            row.extend([state.into(), rejected.clone()]);
            table.row(row.into_iter().take(columns.end).skip(columns.start));
        };
        if verbose {
            listener
                .chains
                .iter()
                .for_each(|chain| add(&[chain.matches(wide), chain.destination.clone()]));
        } else {
            add(&[listener.kind().to_owned()]);
        }
    }
    table
}

impl<'d, 'a> ListenerRow<'d, 'a> {
    fn read(resource: &'d Resource<'a>) -> Self {
        let mut listener = Self {
            resource,
            addresses: Vec::new(),
            chains: Vec::new(),
        };
        let mut default_chain = None;
        let Some(raw) = resource.raw else {
            return listener;
        };
        raw.cursor().members(|key, value| match key {
            "address" => listener.addresses.insert(0, HostAddress::read(value)),
            "additional_addresses" => value.elements(|more| {
                more.members(|key, value| {
                    if key == "address" {
                        listener.addresses.push(HostAddress::read(value));
                    }
                });
            }),
            "filter_chains" => value.elements(|chain| listener.chains.push(Chain::read(chain))),
            "default_filter_chain" => default_chain = Some(Chain::read(value)),
            _ => {}
        });
        listener.chains.extend(default_chain);
        listener
            .chains
            .sort_by(|a, b| b.destination.cmp(&a.destination));
        listener
    }

    fn accepted(&self, filter: &ListenerFilter) -> bool {
        let address = |wanted: &String| {
            self.addresses
                .iter()
                .any(|a| host(a).eq_ignore_ascii_case(wanted))
        };
        filter.address.as_ref().is_none_or(address)
            && filter.port.is_none_or(|port| port == self.port())
            && filter
                .kind
                .as_ref()
                .is_none_or(|kind| kind.eq_ignore_ascii_case(self.kind()))
    }

    fn port(&self) -> u64 {
        self.addresses.first().map_or(0, HostAddress::port)
    }

    fn address_text(&self) -> String {
        self.addresses
            .iter()
            .map(host)
            .collect::<Vec<_>>()
            .join(",")
    }

    fn identity(&self, named: bool) -> [Cow<'a, str>; 3] {
        let name = if named {
            format!("listener/{}", self.resource.name).into()
        } else {
            self.resource.name.clone()
        };
        [
            name,
            self.address_text().into(),
            self.port().to_string().into(),
        ]
    }

    /// HTTP, TCP, HTTP+TCP or UNKNOWN, by the filters of all chains.
    fn kind(&self) -> &'static str {
        match (
            self.chains.iter().any(|c| c.http),
            self.chains.iter().any(|c| c.tcp),
        ) {
            (true, true) => "HTTP+TCP",
            (true, false) => "HTTP",
            (false, true) => "TCP",
            (false, false) => "UNKNOWN",
        }
    }
}

/// The address without its port; the bare path of a pipe; nothing for an internal listener.
fn host(address: &HostAddress<'_>) -> String {
    match address {
        HostAddress::Socket(host, _) => host.to_string(),
        HostAddress::Pipe(path) => path.to_string(),
        HostAddress::Internal(..) | HostAddress::Unknown => String::new(),
    }
}
