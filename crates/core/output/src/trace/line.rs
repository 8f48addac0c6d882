//! One line of JSON for one of many requests: how it ends and where it may go. What goes without
//! saying is left out, as there may be a million of them.

use crate::json;
use meshladder_sim::trace::{Branch, End, EndKind, Trace};
use serde::Serialize;
use serde_json::value::RawValue;

/// The line of the request on line `number`; `id` is the user's own name for it, as JSON.
pub fn to_line(number: usize, id: Option<&str>, trace: &Trace) -> String {
    let hop = trace.hops.first();
    let mut branches = Vec::new();
    for (weight, branch) in merged(&trace.branches) {
        branches.push(BranchLine {
            weight: weight.map(super::millionths),
            cluster: branch.cluster.as_deref(),
            end: EndLine::from(&branch.end),
        });
    }
    // A single branch says what the line says already.
    if branches.len() == 1 {
        branches.clear();
    }
    let mut clusters = Vec::new();
    for (name, weight) in hop.map_or(&[][..], |hop| &hop.clusters) {
        clusters.push(ClusterLine {
            name,
            weight: *weight,
        });
    }
    json::to_line(&TraceLine {
        line: number,
        id: id.and_then(|id| serde_json::from_str(id).ok()),
        end: EndLine::from(&trace.outcome),
        route: hop.and_then(|hop| hop.route.as_deref()),
        clusters,
        branches,
    })
}

/// The line of a request that could not be read, and why.
pub fn to_error_line(number: usize, why: &str) -> String {
    json::to_line(&ErrorLine {
        line: number,
        error: why,
    })
}

#[derive(Serialize)]
struct TraceLine<'a> {
    line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(flatten)]
    end: EndLine<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clusters: Vec<ClusterLine<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    branches: Vec<BranchLine<'a>>,
}

#[derive(Serialize)]
struct ErrorLine<'a> {
    line: usize,
    error: &'a str,
}

#[derive(Serialize)]
struct EndLine<'a> {
    kind: &'static str,
    code: u16,
    flags: &'a [&'static str],
    details: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    /// Of a request that gets through there is nothing to explain.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a str>,
}

impl<'a> From<&'a End> for EndLine<'a> {
    fn from(end: &'a End) -> Self {
        Self {
            kind: end.kind.word(),
            code: end.code,
            flags: &end.flags,
            details: &end.details,
            by: end.by.as_deref(),
            because: (end.kind != EndKind::Forwarded).then_some(&end.because),
        }
    }
}

#[derive(Serialize)]
struct ClusterLine<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<u64>,
}

#[derive(Serialize)]
struct BranchLine<'a> {
    weight: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
    #[serde(flatten)]
    end: EndLine<'a>,
}

/// Branches that differ only in the endpoint, as one.
fn merged(branches: &[Branch]) -> Vec<(Option<f64>, &Branch)> {
    let mut merged: Vec<(Option<f64>, &Branch)> = Vec::new();
    for branch in branches {
        match merged.iter_mut().find(|(_, other)| is_same(other, branch)) {
            Some((weight, _)) => *weight = weight.zip(branch.weight).map(|(a, b)| a + b),
            None => merged.push((branch.weight, branch)),
        }
    }
    merged
}

fn is_same(one: &Branch, other: &Branch) -> bool {
    let (a, b) = (&one.end, &other.end);
    a.kind == b.kind
        && a.code == b.code
        && a.flags == b.flags
        && a.details == b.details
        && a.by == b.by
        && one.cluster == other.cluster
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_sim::trace::Hop;

    #[test]
    fn branches_that_differ_in_the_endpoint_alone_are_one() {
        let end = |code| End::new(EndKind::Forwarded, code, "via_upstream", "");
        let branch = |weight, endpoint: &str, code| Branch {
            weight: Some(weight),
            cluster: Some("c".to_owned()),
            endpoint: endpoint
                .parse()
                .ok()
                .map(|at: std::net::SocketAddr| (at.ip(), at.port())),
            end: end(code),
        };
        let hop = Hop {
            route: Some("a\"b".to_owned()),
            clusters: vec![("c".to_owned(), None)],
            ..Hop::default()
        };
        let mut trace = Trace {
            hops: vec![hop],
            outcome: end(200),
            branches: vec![
                branch(0.25, "10.0.0.1:80", 200),
                branch(0.25, "10.0.0.2:80", 200),
            ],
        };
        let one = r#"{"line":7,"id":1.0,"kind":"forwarded","code":200,"flags":[],"details":"via_upstream","route":"a\"b","clusters":[{"name":"c"}]"#;
        assert_eq!(to_line(7, Some("1.0"), &trace), format!("{one}}}"));
        trace.branches.push(branch(0.5, "10.0.0.3:80", 503));
        let branches = r#","branches":[{"weight":0.5,"cluster":"c","kind":"forwarded","code":200,"flags":[],"details":"via_upstream"},{"weight":0.5,"cluster":"c","kind":"forwarded","code":503,"flags":[],"details":"via_upstream"}]"#;
        assert_eq!(
            to_line(7, Some("1.0"), &trace),
            format!("{one}{branches}}}")
        );
    }
}
