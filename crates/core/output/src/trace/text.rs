//! A trace as a walk to read: a block a hop, a line a decision, the answer last.

use std::fmt::Write;

use crate::paint::Paint;
use meshladder_sim::Tri;
use meshladder_sim::trace::{Branch, End, Hop, Step, Trace};

/// The walk. What is verbose has the candidates that lost too, each with its reason.
pub fn to_text(trace: &Trace, call: &str, paint: Paint) -> String {
    let mut out = format!("{call}\n");
    for hop in &trace.hops {
        write_hop(&mut out, hop, paint);
    }
    out.push('\n');
    write_end(&mut out, &trace.outcome, paint);
    if trace.branches.len() > 1 {
        out.push_str("\nIt may end in more than one way:\n");
        trace
            .branches
            .iter()
            .for_each(|branch| write_branch(&mut out, branch));
    }
    out
}

fn write_hop(out: &mut String, hop: &Hop, paint: Paint) {
    let kind = if hop.is_ztunnel { ", ztunnel" } else { "" };
    let cluster = match &hop.in_cluster {
        Some(cluster) => format!(", {cluster}"),
        None => String::new(),
    };
    let _ = writeln!(
        out,
        "\n{} ({}{kind}{cluster})",
        hop.proxy.namespaced_name(),
        hop.direction.word()
    );
    for step in &hop.steps {
        write_step(out, step, paint);
    }
    // ztunnel logs connections, and no answers.
    if hop.is_ztunnel {
        return;
    }
    let log = &hop.log;
    let flags = if log.flags.is_empty() {
        "-".to_owned()
    } else {
        log.flags.join(",")
    };
    let details = if log.details.is_empty() {
        "-"
    } else {
        &log.details
    };
    let _ = writeln!(out, "  {:<14}{} {flags} {details}", "logs", log.code);
}

fn write_step(out: &mut String, step: &Step, paint: Paint) {
    let object = step
        .object
        .as_ref()
        .map(|object| format!("  [{object}]"))
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "  {:<14}{}{object}",
        step.stage.word(),
        paint.bold(&step.chosen)
    );
    if !paint.verbose {
        return;
    }
    for candidate in step
        .considered
        .iter()
        .filter(|candidate| candidate.matched != Tri::Yes)
    {
        let mark = if candidate.matched == Tri::No {
            "✗"
        } else {
            "?"
        };
        let _ = writeln!(
            out,
            "  {:<14}{mark} {}: {}",
            "", candidate.what, candidate.why
        );
    }
}

fn write_end(out: &mut String, end: &End, paint: Paint) {
    let by = end
        .by
        .as_ref()
        .map(|by| format!(" by {by}"))
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "→ {}{by}: {}",
        paint.bold(end.kind.word()),
        end.because
    );
    if end.code != 0 || !end.details.is_empty() {
        let flags = if end.flags.is_empty() {
            "-".to_owned()
        } else {
            end.flags.join(",")
        };
        let _ = writeln!(
            out,
            "  the access log will say {} {flags} {}",
            end.code, end.details
        );
    }
}

fn write_branch(out: &mut String, branch: &Branch) {
    let share = branch.weight.map_or("    ?".to_owned(), |weight| {
        format!("{:4.0} %", weight * 100.0)
    });
    let endpoint = branch.endpoint.map(|(ip, port)| format!("{ip}:{port}"));
    let way = [branch.cluster.as_deref(), endpoint.as_deref()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    let end = &branch.end;
    let flags = if end.flags.is_empty() {
        "-".to_owned()
    } else {
        end.flags.join(",")
    };
    let _ = writeln!(
        out,
        "  {share}  {way}: {} {} {flags} {}",
        end.kind.word(),
        end.code,
        end.details
    );
}
