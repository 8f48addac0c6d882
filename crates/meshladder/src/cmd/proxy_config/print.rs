//! One listing in the format that was asked for, written as it is made.

use std::fmt::Display;
use std::io::{self, Write};

use meshladder_capture::envoy::clusters::{ClusterStatuses, HostStatus};
use meshladder_capture::envoy::dump::Resource;
use meshladder_capture::snapshot::Document;
use meshladder_output::json::{self, Style};
use meshladder_output::tables::{Table, endpoint};
use meshladder_output::yaml;
use meshladder_text::json::{Raw, TextFault};
use meshladder_text::tree::Node;

use crate::args::proxy_config::Output;
use crate::exit::{Failure, UNREADABLE};
use crate::out;

pub(super) struct Printer<'d> {
    output: Output,
    out: out::Stdout,
    document: &'d Document,
}

impl<'d> Printer<'d> {
    pub(super) fn new(output: Output, document: &'d Document) -> Self {
        Self {
            output,
            out: out::stdout(),
            document,
        }
    }

    /// The document's file, for messages.
    pub(super) fn origin(&self) -> &'d str {
        &self.document.origin
    }

    pub(super) fn wide(&self) -> bool {
        self.output == Output::Wide
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Resources as a table, or as a list of what the dump holds.
    pub(super) fn resources<'a>(
        &mut self,
        resources: &[&Resource<'a>],
        table: impl FnOnce(&Self) -> Table<'a>,
    ) -> Result<(), Failure> {
        self.list(resources.iter().filter_map(|r| r.raw), table)
    }

    /// The hosts as a table, or the whole status of every cluster that has one of them.
    pub(super) fn statuses(
        &mut self,
        clusters: &ClusterStatuses<'_>,
        hosts: &[&HostStatus<'_>],
    ) -> Result<(), Failure> {
        let mut places: Vec<_> = hosts.iter().map(|host| host.status).collect();
        places.sort_unstable();
        places.dedup();
        self.list(
            places.into_iter().map(|place| clusters.statuses[place]),
            |printer| endpoint::table(clusters, hosts, printer.wide()),
        )
    }

    /// A section as it is, or as text.
    pub(super) fn section(
        &mut self,
        section: Raw<'_>,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        match self.output {
            Output::Short | Output::Wide => self.text(&text()),
            Output::Json => self.text(&(camel(section, 0) + "\n")),
            Output::Yaml => {
                let node = self.tree(section)?;
                self.text(&yaml::text(&node))
            }
        }
    }

    pub(super) fn section_table<'a>(
        &mut self,
        section: Raw<'_>,
        table: impl FnOnce(bool) -> Table<'a>,
    ) -> Result<(), Failure> {
        let wide = self.wide();
        self.section(section, || table(wide).to_string())
    }

    fn list<'r, T: Display>(
        &mut self,
        values: impl Iterator<Item = Raw<'r>>,
        table: impl FnOnce(&Self) -> T,
    ) -> Result<(), Failure> {
        match self.output {
            Output::Short | Output::Wide => {
                let table = table(self);
                Ok(write!(self.out, "{table}")?)
            }
            Output::Json => self.json_list(values),
            Output::Yaml => self.yaml_list(values),
        }
    }

    /// One value at a time: a list of 100 MB is never held.
    fn json_list<'r>(&mut self, values: impl Iterator<Item = Raw<'r>>) -> Result<(), Failure> {
        let mut separator = "[\n    ";
        for value in values {
            self.out.write_all(separator.as_bytes())?;
            self.out.write_all(camel(value, 1).as_bytes())?;
            separator = ",\n    ";
        }
        let end = if separator.starts_with('[') {
            "[]\n"
        } else {
            "\n]\n"
        };
        Ok(self.out.write_all(end.as_bytes())?)
    }

    fn tree(&self, value: Raw<'_>) -> Result<Node, Failure> {
        let text = camel(value, 0);
        let read = Raw::of(&text).and_then(Node::from_json);
        read.map_err(|fault| {
            let what = format!("a resource that cannot be shown as YAML: {}", fault.what);
            Failure::new(
                UNREADABLE,
                self.document
                    .problem(&TextFault {
                        at: value.offset(),
                        what,
                    })
                    .to_string(),
            )
        })
    }

    fn yaml_list<'r>(&mut self, values: impl Iterator<Item = Raw<'r>>) -> Result<(), Failure> {
        let mut any = false;
        for value in values {
            any = true;
            let mut item = String::new();
            yaml::write_item(&mut item, &self.tree(value)?).expect("a String takes everything");
            self.out.write_all(item.as_bytes())?;
        }
        if !any {
            self.out.write_all(b"[]\n")?;
        }
        Ok(())
    }
}

fn camel(value: Raw<'_>, level: usize) -> String {
    let mut text = String::new();
    json::write(
        &mut text,
        value,
        Style {
            level,
            ..Style::ISTIOCTL
        },
    )
    .expect("a String takes everything");
    text
}
