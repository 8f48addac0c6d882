//! `proxy-config cluster`.

use std::borrow::Cow;

use super::Table;
use meshladder_capture::envoy::dump::{Dump, Resource, ResourceState, Section};
use meshladder_capture::envoy::name::{ClusterName, istio_config};
use meshladder_text::json::Raw;

/// istioctl's filters: each is a substring of the whole cluster name.
#[derive(Clone, Debug, Default)]
pub struct ClusterFilter {
    /// `--fqdn`
    pub fqdn: Option<String>,
    /// `--direction`
    pub direction: Option<String>,
    /// `--subset`
    pub subset: Option<String>,
    /// `--port`
    pub port: Option<u64>,
}

impl ClusterFilter {
    fn accepts(&self, name: &str) -> bool {
        let contains = |part: &Option<String>| {
            part.as_ref()
                .is_none_or(|part| name.contains(part.as_str()))
        };
        let port = self
            .port
            .is_none_or(|port| name.contains(&format!("|{port}|")));
        contains(&self.fqdn) && contains(&self.direction) && contains(&self.subset) && port
    }
}

/// The clusters a listing shows, sorted by host, subset, port and direction. Envoy does not use
/// clusters that are warming or were refused: only `wide` asks for them.
pub fn select<'d, 'a>(
    dump: &'d Dump<'a>,
    filter: &ClusterFilter,
    wide: bool,
) -> Vec<&'d Resource<'a>> {
    let shown = |r: &&Resource<'_>| {
        (wide || matches!(r.state, ResourceState::Active | ResourceState::Static))
            && filter.accepts(&r.name)
    };
    sorted(dump.of(Section::Clusters).filter(shown))
}

/// Resources by the parts of their cluster's name; among equals dynamic ones before static ones, as
/// istioctl lists them.
pub(super) fn sorted<'d, 'a>(
    resources: impl Iterator<Item = &'d Resource<'a>>,
) -> Vec<&'d Resource<'a>> {
    // Taking a name apart costs more than comparing two, so it is done once for each.
    let mut keyed: Vec<_> = resources
        .map(|r| (sort_key(&r.name), r.state == ResourceState::Static, r))
        .collect();
    keyed.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    keyed.into_iter().map(|(_, _, resource)| resource).collect()
}

/// Ports are compared as numbers.
fn sort_key(name: &str) -> (&str, &str, u64, &str) {
    match ClusterName::parse(name) {
        Some(n) => (n.host, n.subset, n.port.parse().unwrap_or(0), n.direction),
        None => (name, "", 0, ""),
    }
}

/// The short table; `named` adds the leading column of `proxy-config all`.
pub fn table<'a>(clusters: &[&Resource<'a>], named: bool, wide: bool) -> Table<'a> {
    const HEADER: [&str; 9] = [
        "NAME",
        "SERVICE FQDN",
        "PORT",
        "SUBSET",
        "DIRECTION",
        "TYPE",
        "DESTINATION RULE",
        "STATE",
        "REJECTED",
    ];
    let columns = usize::from(!named)..if wide { HEADER.len() } else { 7 };
    let mut table = Table::new(5, &HEADER[columns.clone()]);
    for cluster in clusters {
        let row = row(cluster, named);
        table.row(row.into_iter().take(columns.end).skip(columns.start));
    }
    table
}

fn row<'a>(cluster: &Resource<'a>, named: bool) -> [Cow<'a, str>; 9] {
    let prefixed = if named {
        format!("cluster/{}", cluster.name).into()
    } else {
        cluster.name.clone()
    };
    let [host, port, subset, direction] = match ClusterName::parse(&cluster.name) {
        Some(n) => [
            n.host.to_owned().into(),
            n.port.to_owned().into(),
            or_dash(n.subset),
            n.direction.to_owned().into(),
        ],
        None => [prefixed.clone(), "-".into(), "-".into(), "-".into()],
    };
    let ClusterOrigin { discovery, rule } = facts(cluster.raw);
    let rejected = cluster
        .error
        .as_ref()
        .map(|e| e.details.clone())
        .unwrap_or_default();
    [
        prefixed,
        host,
        port,
        subset,
        direction,
        discovery,
        rule,
        cluster.state.word().into(),
        rejected,
    ]
}

fn or_dash<'a>(subset: &str) -> Cow<'a, str> {
    if subset.is_empty() {
        "-".into()
    } else {
        subset.to_owned().into()
    }
}

#[derive(Default)]
struct ClusterOrigin<'a> {
    discovery: Cow<'a, str>,
    rule: Cow<'a, str>,
}

fn facts(raw: Option<Raw<'_>>) -> ClusterOrigin<'_> {
    let mut facts = ClusterOrigin {
        discovery: "STATIC".into(),
        ..ClusterOrigin::default()
    };
    let Some(raw) = raw else {
        return ClusterOrigin::default();
    };
    raw.cursor().members(|key, value| match key {
        "type" => facts.discovery = value.string().unwrap_or_default(),
        // A custom discovery type (aggregate, dynamic forward proxy) has a name instead of a word.
        "cluster_type" => {
            facts.discovery = value
                .raw()
                .and_then(|t| t.string_at("name"))
                .unwrap_or_default();
        }
        "metadata" => {
            facts.rule = value
                .raw()
                .and_then(istio_config)
                .map(Cow::Owned)
                .unwrap_or_default();
        }
        _ => {}
    });
    facts
}
