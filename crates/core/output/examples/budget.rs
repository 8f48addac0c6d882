//! Runs one question on one document, for `scripts/budget` to count the instructions it takes.
//!
//! Each question is a function of its own that is never inlined, so that callgrind counts it and
//! nothing around it.
#![expect(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads a file and prints"
)]

use std::io::Write;

use meshladder_capture::envoy::clusters::ClusterStatuses;
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_output::tables::{cluster, eds, endpoint, listener, route};
use meshladder_text::json;

type Question = fn(&str) -> Result<usize, json::TextFault>;

const QUESTIONS: [(&str, Question); 7] = [
    ("check", check),
    ("index_all", index_all),
    ("list_clusters", list_clusters),
    ("list_listeners", list_listeners),
    ("list_routes", list_routes),
    ("list_eds", list_eds),
    ("list_endpoints", list_endpoints),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<_> = std::env::args().collect();
    let [_, name, file] = &args[..] else {
        return Err("usage: budget QUESTION FILE".into());
    };
    let question = QUESTIONS
        .iter()
        .find(|(known, _)| known == name)
        .ok_or("no such question")?
        .1;
    let doc = std::fs::read_to_string(file)?;
    let answer =
        question(&doc).map_err(|fault| format!("{file}: byte {}: {}", fault.at, fault.what))?;
    Ok(writeln!(std::io::stdout(), "{answer}")?)
}

#[inline(never)]
fn check(doc: &str) -> Result<usize, json::TextFault> {
    json::check(doc).map(|()| doc.len())
}

#[inline(never)]
fn index_all(doc: &str) -> Result<usize, json::TextFault> {
    Ok(Dump::index(doc, &Section::ALL)?.resources.len())
}

#[inline(never)]
fn list_clusters(doc: &str) -> Result<usize, json::TextFault> {
    let dump = Dump::index(doc, &[Section::Clusters])?;
    Ok(cluster::table(
        &cluster::select(&dump, &cluster::ClusterFilter::default(), false),
        false,
        false,
    )
    .to_string()
    .len())
}

#[inline(never)]
fn list_listeners(doc: &str) -> Result<usize, json::TextFault> {
    let dump = Dump::index(doc, &[Section::Listeners])?;
    let found = listener::select(&dump, &listener::ListenerFilter::default(), false);
    Ok(listener::table(found, true, false, false).to_string().len())
}

#[inline(never)]
fn list_routes(doc: &str) -> Result<usize, json::TextFault> {
    let dump = Dump::index(doc, &[Section::Routes])?;
    Ok(
        route::table(&route::select(&dump, None, false), false, false)
            .to_string()
            .len(),
    )
}

#[inline(never)]
fn list_eds(doc: &str) -> Result<usize, json::TextFault> {
    let dump = Dump::index(doc, &[Section::Endpoints])?;
    let filter = eds::EndpointFilter::default();
    Ok(
        eds::table(&eds::select(&dump, &filter), &filter, false, false)
            .to_string()
            .len(),
    )
}

#[inline(never)]
fn list_endpoints(doc: &str) -> Result<usize, json::TextFault> {
    let clusters = ClusterStatuses::read(doc)?;
    Ok(endpoint::table(
        &clusters,
        &endpoint::select(&clusters, &eds::EndpointFilter::default()),
        false,
    )
    .to_string()
    .len())
}
