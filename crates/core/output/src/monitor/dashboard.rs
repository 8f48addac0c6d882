//! A Grafana dashboard: which flags requests get, at which service, version and hop; sync and
//! certificates.

use super::value::{list, number, object, text, texts, truth};
use crate::json::{self, Style};
use meshladder_text::json::Raw;
use meshladder_text::tree::Node;

mod panels;

pub use panels::ROWS;

/// A row of panels.
#[derive(Debug)]
pub struct Row {
    /// Its title.
    pub title: &'static str,
    /// Its panels, from left to right; they share the width.
    pub panels: &'static [Panel],
}

/// A panel.
#[derive(Debug)]
pub struct Panel {
    /// Its title.
    pub title: &'static str,
    /// What one reads from it.
    pub about: &'static str,
    /// How it is drawn.
    pub kind: Kind,
    /// Grafana's unit.
    pub unit: &'static str,
    /// The queries, each with the legend of its series.
    pub queries: &'static [(&'static str, &'static str)],
}

/// How a panel is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lines over time.
    Lines,
    /// One number a series.
    Numbers,
    /// The newest values, as rows.
    Table,
}

/// Grafana's grid is 24 wide.
pub(super) const WIDTH: usize = 24;
/// The height of a panel on it.
pub(super) const HEIGHT: usize = 8;

/// The dashboard as Grafana imports it.
pub fn to_json() -> String {
    let compact = dashboard().to_json();
    let mut pretty = String::new();
    // An object was just written, and a String takes everything.
    if let Ok(raw) = Raw::of(&compact) {
        let _ = json::write(
            &mut pretty,
            raw,
            Style {
                indent: 2,
                ..Style::PRETTY
            },
        );
    }
    pretty.push('\n');
    pretty
}

fn dashboard() -> Node {
    object([
        ("uid", text("meshladder")),
        (
            "title",
            text("Istio: response flags, sync and certificates"),
        ),
        (
            "description",
            text(
                "Made by `meshladder monitor dashboard`; its rules are those of `meshladder monitor rules`",
            ),
        ),
        ("tags", texts(["istio", "meshladder"])),
        ("schemaVersion", number(39)),
        ("editable", truth(true)),
        ("graphTooltip", number(1)),
        ("refresh", text("1m")),
        ("timezone", text("browser")),
        (
            "time",
            object([("from", text("now-6h")), ("to", text("now"))]),
        ),
        ("templating", object([("list", list(variables()))])),
        ("panels", list(all_panels())),
    ])
}

fn variables() -> Vec<Node> {
    let source = object([
        ("name", text("datasource")),
        ("type", text("datasource")),
        ("label", text("Prometheus")),
        ("query", text("prometheus")),
    ]);
    let labels = [
        (
            "namespace",
            "Namespace",
            "label_values(istio_requests_total, destination_service_namespace)",
        ),
        (
            "service",
            "Service",
            "label_values(istio_requests_total{destination_service_namespace=~\"$namespace\"}, destination_service_name)",
        ),
    ];
    let labelled = labels.map(|(name, label, query)| {
        object([
            ("name", text(name)),
            ("type", text("query")),
            ("label", text(label)),
            ("datasource", datasource()),
            ("query", text(query)),
            // On every change of the time range.
            ("refresh", number(2)),
            ("multi", truth(true)),
            ("includeAll", truth(true)),
            ("allValue", text(".*")),
        ])
    });
    std::iter::once(source).chain(labelled).collect()
}

fn datasource() -> Node {
    object([("type", text("prometheus")), ("uid", text("${datasource}"))])
}

fn all_panels() -> Vec<Node> {
    let (mut panels, mut y) = (Vec::new(), 0);
    for row in ROWS {
        let id = panels.len() + 1;
        panels.push(object([
            ("id", number(id)),
            ("type", text("row")),
            ("title", text(row.title)),
            ("collapsed", truth(false)),
            ("gridPos", grid(0, y, WIDTH, 1)),
            ("panels", list([])),
        ]));
        let width = WIDTH / row.panels.len().max(1);
        for (at, panel) in row.panels.iter().enumerate() {
            panels.push(drawn(
                panel,
                id + at + 1,
                grid(at * width, y + 1, width, HEIGHT),
            ));
        }
        y += HEIGHT + 1;
    }
    panels
}

fn grid(x: usize, y: usize, width: usize, height: usize) -> Node {
    object([
        ("x", number(x)),
        ("y", number(y)),
        ("w", number(width)),
        ("h", number(height)),
    ])
}

fn drawn(panel: &Panel, id: usize, grid: Node) -> Node {
    let kind = match panel.kind {
        Kind::Lines => "timeseries",
        Kind::Numbers => "stat",
        Kind::Table => "table",
    };
    let defaults = object([("unit", text(panel.unit)), ("min", number(0))]);
    object([
        ("id", number(id)),
        ("type", text(kind)),
        ("title", text(panel.title)),
        ("description", text(panel.about)),
        ("datasource", datasource()),
        ("gridPos", grid),
        (
            "fieldConfig",
            object([("defaults", defaults), ("overrides", list([]))]),
        ),
        (
            "targets",
            list(
                panel
                    .queries
                    .iter()
                    .enumerate()
                    .map(|(at, (expr, legend))| target(panel.kind, at, expr, legend)),
            ),
        ),
    ])
}

fn target(kind: Kind, at: usize, expr: &str, legend: &str) -> Node {
    // One query a letter, from A.
    let letter = u8::try_from(at).map_or('Z', |at| char::from(b'A' + at));
    let mut members = vec![
        ("refId", text(letter.to_string())),
        ("expr", text(expr)),
        ("legendFormat", text(legend)),
        ("datasource", datasource()),
    ];
    if kind == Kind::Table {
        members.extend([("instant", truth(true)), ("format", text("table"))]);
    }
    object(members)
}
