//! A Grafana dashboard: which flags requests get, at which service, version and hop; sync and
//! certificates.

use crate::json::to_pretty;
use serde::Serialize;

mod panels;

pub use panels::ROWS;

/// A row of panels.
#[derive(Debug)]
pub struct PanelRow {
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
    pub kind: PanelKind,
    /// Grafana's unit.
    pub unit: &'static str,
    /// The queries, each with the legend of its series.
    pub queries: &'static [(&'static str, &'static str)],
}

/// How a panel is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelKind {
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
    let dashboard = Dashboard {
        uid: "meshladder",
        title: "Istio: response flags, sync and certificates",
        description: "Made by `meshladder monitor dashboard`; its rules are those of `meshladder monitor rules`",
        tags: ["istio", "meshladder"],
        schema_version: 39,
        editable: true,
        graph_tooltip: 1,
        refresh: "1m",
        timezone: "browser",
        time: TimeRange {
            from: "now-6h",
            to: "now",
        },
        templating: Templating { list: variables() },
        panels: all_panels(),
    };
    to_pretty(&dashboard, 2) + "\n"
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dashboard {
    uid: &'static str,
    title: &'static str,
    description: &'static str,
    tags: [&'static str; 2],
    schema_version: u32,
    editable: bool,
    graph_tooltip: u32,
    refresh: &'static str,
    timezone: &'static str,
    time: TimeRange,
    templating: Templating,
    panels: Vec<PanelJson>,
}

#[derive(Serialize)]
struct TimeRange {
    from: &'static str,
    to: &'static str,
}

#[derive(Serialize)]
struct Templating {
    list: Vec<Variable>,
}

/// A choice above the panels.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Variable {
    name: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    label: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    datasource: Option<Datasource>,
    query: &'static str,
    #[serde(flatten)]
    several: Option<SeveralValues>,
}

/// That one may choose several values, or all.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SeveralValues {
    refresh: u32,
    multi: bool,
    include_all: bool,
    all_value: &'static str,
}

#[derive(Serialize)]
struct Datasource {
    #[serde(rename = "type")]
    kind: &'static str,
    uid: &'static str,
}

const PROMETHEUS: Datasource = Datasource {
    kind: "prometheus",
    uid: "${datasource}",
};

fn variables() -> Vec<Variable> {
    let of_label = |name, label, query| Variable {
        name,
        kind: "query",
        label,
        datasource: Some(PROMETHEUS),
        query,
        several: Some(SeveralValues {
            // On every change of the time range.
            refresh: 2,
            multi: true,
            include_all: true,
            all_value: ".*",
        }),
    };
    vec![
        Variable {
            name: "datasource",
            kind: "datasource",
            label: "Prometheus",
            datasource: None,
            query: "prometheus",
            several: None,
        },
        of_label(
            "namespace",
            "Namespace",
            "label_values(istio_requests_total, destination_service_namespace)",
        ),
        of_label(
            "service",
            "Service",
            "label_values(istio_requests_total{destination_service_namespace=~\"$namespace\"}, destination_service_name)",
        ),
    ]
}

/// A panel, or the title of a row, which Grafana takes for a panel too.
#[derive(Serialize)]
#[serde(untagged)]
enum PanelJson {
    PanelRow(RowTitle),
    Drawn(DrawnPanel),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RowTitle {
    id: usize,
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    collapsed: bool,
    grid_pos: GridPos,
    panels: [(); 0],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DrawnPanel {
    id: usize,
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    description: &'static str,
    datasource: Datasource,
    grid_pos: GridPos,
    field_config: FieldConfig,
    targets: Vec<PanelQuery>,
}

#[derive(Serialize)]
struct GridPos {
    x: usize,
    y: usize,
    w: usize,
    h: usize,
}

#[derive(Serialize)]
struct FieldConfig {
    defaults: FieldDefaults,
    overrides: [(); 0],
}

#[derive(Serialize)]
struct FieldDefaults {
    unit: &'static str,
    min: u32,
}

fn all_panels() -> Vec<PanelJson> {
    let (mut panels, mut y) = (Vec::new(), 0);
    for row in ROWS {
        let id = panels.len() + 1;
        panels.push(PanelJson::PanelRow(RowTitle {
            id,
            kind: "row",
            title: row.title,
            collapsed: false,
            grid_pos: GridPos {
                x: 0,
                y,
                w: WIDTH,
                h: 1,
            },
            panels: [],
        }));
        let width = WIDTH / row.panels.len().max(1);
        for (at, panel) in row.panels.iter().enumerate() {
            let place = GridPos {
                x: at * width,
                y: y + 1,
                w: width,
                h: HEIGHT,
            };
            panels.push(PanelJson::Drawn(drawn(panel, id + at + 1, place)));
        }
        y += HEIGHT + 1;
    }
    panels
}

fn drawn(panel: &Panel, id: usize, grid_pos: GridPos) -> DrawnPanel {
    let mut targets = Vec::new();
    for (at, (expr, legend)) in panel.queries.iter().enumerate() {
        targets.push(target(panel.kind, at, expr, legend));
    }
    DrawnPanel {
        id,
        kind: match panel.kind {
            PanelKind::Lines => "timeseries",
            PanelKind::Numbers => "stat",
            PanelKind::Table => "table",
        },
        title: panel.title,
        description: panel.about,
        datasource: PROMETHEUS,
        grid_pos,
        field_config: FieldConfig {
            defaults: FieldDefaults {
                unit: panel.unit,
                min: 0,
            },
            overrides: [],
        },
        targets,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PanelQuery {
    ref_id: String,
    expr: &'static str,
    legend_format: &'static str,
    datasource: Datasource,
    /// A table shows the newest values, not those over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    instant: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
}

fn target(kind: PanelKind, at: usize, expr: &'static str, legend: &'static str) -> PanelQuery {
    // One query a letter, from A.
    let letter = u8::try_from(at).map_or('Z', |at| char::from(b'A' + at));
    let is_table = kind == PanelKind::Table;
    PanelQuery {
        ref_id: letter.to_string(),
        expr,
        legend_format: legend,
        datasource: PROMETHEUS,
        instant: is_table.then_some(true),
        format: is_table.then_some("table"),
    }
}
