//! `remote-clusters`: the clusters that each istiod watches.

use std::io::Write;

use meshladder_capture::istiod::clusterz;
use meshladder_output::tables::remote_clusters::{self, WatchedClusterRow};

use super::{live, proxy_status, source};
use crate::args::Global;
use crate::exit::{Failure, ISTIOCTL_ERROR, Outcome, UNREADABLE};
use crate::out;

pub(super) fn run(global: &Global) -> Outcome {
    let snapshot = if global.source.is_empty() {
        live::status(global)?
    } else {
        source::snapshot(global)?
    };
    let revisions = proxy_status::revisions(&snapshot);
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for id in snapshot.ids() {
        let (source, path) = id.split();
        let Some(pod) = path
            .strip_prefix("istiod/")
            .and_then(|rest| rest.strip_suffix("/debug/clusterz.json"))
        else {
            continue;
        };
        let key = (source.to_owned(), pod.to_owned());
        let read = snapshot.open(id).and_then(|document| {
            clusterz::read(&document.text).map_err(|fault| document.problem(&fault))
        });
        match read {
            Ok(clusters) => rows.extend(clusters.into_iter().map(|cluster| WatchedClusterRow {
                istiod: pod.to_owned(),
                revision: revisions.get(&key).cloned().unwrap_or_default(),
                cluster,
            })),
            Err(problem) => problems.push(problem),
        }
    }
    if rows.is_empty() && problems.is_empty() {
        let what = "no istiod told which clusters it watches";
        let hint = "a bundle has istiod/<pod>/debug/clusterz.json";
        return Err(Failure::new(ISTIOCTL_ERROR, what).hint(hint));
    }
    let mut out = out::stdout();
    write!(out, "{}", remote_clusters::table(&rows))?;
    out.flush()?;
    for problem in &problems {
        out::warn(&problem.to_string());
    }
    Ok(if problems.is_empty() { 0 } else { UNREADABLE })
}
