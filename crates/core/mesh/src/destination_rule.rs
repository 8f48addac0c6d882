//! `DestinationRule`: the one that applies to a client's calls to a host, and what it says.

use super::export::Export;
use super::host::{covers, specificity};
use super::policies::{age, selector};
use super::scope::Scope;
use super::{Domain, Mesh, Object};
use crate::selector::has_labels;
use crate::views::DestinationRule;
use crate::views::destination_rule::TrafficPolicy;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// Rules of one host and namespace, merged as istiod merges them.
#[derive(Clone, Debug)]
pub struct HostRules<'m> {
    /// The rules, the oldest first: what it says goes before what the others say.
    pub rules: Vec<&'m Object>,
    /// Where they were found.
    pub found_in: RuleNamespace,
}

/// Where a rule was found; istiod looks in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleNamespace {
    /// In the client's namespace.
    Client,
    /// In the service's namespace.
    Service,
    /// In the root namespace.
    Root,
}

/// Where an object stands in a sorted list that it is part of.
fn position(all: &[Object], object: &Object) -> Option<usize> {
    let start = all.partition_point(|other| other.id < object.id);
    let here = all[start..]
        .iter()
        .position(|other| std::ptr::eq(other, object))?;
    Some(start + here)
}

impl Mesh {
    /// The DestinationRules whose host is this one or covers it, wherever they are and whoever sees
    /// them.
    pub fn destination_rules_for<'m>(
        &'m self,
        host: &str,
    ) -> impl Iterator<Item = &'m Object> + use<'m> {
        let rules = self.objects.of_kind(Kind::DestinationRule);
        self.index
            .destination_rules
            .covering(host)
            .into_iter()
            .map(move |position| &rules[position])
    }

    /// The rule for a client's calls to a host: of the client's namespace, else of the service's,
    /// else of the root namespace. A wildcard in the client's namespace goes before a full name in
    /// the service's.
    pub fn destination_rule(&self, client: Scope<'_>, host: &str) -> Option<HostRules<'_>> {
        let all = self.objects.of_kind(Kind::DestinationRule);
        // Rules with a selector are for some pods of a namespace, whose labels decide.
        if self.index.has_selecting_rules {
            return self.find_destination_rule(client, host);
        }
        let (rules, found_in) = self.calls.destination_rules(client, host, || {
            let found = self.find_destination_rule(client, host)?;
            let positions = found.rules.iter().filter_map(|rule| position(all, rule));
            Some((positions.collect(), found.found_in))
        })?;
        Some(HostRules {
            rules: rules.iter().map(|position| &all[*position]).collect(),
            found_in,
        })
    }

    fn find_destination_rule(&self, client: Scope<'_>, host: &str) -> Option<HostRules<'_>> {
        let covering = self.destination_rules_of(host);
        if covering.is_empty() {
            return None;
        }
        let service = self
            .registry(client, host)
            .first()
            .map(|object| object.id.namespace.as_str());
        let root = &*self.config.root_namespace;
        let places = [
            (RuleNamespace::Client, Some(client.namespace)),
            (RuleNamespace::Service, service),
            (RuleNamespace::Root, Some(root)),
        ];
        places.into_iter().find_map(|(found_in, namespace)| {
            let near = covering
                .iter()
                .copied()
                .filter(|rule| Some(rule.id.namespace.as_str()) == namespace);
            let usable = most_specific(
                near.filter(|rule| self.is_looked_at(rule, found_in, client))
                    .collect(),
                host,
                &self.domain,
            );
            let seen = usable
                .into_iter()
                .filter(|rule| self.is_exported_to(rule, client.namespace))
                .collect();
            Some(HostRules {
                rules: self.merge(seen, client)?,
                found_in,
            })
        })
    }

    /// The rules whose host covers this one, seen or not.
    pub fn destination_rules_of(&self, host: &str) -> Vec<&Object> {
        let rules = self.objects.of_kind(Kind::DestinationRule);
        let covering = self.index.destination_rules.covering(host);
        covering
            .into_iter()
            .map(|position| &rules[position])
            .collect()
    }

    /// A client's own namespace gives all it exports to itself, but the root namespace only what is
    /// private: the rest of it comes last. The other places give what is not private.
    fn is_looked_at(&self, rule: &Object, found_in: RuleNamespace, client: Scope<'_>) -> bool {
        let is_private = self.export(rule) == Export::OwnNamespace;
        match found_in {
            RuleNamespace::Client if client.namespace == &*self.config.root_namespace => is_private,
            RuleNamespace::Client => self.is_exported_to(rule, client.namespace),
            RuleNamespace::Service | RuleNamespace::Root => !is_private,
        }
    }

    /// "If enabled, Istio merge destinationrules considering their exportTo fields, they will be
    /// kept as independent rules if the exportTos are not equal"; so are rules with different
    /// selectors. The first whose selector takes the client applies, else the last without one.
    fn merge<'m>(
        &'m self,
        mut rules: Vec<&'m Object>,
        client: Scope<'_>,
    ) -> Option<Vec<&'m Object>> {
        rules.sort_by_key(|rule| age(&rule.node));
        let mut groups: Vec<Vec<&Object>> = Vec::new();
        for rule in rules {
            let is_alike = |group: &&mut Vec<&Object>| {
                same_labels(selector(group[0].spec()), selector(rule.spec()))
                    && self.export(group[0]) == self.export(rule)
            };
            match groups.iter_mut().find(is_alike) {
                Some(group) => group.push(rule),
                None => groups.push(vec![rule]),
            }
        }
        let takes = |group: &Vec<&Object>| {
            selector(group[0].spec()).is_some_and(|labels| has_labels(labels, client.labels))
        };
        let chosen = groups.iter().position(takes);
        let chosen = chosen.or_else(|| {
            groups
                .iter()
                .rposition(|group| selector(group[0].spec()).is_none())
        });
        chosen.map(|at| groups.swap_remove(at))
    }
}

impl<'m> HostRules<'m> {
    /// The subsets; of several with one name the oldest rule's counts.
    pub fn subsets(&self) -> Vec<(&'m Object, &'m Node)> {
        let mut found: Vec<(&Object, &Node)> = Vec::new();
        for rule in &self.rules {
            for subset in DestinationRule::of(rule).subsets() {
                let is_new = found
                    .iter()
                    .all(|(_, known)| known.str_at("name") != subset.node.str_at("name"));
                if is_new {
                    found.push((rule, subset.node));
                }
            }
        }
        found
    }

    /// The subset of that name.
    pub fn subset(&self, name: &str) -> Option<(&'m Object, &'m Node)> {
        self.subsets()
            .into_iter()
            .find(|(_, subset)| subset.str_at("name") == Some(name))
    }

    /// The traffic policy of the whole host: of the oldest rule that has one.
    pub fn traffic_policy(&self) -> Option<(&'m Object, &'m Node)> {
        self.rules.iter().find_map(|rule| {
            let policy = DestinationRule::of(rule).traffic_policy()?;
            Some((*rule, policy.node))
        })
    }

    /// What holds for `tls`, `loadBalancer`, `connectionPool` or `outlierDetection` on a port, in a
    /// subset if one is named, with the object that says so.
    pub fn setting(
        &self,
        key: &str,
        port: u16,
        subset: Option<&str>,
    ) -> Option<(&'m Object, &'m Node)> {
        let of_subset = subset.and_then(|name| self.subset(name));
        let of_subset =
            of_subset.and_then(|(rule, subset)| Some((rule, subset.get("trafficPolicy")?)));
        for (rule, policy) in of_subset.into_iter().chain(self.traffic_policy()) {
            // "port level policies do not inherit and instead to defaults if not provided"
            if let Some(on_port) = port_level(policy, port) {
                return on_port.get(key).map(|node| (rule, node));
            }
            if let Some(node) = policy.get(key) {
                return Some((rule, node));
            }
        }
        None
    }
}

fn port_level(policy: &Node, port: u16) -> Option<&Node> {
    let mut settings = TrafficPolicy::of(policy).port_level();
    let of_port = settings.find(|setting| setting.port().is_some_and(|own| *own == port));
    of_port.map(|setting| setting.node)
}

/// Those whose host is the most specific that covers this one.
fn most_specific<'m>(mut rules: Vec<&'m Object>, host: &str, domain: &Domain) -> Vec<&'m Object> {
    let full = |rule: &Object| {
        let rule = DestinationRule::of(rule);
        domain.fqdn(rule.host(), rule.namespace()).into_owned()
    };
    let best = rules
        .iter()
        .map(|rule| full(rule))
        .filter(|name| covers(name, host))
        .min_by_key(|n| specificity(n));
    rules.retain(|rule| Some(full(rule)) == best);
    rules
}

fn same_labels(a: Option<&Node>, b: Option<&Node>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.members().len() == b.members().len() && has_labels(a, Some(b)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
