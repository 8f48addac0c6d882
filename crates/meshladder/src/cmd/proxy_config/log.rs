//! `proxy-config log`: the levels of every pod that is meant, shown or set for good, as istioctl
//! does.

use std::io::Write;

use meshladder_capture::envoy::logging::{ComponentLevel, LevelRequest, LogLevels};
use meshladder_capture::snapshot::{ProxyRef, Shape};
use meshladder_mesh::selector;

use super::Printer;
use crate::args::Global;
use crate::args::proxy_config::{From, Output};
use crate::cmd::live;
use crate::cmd::log_level::pods::{self, PodSelection, each_pod};
use crate::cmd::source::{self, ProxyDocument};
use crate::exit::{Failure, ISTIOCTL_ERROR, Outcome};
use crate::out;

/// What to do with the levels.
pub(super) struct Case<'a> {
    pub(super) level: Option<&'a str>,
    pub(super) reset: bool,
    pub(super) selector: Option<&'a str>,
}

pub(super) fn run(global: &Global, from: &From, case: &Case<'_>) -> Outcome {
    if global.source.is_empty() && from.file.is_none() {
        return on_cluster(global, from, case).map_err(|failure| failure.with_code(ISTIOCTL_ERROR));
    }
    if case.level.is_some() || case.reset || case.selector.is_some() {
        let what = "changing log levels, and pods by label, need a running cluster";
        return Err(Failure::new(ISTIOCTL_ERROR, what));
    }
    let ProxyDocument {
        proxy, document, ..
    } = source::open(global, from, Shape::Logging)?;
    let mut printer = Printer::new(Output::Short, &document);
    printer.text(&told(&proxy, &document.text))?;
    printer.finish()?;
    Ok(0)
}

fn told(proxy: &ProxyRef, text: &str) -> String {
    format!("{proxy}:\n{}\n\n", text.trim_end_matches('\n'))
}

fn on_cluster(global: &Global, from: &From, case: &Case<'_>) -> Outcome {
    let wanted = case
        .level
        .map(LevelRequest::parse)
        .transpose()
        .map_err(|why| Failure::new(ISTIOCTL_ERROR, why))?;
    let found = find(global, from, case)?;
    let port = from.proxy_admin_port;
    let answers = match (&wanted, case.reset) {
        (Some(wanted), _) => found
            .session
            .set_levels(&found.pods, port, &|_, levels| wanted.on(levels)),
        (None, true) => found
            .session
            .set_levels(&found.pods, port, &|pod, levels: &LogLevels| {
                wanted_for_all(found.defaults(pod).level).on(levels)
            }),
        (None, false) => found.session.levels(&found.pods, port),
    };
    let mut out = out::stdout();
    let mut code = 0;
    for (pod, answer) in answers {
        match answer {
            Ok(text) => write!(out, "{}", told(&pod, &text))?,
            Err(why) => {
                out::error(&format!("{pod}: {why}"), None);
                code = ISTIOCTL_ERROR;
            }
        }
    }
    out.flush()?;
    if wanted.is_some() {
        out::note(
            "these levels stay; `meshladder log-level POD --level … --for 5m` sets them back by itself",
        );
    }
    Ok(code)
}

fn wanted_for_all(level: ComponentLevel) -> LevelRequest {
    LevelRequest {
        all: Some(level),
        ..LevelRequest::default()
    }
}

/// The pods of the target, or those with the labels.
fn find(global: &Global, from: &From, case: &Case<'_>) -> Result<PodSelection, Failure> {
    let session = live::connect(global)?;
    let texts: Vec<String> = from.target.iter().cloned().collect();
    let Some(text) = case.selector else {
        if texts.is_empty() {
            return Err(Failure::new(
                ISTIOCTL_ERROR,
                "which proxy? name one, such as deploy/cart, or use --selector",
            ));
        }
        return pods::find(session, global, &texts, case.reset);
    };
    if !texts.is_empty() {
        return Err(Failure::new(
            ISTIOCTL_ERROR,
            "a target and --selector: name one of them",
        ));
    }
    let mut found = pods::find(session, global, &[], true)?;
    let mut fitting = Vec::new();
    let mut unread = false;
    each_pod(&found.snapshot, |pod, node| {
        match selector::text_accepts(text, node.at(["metadata", "labels"])) {
            Some(true) => fitting.push(pod),
            Some(false) => {}
            None => unread = true,
        }
    });
    if unread {
        return Err(Failure::new(
            ISTIOCTL_ERROR,
            format!("`{text}` is no selector: try app=cart,version!=v2"),
        ));
    }
    found.pods.retain(|pod| fitting.contains(pod));
    if found.pods.is_empty() {
        return Err(Failure::new(
            ISTIOCTL_ERROR,
            format!("no running proxy fits {text}"),
        ));
    }
    Ok(found)
}
