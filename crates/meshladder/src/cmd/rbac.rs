//! `rbac`: the least rights a command needs, and which of them are missing.

use meshladder_collect::live::{Right, yaml};

use super::live;
use crate::args::Global;
use crate::args::snapshot::Rbac;
use crate::exit::{NOT_ALLOWED, Outcome};
use crate::out;

pub(super) fn run(global: &Global, args: &Rbac) -> Outcome {
    let purpose = args.purpose;
    let istio = &global.cluster.istio_namespace;
    if !args.check {
        out::text(&yaml(purpose, live::namespace(global), istio))?;
        return Ok(0);
    }
    let session = live::connect_only(global)?;
    let namespace = global
        .namespace
        .clone()
        .unwrap_or_else(|| session.namespace().to_owned());
    let (missing, unknown) = session.missing_rights(purpose, &namespace, istio);
    let mut text = String::new();
    for (word, rights) in [("missing", &missing), ("not known", &unknown)] {
        for right in rights {
            let place = if right.in_istio { istio } else { &namespace };
            text.extend([format!(
                "{word}: {}; without it: {}\n",
                told(right, place),
                right.without
            )]);
        }
    }
    if text.is_empty() {
        text = format!(
            "{} has all rights it needs in namespace {namespace}\n",
            purpose.word()
        );
    }
    out::text(&text)?;
    Ok(if missing.is_empty() { 0 } else { NOT_ALLOWED })
}

fn told(right: &Right, namespace: &str) -> String {
    let dot = if right.group.is_empty() { "" } else { "." };
    format!(
        "{} {}{dot}{} in namespace {namespace}",
        right.verbs.join(", "),
        right.resource,
        right.group
    )
}
