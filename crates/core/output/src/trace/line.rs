//! One line of JSON for one of many requests: how it ends and where it may go.

use std::fmt::Write;

use meshladder_sim::trace::{Branch, End, EndKind, Trace};
use meshladder_text::json::escape_into;

/// Writes the line's members, without the braces around them.
pub fn write_line(out: &mut String, trace: &Trace) {
    write_end(out, &trace.outcome);
    if let Some(hop) = trace.hops.first() {
        if let Some(route) = &hop.route {
            out.push_str(",\"route\":");
            escape_into(out, route);
        }
        if !hop.clusters.is_empty() {
            write_clusters(out, &hop.clusters);
        }
    }
    let branches = merged(&trace.branches);
    if branches.len() > 1 {
        out.push_str(",\"branches\":[");
        for (number, (weight, branch)) in branches.iter().enumerate() {
            out.push_str(if number == 0 { "{" } else { ",{" });
            write_branch(out, *weight, branch);
            out.push('}');
        }
        out.push(']');
    }
}

fn write_end(out: &mut String, end: &End) {
    let _ = write!(
        out,
        "\"kind\":\"{}\",\"code\":{},\"flags\":[",
        end.kind.word(),
        end.code
    );
    for (number, flag) in end.flags.iter().enumerate() {
        out.push_str(if number == 0 { "\"" } else { ",\"" });
        out.push_str(flag);
        out.push('"');
    }
    out.push_str("],\"details\":");
    escape_into(out, &end.details);
    if let Some(by) = &end.by {
        out.push_str(",\"by\":");
        escape_into(out, by);
    }
    if end.kind != EndKind::Forwarded {
        out.push_str(",\"because\":");
        escape_into(out, &end.because);
    }
}

fn write_clusters(out: &mut String, clusters: &[(String, Option<u64>)]) {
    out.push_str(",\"clusters\":[");
    for (number, (name, weight)) in clusters.iter().enumerate() {
        out.push_str(if number == 0 {
            "{\"name\":"
        } else {
            ",{\"name\":"
        });
        escape_into(out, name);
        if let Some(weight) = weight {
            let _ = write!(out, ",\"weight\":{weight}");
        }
        out.push('}');
    }
    out.push(']');
}

fn write_branch(out: &mut String, weight: Option<f64>, branch: &Branch) {
    match weight {
        Some(weight) => write!(out, "\"weight\":{},", (weight * 1e6).round() / 1e6),
        None => write!(out, "\"weight\":null,"),
    }
    .expect("a String takes all text");
    if let Some(cluster) = &branch.cluster {
        out.push_str("\"cluster\":");
        escape_into(out, cluster);
        out.push(',');
    }
    write_end(out, &branch.end);
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
            endpoint: Some(endpoint.to_owned()),
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
        let line = |trace: &Trace| {
            let mut out = String::new();
            write_line(&mut out, trace);
            out
        };
        let one = r#""kind":"forwarded","code":200,"flags":[],"details":"via_upstream","route":"a\"b","clusters":[{"name":"c"}]"#;
        assert_eq!(line(&trace), one);
        trace.branches.push(branch(0.5, "10.0.0.3:80", 503));
        let branches = r#","branches":[{"weight":0.5,"cluster":"c","kind":"forwarded","code":200,"flags":[],"details":"via_upstream"},{"weight":0.5,"cluster":"c","kind":"forwarded","code":503,"flags":[],"details":"via_upstream"}]"#;
        assert_eq!(line(&trace), format!("{one}{branches}"));
    }
}
