//! `rbac`: the least rights a command needs, and which of them are missing.

use meshladder_collect::live::{Right, grants, yaml};

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
    let mut text = String::new();
    let mut is_allowed = true;
    for grant in grants(purpose, live::namespace(global), istio) {
        let place = grant.namespace.as_deref();
        let (missing, unknown) = session.missing_rights(&grant);
        is_allowed &= missing.is_empty();
        for right in missing {
            text += &line("missing", &right, place);
        }
        for right in unknown {
            text += &line("not known", &right, place);
        }
    }
    if text.is_empty() {
        let place = match live::namespace(global) {
            Some(namespace) => format!("in namespace {namespace}"),
            None => "in the whole cluster".to_owned(),
        };
        text = format!("{} has all rights it needs {place}\n", purpose.word());
    }
    out::text(&text)?;
    Ok(if is_allowed { 0 } else { NOT_ALLOWED })
}

fn line(word: &str, right: &Right, namespace: Option<&str>) -> String {
    let verbs = right.verbs.join(", ");
    let dot = if right.group.is_empty() { "" } else { "." };
    let place = match namespace {
        Some(namespace) => format!("in namespace {namespace}"),
        None => "in the whole cluster".to_owned(),
    };
    format!(
        "{word}: {verbs} {}{dot}{} {place}; without it: {}\n",
        right.resource, right.group, right.without
    )
}
