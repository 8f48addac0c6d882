//! `proxy-config all`.

use std::io::{self, Write};

use meshladder_core::doc::json::Raw;
use meshladder_core::doc::tree::Node;
use meshladder_core::envoy::dump::{Dump, Section};
use meshladder_core::render::yaml;
use meshladder_core::snapshot::Shape;
use meshladder_core::tables::{bootstrap, cluster, eds, listener, route, secret};
use meshladder_core::time::Time;

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
    pub(super) clusters: cluster::Filter,
    pub(super) listeners: listener::Filter,
    pub(super) route: Option<String>,
}

pub(super) fn run(global: &Global, common: &Common, parts: &Parts) -> Outcome {
    let opened = source::open_dated(global, &common.from, Shape::ConfigDump)?;
    let document = &opened.document;
    let mut out = out::stdout();
    let fault = match common.output {
        // The dump as Envoy wrote it, like istioctl.
        Output::Json => {
            writeln!(out, "{}", document.text.trim_end_matches('\n'))?;
            None
        }
        Output::Yaml => {
            let read = Raw::of(&document.text).and_then(Node::from_json);
            let tree = read.map_err(|fault| Failure::new(UNREADABLE, document.problem(&fault).to_string()))?;
            write!(out, "{}", yaml::text(&tree))?;
            None
        }
        Output::Short | Output::Wide => {
            let dump = index(document, &Section::ALL)?;
            let wide = common.output == Output::Wide;
            parts.write(&mut out, &dump, opened.snapshot.taken_at(), wide)?;
            dump.fault
        }
    };
    out.flush()?;
    Ok(ending(document, fault.as_ref()))
}

impl Parts {
    /// Part after part; none is held while the next is made. A part that the dump lacks is empty; istioctl gives up at
    /// the first such part.
    fn write(&self, out: &mut impl Write, dump: &Dump<'_>, now: Option<Time>, wide: bool) -> io::Result<()> {
        self.head(out, "BOOTSTRAP")?;
        let versions = dump.section(Section::Bootstrap).map(bootstrap::versions).unwrap_or_default();
        writeln!(out, "{versions}")?;
        self.head(out, "CLUSTER")?;
        writeln!(out, "{}", cluster::table(&cluster::select(dump, &self.clusters, wide), true, wide))?;
        self.head(out, "LISTENER")?;
        let listeners = listener::select(dump, &self.listeners, wide);
        writeln!(out, "{}", listener::table(listeners, self.verbose, true, wide))?;
        self.head(out, "ROUTE")?;
        let routes = route::select(dump, self.route.as_deref(), wide);
        let routes = if self.verbose { route::table(&routes, true, wide) } else { route::summary(&routes, true) };
        writeln!(out, "{routes}")?;
        drop(routes);
        self.head(out, "SECRET")?;
        writeln!(out, "{}", secret::table(&secret::select(dump), now, true, wide))?;
        self.head(out, "ENDPOINTS")?;
        let everything = eds::Filter::default();
        write!(out, "{}", eds::table(&eds::select(dump, &everything), &everything, true, wide))
    }

    fn head(&self, out: &mut impl Write, part: &str) -> io::Result<()> {
        if self.with_headers { writeln!(out, "------ {part} INFO ------") } else { Ok(()) }
    }
}
