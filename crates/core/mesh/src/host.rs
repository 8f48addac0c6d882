//! Names of hosts as Istio reads them: short names, wildcards, and which of several is the most
//! specific.

use std::cmp::Ordering;

use meshladder_text::text::Text;

/// Whether every name that `host` stands for is one that `pattern` stands for: `*.com` covers
/// `*.b.com` and `a.com`.
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
        Self {
            exact: exact.into(),
            wildcards: wildcards.into(),
            odd: odd.into(),
        }
    }

    /// All whose hosts cover this one, in the order of their positions.
    pub(super) fn covering(&self, host: &str) -> Vec<usize> {
        let tail = host.strip_prefix('*').unwrap_or(host);
        let suffixes = tail
            .match_indices('.')
            .map(|(at, _)| &tail[at..])
            .chain([""]);
        let mut found: Vec<usize> = Vec::new();
        if tail == host {
            found.extend(named(&self.exact, |own| own.cmp(host)));
        }
        for suffix in suffixes {
            found.extend(named(&self.wildcards, |own| own[1..].cmp(suffix)));
        }
        if !self.odd.is_empty() {
            let suffixes = tail.char_indices().map(|(at, _)| &tail[at..]);
            found.extend(
                suffixes.flat_map(|suffix| named(&self.odd, move |own| own[1..].cmp(suffix))),
            );
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The positions of those that compare as equal.
fn named(
    sorted: &[(Text, usize)],
    compare: impl Fn(&str) -> Ordering,
) -> impl Iterator<Item = usize> {
    let start = sorted.partition_point(|(own, _)| compare(own).is_lt());
    let alike = sorted[start..]
        .iter()
        .take_while(move |(own, _)| compare(own).is_eq());
    alike.map(|(_, position)| *position)
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
            assert_eq!(
                (covers(pattern, host), overlaps(pattern, host)),
                (covered, overlap),
                "{pattern} {host}"
            );
        }
    }

    #[test]
    fn the_index_finds_what_covers_a_host() {
        let hosts = [
            "*", "a.b.test", "*.test", "*-x.test", "c.test", "*.b.test", "a.b.test",
        ];
        let index = HostIndex::of(
            hosts
                .iter()
                .enumerate()
                .map(|(position, host)| ((*host).into(), position)),
        );
        for host in [
            "a.b.test", "c-x.test", "c.test", "test", "*.b.test", "*.test", "*",
        ] {
            let expected: Vec<_> = (0..hosts.len())
                .filter(|&i| covers(hosts[i], host))
                .collect();
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
