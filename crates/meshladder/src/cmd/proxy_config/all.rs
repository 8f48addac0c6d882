//! `proxy-config all`.

use std::io::{self, Write};

use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::snapshot::{Document, Shape};
use meshladder_output::tables::{bootstrap, cluster, eds, listener, route, secret};
use meshladder_output::yaml;
use meshladder_text::json::{Raw, TextFault, ValueKind};
use meshladder_text::time::Time;
use meshladder_text::tree::{Node, Value};

use super::{ending, index};
use crate::args::Global;
use crate::args::proxy_config::{Common, Output};
use crate::cmd::source;
use crate::exit::{Failure, Outcome, UNREADABLE};
use crate::out;

/// What of each part is wanted.
pub(super) struct Parts {
    pub(super) with_headers: bool,
    pub(super) verbose: bool,
    pub(super) clusters: cluster::ClusterFilter,
    pub(super) listeners: listener::ListenerFilter,
    pub(super) route: Option<String>,
}

pub(super) fn run(global: &Global, common: &Common, parts: &Parts) -> Outcome {
    let opened = source::open_dated(global, &common.from, Shape::ConfigDump)?;
    let document = &opened.document;
    let mut out = out::stdout();
    let sections: &[Section] = if matches!(common.output, Output::Short | Output::Wide) {
        &Section::ALL
    } else {
        &[]
    };
    let dump = index(document, sections)?;
    match common.output {
        // The dump as Envoy wrote it, like istioctl.
        Output::Json => writeln!(out, "{}", document.text.trim_end_matches('\n'))?,
        Output::Yaml => yaml_all(&mut out, document)?,
        Output::Short | Output::Wide => {
            parts.write(
                &mut out,
                &dump,
                opened.snapshot.taken_at(),
                common.output == Output::Wide,
            )?;
        }
    }
    out.flush()?;
    Ok(ending(document, dump.fault.as_ref(), &dump.odd))
}

/// The dump as YAML, resource by resource: a tree of the whole would take several times its size.
fn yaml_all(out: &mut impl Write, document: &Document) -> Result<(), Failure> {
    let configs = Raw::of(&document.text)
        .ok()
        .and_then(|root| root.get("configs"));
    writeln!(out, "configs:")?;
    for config in configs.into_iter().flat_map(Raw::elements) {
        let mut members: Vec<_> = config.members().collect();
        members.sort_by(|a, b| a.0.cmp(&b.0));
        for (place, (key, value)) in members.iter().enumerate() {
            let start = if place == 0 { "- " } else { "  " };
            if value.kind() == ValueKind::Array && value.elements().next().is_some() {
                let name = if key.starts_with('@') {
                    format!("'{key}'")
                } else {
                    key.to_string()
                };
                writeln!(out, "{start}{name}:")?;
                for element in value.elements() {
                    let mut item = String::new();
                    yaml::write_item(&mut item, &tree(element, document)?)
                        .map_err(io::Error::other)?;
                    indented(out, "  ", "  ", &item)?;
                }
            } else {
                let object = Value::object([(key, &tree(*value, document)?)]);
                indented(out, start, "  ", &yaml::text(&object.into()))?;
            }
        }
    }
    Ok(())
}

fn tree(value: Raw<'_>, document: &Document) -> Result<Node, Failure> {
    Node::from_json(value).map_err(|fault| damaged(document, value, &fault))
}

fn damaged(document: &Document, value: Raw<'_>, fault: &TextFault) -> Failure {
    let what = format!("a part that cannot be shown as YAML: {}", fault.what);
    Failure::new(
        UNREADABLE,
        document
            .problem(&TextFault {
                at: value.offset(),
                what,
            })
            .to_string(),
    )
}

fn indented(out: &mut impl Write, first: &str, rest: &str, text: &str) -> io::Result<()> {
    for (place, line) in text.lines().enumerate() {
        let start = if place == 0 { first } else { rest };
        if line.is_empty() {
            writeln!(out)?;
        } else {
            writeln!(out, "{start}{line}")?;
        }
    }
    Ok(())
}

impl Parts {
    /// Part after part; none is held while the next is made. A part that the dump lacks is empty;
    /// istioctl gives up at the first such part.
    fn write(
        &self,
        out: &mut impl Write,
        dump: &Dump<'_>,
        now: Option<Time>,
        wide: bool,
    ) -> io::Result<()> {
        self.head(out, "BOOTSTRAP")?;
        let versions = dump
            .section(Section::Bootstrap)
            .map(bootstrap::versions)
            .unwrap_or_default();
        writeln!(out, "{versions}")?;
        self.head(out, "CLUSTER")?;
        writeln!(
            out,
            "{}",
            cluster::table(&cluster::select(dump, &self.clusters, wide), true, wide)
        )?;
        self.head(out, "LISTENER")?;
        let listeners = listener::select(dump, &self.listeners, wide);
        writeln!(
            out,
            "{}",
            listener::table(listeners, self.verbose, true, wide)
        )?;
        self.head(out, "ROUTE")?;
        let routes = route::select(dump, self.route.as_deref(), wide);
        let routes = if self.verbose {
            route::table(&routes, true, wide)
        } else {
            route::summary(&routes, true)
        };
        writeln!(out, "{routes}")?;
        drop(routes);
        self.head(out, "SECRET")?;
        writeln!(
            out,
            "{}",
            secret::table(&secret::select(dump), now, true, wide)
        )?;
        self.head(out, "ENDPOINTS")?;
        let everything = eds::EndpointFilter::default();
        write!(
            out,
            "{}",
            eds::table(&eds::select(dump, &everything), &everything, true, wide)
        )
    }

    fn head(&self, out: &mut impl Write, part: &str) -> io::Result<()> {
        if self.with_headers {
            writeln!(out, "------ {part} INFO ------")
        } else {
            Ok(())
        }
    }
}
