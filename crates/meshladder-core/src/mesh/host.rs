//! Names of hosts as Istio reads them: short names, wildcards, and which of several is the most specific.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::net::IpAddr;

use crate::doc::text::Text;

/// What a Service's full name ends in.
pub const SERVICE_DOMAIN: &str = ".svc.cluster.local";

/// The full name of a host in an object of this namespace. Only a name without any dot is short: `catalog.shop` stays
/// `catalog.shop`, which is no Service.
pub fn fqdn<'h>(host: &'h str, namespace: &str) -> Cow<'h, str> {
    if host.is_empty() || host == "*" || host.contains('.') || host.parse::<IpAddr>().is_ok() {
        return Cow::Borrowed(host);
    }
    Cow::Owned(format!("{host}.{namespace}{SERVICE_DOMAIN}"))
}

/// Name and namespace of the Service that a full name stands for, whether there is one or not.
pub fn service_name(host: &str) -> Option<(&str, &str)> {
    host.strip_suffix(SERVICE_DOMAIN)?.split_once('.').filter(|(_, namespace)| !namespace.contains('.'))
}

/// Whether every name that `host` stands for is one that `pattern` stands for: `*.com` covers `*.b.com` and `a.com`.
pub fn covers(pattern: &str, host: &str) -> bool {
    match (pattern.strip_prefix('*'), host.strip_prefix('*')) {
        (Some(suffix), Some(rest)) => rest.ends_with(suffix),
        (Some(suffix), None) => host.ends_with(suffix),
        (None, _) => pattern == host,
    }
}

/// Whether there is a name that both stand for.
pub fn overlaps(a: &str, b: &str) -> bool {
    covers(a, b) || covers(b, a)
}

/// Sorts the most specific host first: full names, then the longer wildcard.
pub fn specificity(host: &str) -> impl Ord + use<> {
    (host.starts_with('*'), std::cmp::Reverse(host.len()))
}

/// Positions of objects by the hosts they are for, so that a lookup does not read them all.
#[derive(Debug, Default)]
pub(super) struct HostIndex {
    /// Sorted, which takes a fraction of a map's room.
    exact: Box<[(Text, usize)]>,
    /// Wildcards of which nothing or a dot follows the `*`, sorted.
    wildcards: Box<[(Text, usize)]>,
    /// Wildcards such as `*-api.test`, sorted.
    odd: Box<[(Text, usize)]>,
}

impl HostIndex {
    pub(super) fn of(hosts: impl Iterator<Item = (Text, usize)>) -> Self {
        let [mut exact, mut wildcards, mut odd] = [const { Vec::new() }; 3];
        for (host, position) in hosts {
            let list = match host.strip_prefix('*') {
                None => &mut exact,
                Some(suffix) if suffix.is_empty() || suffix.starts_with('.') => &mut wildcards,
                Some(_) => &mut odd,
            };
            list.push((host, position));
        }
        for list in [&mut exact, &mut wildcards, &mut odd] {
            list.sort_unstable();
            list.dedup();
        }
        Self { exact: exact.into(), wildcards: wildcards.into(), odd: odd.into() }
    }

    /// All whose hosts cover this one, in the order of their positions.
    pub(super) fn covering(&self, host: &str) -> Vec<usize> {
        let tail = host.strip_prefix('*').unwrap_or(host);
        let suffixes = tail.match_indices('.').map(|(at, _)| &tail[at..]).chain([""]);
        let mut found: Vec<usize> = Vec::new();
        if tail == host {
            found.extend(named(&self.exact, |own| own.cmp(host)));
        }
        for suffix in suffixes {
            found.extend(named(&self.wildcards, |own| own[1..].cmp(suffix)));
        }
        if !self.odd.is_empty() {
            let suffixes = tail.char_indices().map(|(at, _)| &tail[at..]);
            found.extend(suffixes.flat_map(|suffix| named(&self.odd, move |own| own[1..].cmp(suffix))));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The positions of those that compare as equal.
fn named(sorted: &[(Text, usize)], compare: impl Fn(&str) -> Ordering) -> impl Iterator<Item = usize> {
    let start = sorted.partition_point(|(own, _)| compare(own).is_lt());
    let alike = sorted[start..].iter().take_while(move |(own, _)| compare(own).is_eq());
    alike.map(|(_, position)| *position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_without_a_dot_is_short() {
        for (host, full) in [
            ("catalog", "catalog.shop.svc.cluster.local"),
            ("catalog.shop", "catalog.shop"),
            ("catalog.tools.svc.cluster.local", "catalog.tools.svc.cluster.local"),
            ("*", "*"),
            ("*.test", "*.test"),
            ("::1", "::1"),
            ("", ""),
        ] {
            assert_eq!(fqdn(host, "shop"), full);
        }
        assert_eq!(service_name("catalog.shop.svc.cluster.local"), Some(("catalog", "shop")));
        assert_eq!(service_name("a.catalog.shop.svc.cluster.local"), None);
        assert_eq!(service_name("catalog.shop"), None);
    }

    #[test]
    fn wildcards_cover_what_ends_like_them() {
        for (pattern, host, covered, overlap) in [
            ("a.test", "a.test", true, true),
            ("a.test", "b.test", false, false),
            ("*.test", "a.test", true, true),
            ("*.test", "test", false, false),
            ("*", "a.test", true, true),
            ("*.test", "*.b.test", true, true),
            ("*.b.test", "*.test", false, true),
            ("a.test", "*.test", false, true),
            ("*-x.test", "a-x.test", true, true),
        ] {
            assert_eq!((covers(pattern, host), overlaps(pattern, host)), (covered, overlap), "{pattern} {host}");
        }
    }

    #[test]
    fn the_index_finds_what_covers_a_host() {
        let hosts = ["*", "a.b.test", "*.test", "*-x.test", "c.test", "*.b.test", "a.b.test"];
        let index = HostIndex::of(hosts.iter().enumerate().map(|(position, host)| ((*host).into(), position)));
        for host in ["a.b.test", "c-x.test", "c.test", "test", "*.b.test", "*.test", "*"] {
            let expected: Vec<_> = (0..hosts.len()).filter(|&i| covers(hosts[i], host)).collect();
            assert_eq!(index.covering(host), expected, "{host}");
        }
    }

    #[test]
    fn full_names_are_the_most_specific() {
        let mut hosts = ["*", "*.b.test", "a.test", "*.test"];
        hosts.sort_by_key(|host| specificity(host));
        assert_eq!(hosts, ["a.test", "*.b.test", "*.test", "*"]);
    }
}
