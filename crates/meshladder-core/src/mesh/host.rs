//! Names of hosts as Istio reads them: short names, wildcards, and which of several is the most specific.

use std::collections::BTreeMap;

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
    exact: BTreeMap<String, Vec<usize>>,
    /// By what follows `*`, when that is empty or starts with a dot.
    wildcards: BTreeMap<String, Vec<usize>>,
    /// Wildcards such as `*-api.test`.
    odd: Vec<(String, usize)>,
}

impl HostIndex {
    pub(super) fn add(&mut self, host: &str, position: usize) {
        let list = match host.strip_prefix('*') {
            None => self.exact.entry(host.to_owned()).or_default(),
            Some(suffix) if suffix.is_empty() || suffix.starts_with('.') => {
                self.wildcards.entry(suffix.to_owned()).or_default()
            }
            Some(suffix) => return self.odd.push((suffix.to_owned(), position)),
        };
        if list.last() != Some(&position) {
            list.push(position);
        }
    }

    /// Those with exactly this host.
    pub(super) fn named(&self, host: &str) -> &[usize] {
        let list = host.strip_prefix('*').map_or_else(|| self.exact.get(host), |suffix| self.wildcards.get(suffix));
        list.map_or(&[], Vec::as_slice)
    }

    /// All whose hosts cover this one, in the order of their positions.
    pub(super) fn covering(&self, host: &str) -> Vec<usize> {
        let tail = host.strip_prefix('*').unwrap_or(host);
        let suffixes = tail.match_indices('.').map(|(at, _)| &tail[at..]).chain([""]);
        let mut found: Vec<usize> = if tail == host { self.named(host).to_vec() } else { Vec::new() };
        found.extend(suffixes.filter_map(|suffix| self.wildcards.get(suffix)).flatten());
        found.extend(self.odd.iter().filter(|(suffix, _)| tail.ends_with(suffix)).map(|(_, position)| position));
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut index = HostIndex::default();
        let hosts = ["*", "a.b.test", "*.test", "*-x.test", "c.test", "*.b.test", "a.b.test"];
        for (position, host) in hosts.iter().enumerate() {
            index.add(host, position);
        }
        for host in ["a.b.test", "c-x.test", "c.test", "test", "*.b.test", "*.test", "*"] {
            let expected: Vec<_> = (0..hosts.len()).filter(|&i| covers(hosts[i], host)).collect();
            assert_eq!(index.covering(host), expected, "{host}");
        }
        assert_eq!((index.named("a.b.test"), index.named("*.test")), (&[1, 6][..], &[2][..]));
    }

    #[test]
    fn full_names_are_the_most_specific() {
        let mut hosts = ["*", "*.b.test", "a.test", "*.test"];
        hosts.sort_by_key(|host| specificity(host));
        assert_eq!(hosts, ["a.test", "*.b.test", "*.test", "*"]);
    }
}
