//! `proxy-config`: istioctl's listings of one proxy.

use meshladder_capture::envoy::clusters::{self, ClusterStatuses};
use meshladder_capture::envoy::dump::{Dump, ResourceState, Section};
use meshladder_capture::snapshot::{Document, Shape, Snapshot};
use meshladder_output::tables::{bootstrap, cluster, ecds, eds, endpoint, listener, route, secret};
use meshladder_text::json::{self, TextFault};

use super::source;
use crate::args::Global;
use crate::args::proxy_config::{Common, From, Listing, Output, ProxyConfig};
use crate::exit::{Failure, ISTIOCTL_ERROR, Outcome, UNREADABLE};
use crate::out;

mod all;
mod log;
mod print;
mod rootca;

use print::Printer;

pub(super) fn run(global: &Global, config: &ProxyConfig) -> Outcome {
    match &config.listing {
        Listing::All {
            common,
            with_headers,
            verbose,
            clusters,
            listeners,
            port,
            name,
        } => {
            let parts = all::Parts {
                with_headers: *with_headers,
                verbose: verbose.verbose,
                clusters: clusters.filter(*port),
                listeners: listeners.filter(*port),
                route: name.clone(),
            };
            all::run(global, common, &parts)
        }
        Listing::Bootstrap { from, output } => run_bootstrap(global, from, *output),
        Listing::Cluster {
            common,
            filter,
            port,
        } => listing(global, common, Section::Clusters, |dump, printer| {
            let clusters = cluster::select(dump, &filter.filter(*port), printer.wide());
            none_at_all(dump, Section::Clusters, printer.origin(), "clusters")?;
            printer.resources(&clusters, |printer| {
                cluster::table(&clusters, false, printer.wide())
            })
        }),
        Listing::Listener {
            common,
            verbose,
            filter,
            port,
        } => listing(global, common, Section::Listeners, |dump, printer| {
            let listeners = listener::select(dump, &filter.filter(*port), printer.wide());
            none_at_all(dump, Section::Listeners, printer.origin(), "listeners")?;
            let resources: Vec<_> = listeners.iter().map(|l| l.resource).collect();
            printer.resources(&resources, |printer| {
                listener::table(listeners, verbose.verbose, false, printer.wide())
            })
        }),
        Listing::Route {
            common,
            verbose,
            name,
        } => listing(global, common, Section::Routes, |dump, printer| {
            let routes = route::select(dump, name.as_deref(), printer.wide());
            none_at_all(dump, Section::Routes, printer.origin(), "routes")?;
            printer.resources(&routes, |printer| {
                if verbose.verbose {
                    route::table(&routes, false, printer.wide())
                } else {
                    route::summary(&routes, false)
                }
            })
        }),
        Listing::Eds { common, filter } => {
            listing(global, common, Section::Endpoints, |dump, printer| {
                let filter = filter.filter();
                let assignments = eds::select(dump, &filter);
                if dump.section(Section::Endpoints).is_none() {
                    out::note("the dump has no endpoints: it was taken without ?include_eds");
                }
                printer.resources(&assignments, |printer| {
                    eds::table(&assignments, &filter, false, printer.wide())
                })
            })
        }
        Listing::Ecds { common } => listing(global, common, Section::Ecds, |dump, printer| {
            if dump.section(Section::Ecds).is_none() {
                return Err(Failure::new(
                    ISTIOCTL_ERROR,
                    "the config dump has no ECDS section: this proxy gets no filter by ECDS",
                ));
            }
            let filters = ecds::select(dump);
            printer.resources(&filters, |printer| ecds::table(&filters, printer.wide()))
        }),
        Listing::Endpoint { common, filter } => run_endpoint(global, common, &filter.filter()),
        Listing::Secret { common } => run_secret(global, common),
        Listing::Log {
            from,
            level,
            reset,
            selector,
        } => {
            let case = log::Case {
                level: level.as_deref(),
                reset: *reset,
                selector: selector.as_deref(),
            };
            log::run(global, from, &case)
        }
        Listing::RootcaCompare { first, second } => rootca::run(global, first, second),
    }
}

/// A listing of one section of the dump.
fn listing(
    global: &Global,
    common: &Common,
    section: Section,
    print: impl FnOnce(&Dump<'_>, &mut Printer) -> Result<(), Failure>,
) -> Outcome {
    let opened = source::open_sections(global, &common.from, &[section])?;
    let dump = index(&opened.document, &[section])?;
    let first = dump.fault.as_ref().or(dump.odd.first());
    if let (Some(fault), None) = (first, dump.of(section).next()) {
        return Err(Failure::new(
            UNREADABLE,
            opened.document.problem(fault).to_string(),
        ));
    }
    let mut printer = Printer::new(common.output, &opened.document);
    if !printer.wide() {
        tell_hidden(&dump, section);
    }
    print(&dump, &mut printer)?;
    printer.finish()?;
    Ok(ending(&opened.document, dump.fault.as_ref(), &dump.odd))
}

pub(super) fn index<'d>(document: &'d Document, sections: &[Section]) -> Result<Dump<'d>, Failure> {
    Dump::index(&document.text, sections)
        .map_err(|fault| Failure::new(UNREADABLE, document.problem(&fault).to_string()))
}

/// A document that is damaged was still listed as far as it can be: that is told, and the exit code
/// says so too.
pub(super) fn ending(document: &Document, fault: Option<&TextFault>, odd: &[TextFault]) -> u8 {
    /// Up to this size a document is read once more, strictly: it takes a few milliseconds.
    const STRICT: usize = 4 << 20;
    /// So many are told.
    const TOLD: usize = 5;
    if let Some(fault) = fault {
        out::warn(&format!(
            "{}; only what stands before it is listed",
            document.problem(fault)
        ));
        return UNREADABLE;
    }
    for fault in odd.iter().take(TOLD) {
        out::warn(&format!("{}; it is left out", document.problem(fault)));
    }
    if odd.len() > TOLD {
        out::warn(&format!(
            "{}: {} more parts like these are left out",
            document.origin,
            odd.len() - TOLD
        ));
    }
    let strict = if odd.is_empty()
        && document.text.len() <= STRICT
        && document.text.trim_start().starts_with('{')
    {
        json::check(&document.text).err()
    } else {
        None
    };
    if let Some(fault) = &strict {
        out::warn(&format!(
            "{}; what is listed may lack something",
            document.problem(fault)
        ));
    }
    if odd.is_empty() && strict.is_none() {
        0
    } else {
        UNREADABLE
    }
}

fn none_at_all(dump: &Dump<'_>, section: Section, origin: &str, what: &str) -> Result<(), Failure> {
    match dump.of(section).next() {
        Some(_) => Ok(()),
        None => Err(Failure::new(
            ISTIOCTL_ERROR,
            format!("no {what} found in {origin}"),
        )),
    }
}

/// istioctl does not show what Envoy has not taken into use, and that is often the answer.
fn tell_hidden(dump: &Dump<'_>, section: Section) {
    let count = |state| dump.of(section).filter(|r| r.state == state).count();
    let rejected = dump.of(section).filter(|r| r.error.is_some()).count();
    let warming = if section == Section::Secrets {
        0
    } else {
        count(ResourceState::Warming)
    };
    let parts = [
        (warming, "warming"),
        (count(ResourceState::Draining), "draining"),
        (rejected, "rejected by Envoy"),
    ];
    let told: Vec<_> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    if !told.is_empty() {
        out::note(&format!(
            "not shown: {}; -o wide shows them",
            told.join(", ")
        ));
    }
}

fn run_bootstrap(global: &Global, from: &From, output: Output) -> Outcome {
    let opened = source::open_sections(global, from, &[Section::Bootstrap])?;
    let dump = index(&opened.document, &[])?;
    let Some(bootstrap) = dump.section(Section::Bootstrap) else {
        return Err(Failure::new(
            ISTIOCTL_ERROR,
            format!("{} has no bootstrap section", opened.document.origin),
        ));
    };
    let mut printer = Printer::new(output, &opened.document);
    printer.section(bootstrap, || bootstrap::versions(bootstrap))?;
    printer.finish()?;
    Ok(ending(&opened.document, dump.fault.as_ref(), &dump.odd))
}

fn run_secret(global: &Global, common: &Common) -> Outcome {
    let opened = source::open_dated(global, &common.from, Shape::ConfigDump)?;
    let dump = index(&opened.document, &[Section::Secrets])?;
    let mut printer = Printer::new(common.output, &opened.document);
    let secrets = secret::select(&dump);
    match dump
        .section(Section::Secrets)
        .filter(|_| !secrets.is_empty())
    {
        Some(section) => {
            printer.section_table(section, |wide| {
                secret::table(&secrets, opened.snapshot.taken_at(), false, wide)
            })?;
        }
        None => printer.text("No active or warming secrets found.\n")?,
    }
    printer.finish()?;
    Ok(ending(&opened.document, dump.fault.as_ref(), &dump.odd))
}

fn run_endpoint(global: &Global, common: &Common, filter: &eds::EndpointFilter) -> Outcome {
    let opened = source::open(global, &common.from, Shape::Clusters)?;
    let document = &opened.document;
    let unreadable = |fault| Failure::new(UNREADABLE, document.problem(&fault).to_string());
    let json = clusters::as_json(&document.text).map_err(unreadable)?;
    let clusters = ClusterStatuses::read(&json).map_err(unreadable)?;
    let hosts = endpoint::select(&clusters, filter);
    let mut printer = Printer::new(common.output, document);
    printer.statuses(&clusters, &hosts)?;
    printer.finish()?;
    if !clusters.empty.is_empty() && printer.wide() {
        out::note(&format!(
            "clusters without any endpoint: {}",
            clusters.empty.join(", ")
        ));
    }
    Ok(ending(document, clusters.fault.as_ref(), &[]))
}

/// One route configuration of a workload's proxy, wide: what `demo` shows.
pub(super) fn print_routes(
    snapshot: &Snapshot,
    target: &str,
    namespace: &str,
    name: &str,
) -> Outcome {
    let proxy = source::find(snapshot, target, Some(namespace), Shape::ConfigDump)?;
    let document = source::document(snapshot, &proxy, Shape::ConfigDump)?;
    let dump = index(&document, &[Section::Routes])?;
    let routes = route::select(&dump, Some(name), true);
    let mut printer = Printer::new(Output::Wide, &document);
    printer.resources(&routes, |_| route::table(&routes, false, true))?;
    printer.finish()?;
    Ok(0)
}
