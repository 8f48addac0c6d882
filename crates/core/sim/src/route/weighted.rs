//! `config.route.v3.WeightedCluster`.

use std::borrow::Cow;

use super::RouteBranch;
use super::action::cluster_of_header;
use super::fraction::Dice;
use super::headers::HeaderChanges;
use crate::Request;
use crate::filters::FilterScope;
use crate::message;
use crate::runtime::Runtime;
use meshladder_text::json::Raw;

/// Compiled weighted clusters.
#[derive(Clone, Debug)]
pub struct WeightedClusters<'a> {
    /// The clusters in their order.
    pub clusters: Vec<WeightedCluster<'a>>,
    /// The sum of their weights.
    pub total: u64,
    /// `header_name`: a header with the number to choose by; empty when chance decides.
    header_name: Box<str>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct WeightedCluster<'a> {
    /// The cluster's name; empty when a header names it.
    pub name: Box<str>,
    /// The message as it stands in the dump.
    pub raw: Raw<'a>,
    /// Its weight.
    pub weight: u64,
    /// `host_rewrite_literal`; empty for none.
    pub host_rewrite_literal: Box<str>,
    pub(super) headers: HeaderChanges,
    pub(super) scope: FilterScope<'a>,
    cluster_header: Box<str>,
}

impl<'a> WeightedClusters<'a> {
    pub(super) fn compile(raw: Raw<'a>, runtime: &Runtime<'_>) -> Self {
        let prefix = message::text(raw, "runtime_key_prefix");
        let mut clusters = Vec::new();
        let mut total = 0;
        for raw in raw.list("clusters") {
            let cluster = WeightedCluster::compile(raw, &prefix, runtime);
            total += cluster.weight;
            clusters.push(cluster);
        }
        Self {
            clusters,
            total,
            header_name: message::header_name(raw, "header_name"),
        }
    }

    /// The clusters that the request may go to, or the fact that is missing to tell.
    pub(super) fn branches<'t>(
        &'t self,
        dice: Dice,
        request: &Request,
    ) -> Result<Vec<RouteBranch<'t, 'a>>, Box<str>> {
        // Envoy draws one number for all that chance decides in a request.
        let dice = dice.by(self.total);
        let (from, to) = match self.stated(request) {
            Some(number) => (number % self.total.max(1), number % self.total.max(1) + 1),
            None => (dice.from, dice.to),
        };

        // Each cluster has a range of the numbers below the total, in the order of the entries.
        let mut begin = 0;
        let mut branches = Vec::new();
        for entry in &self.clusters {
            let end = begin + entry.weight;
            let weight = end.min(to).saturating_sub(begin.max(from));
            begin = end;
            if weight == 0 {
                continue;
            }
            branches.push(RouteBranch {
                cluster: entry.cluster(request)?,
                weight,
                entry: Some(entry),
            });
        }
        Ok(branches)
    }

    /// The number in the header. "We expect single-valued header here … we treat multi-valued header as
    /// invalid input".
    fn stated(&self, request: &Request) -> Option<u64> {
        if self.header_name.is_empty() {
            return None;
        }
        let mut values = request.values(&self.header_name);
        let number = values.next()?.trim_ascii().parse().ok()?;
        if values.next().is_some() {
            return None;
        }
        Some(number)
    }
}

impl<'a> WeightedCluster<'a> {
    fn compile(raw: Raw<'a>, runtime_key_prefix: &str, runtime: &Runtime<'_>) -> Self {
        let name = message::text(raw, "name");
        let mut headers = HeaderChanges::default();
        let mut scope = FilterScope::default();
        for (key, value) in raw.members() {
            headers.read(&key, value);
            scope.read(&key, value);
        }
        Self {
            raw,
            headers,
            scope,
            weight: weight(raw, &name, runtime_key_prefix, runtime),
            host_rewrite_literal: message::text(raw, "host_rewrite_literal").into(),
            cluster_header: message::header_name(raw, "cluster_header"),
            name: name.into(),
        }
    }

    fn cluster(&self, request: &Request) -> Result<Cow<'_, str>, Box<str>> {
        // Either the entry names its cluster, or a header of the request does.
        if self.cluster_header.is_empty() {
            return Ok(Cow::Borrowed(&self.name));
        }
        cluster_of_header(&self.cluster_header, request).map(Cow::Owned)
    }
}

/// "runtime_key_prefix: Specifies the runtime key prefix that should be used to construct the
/// runtime keys associated with each cluster."
fn weight(entry: Raw<'_>, name: &str, runtime_key_prefix: &str, runtime: &Runtime<'_>) -> u64 {
    let weight = message::number(entry, "weight");
    if runtime_key_prefix.is_empty() {
        return weight;
    }
    let key = format!("{runtime_key_prefix}.{name}");
    runtime.integer(&key).unwrap_or(weight)
}
