//! The dashboard as a picture for the manual: its own rows and panels, with made-up figures of one
//! bad hour.

use std::fmt::Write;

use super::dashboard::{Panel, PanelKind, ROWS};

const WIDTH: usize = 1200;
const ROW: usize = 24;
const HEIGHT: usize = 180;
const GAP: usize = 8;
/// Colours that are told apart in print, and by those who see few.
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// What a panel's series are called and how they go, from 0 to 1; tables show the name alone.
struct PanelExample {
    title: &'static str,
    series: &'static [(&'static str, &'static [f64])],
}

const CALM: &[f64] = &[0.06, 0.05, 0.07, 0.05, 0.06, 0.05, 0.06, 0.07, 0.05, 0.06];
const BURST: &[f64] = &[0.0, 0.0, 0.0, 0.1, 0.72, 0.9, 0.86, 0.88, 0.2, 0.02];
const AFTER: &[f64] = &[0.0, 0.0, 0.0, 0.0, 0.3, 0.45, 0.4, 0.42, 0.1, 0.0];
const REST: &[f64] = &[1.0, 1.0, 1.0, 1.0, 0.7, 0.55, 0.6, 0.58, 0.9, 1.0];
const HIGH: &[f64] = &[0.9, 0.91, 0.89, 0.9, 1.0, 1.0, 1.0, 1.0, 0.93, 0.9];
const LOW: &[f64] = &[0.1, 0.09, 0.11, 0.1, 0.0, 0.0, 0.0, 0.0, 0.07, 0.1];
const NINE: &[f64] = &[0.9; 10];
const ONE: &[f64] = &[0.1; 10];

static EXAMPLES: &[PanelExample] = &[
    PanelExample {
        title: "Requests with a flag, by class",
        series: &[
            ("no_healthy_upstream", BURST),
            ("retry_exhausted", AFTER),
            ("client_gone", CALM),
        ],
    },
    PanelExample {
        title: "Requests with a flag, by hop",
        series: &[("source UH", BURST), ("destination DC", CALM)],
    },
    PanelExample {
        title: "Flags by service",
        series: &[("catalog.shop UH", BURST), ("cart.shop UC", CALM)],
    },
    PanelExample {
        title: "Flags by version",
        series: &[("catalog v2 UF", BURST), ("cart v1 UC", CALM)],
    },
    PanelExample {
        title: "TCP connections with a flag",
        series: &[("db UF,URX", AFTER)],
    },
    PanelExample {
        title: "Share of requests that failed",
        series: &[("catalog 5m", BURST), ("catalog 1h", AFTER)],
    },
    PanelExample {
        title: "Versions: share seen and weight",
        series: &[
            ("v1 seen", HIGH),
            ("v2 seen", LOW),
            ("v1 weight", NINE),
            ("v2 weight", ONE),
        ],
    },
    PanelExample {
        title: "Proxies by state",
        series: &[("SYNCED", REST), ("STALE", AFTER)],
    },
    PanelExample {
        title: "Refused, disconnected",
        series: &[("refused cds", AFTER), ("disconnected", CALM)],
    },
    PanelExample {
        title: "From a change to the proxies",
        series: &[("99 %", CALM)],
    },
    PanelExample {
        title: "Certificates that expire first",
        series: &[
            ("4.1 h  catalog-v2 default", &[]),
            ("11.8 h  cart default", &[]),
            ("11.9 h  payments default", &[]),
        ],
    },
    PanelExample {
        title: "Findings",
        series: &[
            ("1  ML0401 network-policy-blocks-istiod", &[]),
            ("1  ML1101 debug-log-left-on", &[]),
        ],
    },
    PanelExample {
        title: "Proxies to look at",
        series: &[
            ("2 ejected endpoints", &[]),
            ("0 endpoints that are gone", &[]),
            ("1 proxies at debug", &[]),
        ],
    },
];

/// The picture. A String takes everything.
pub fn svg() -> String {
    let height = ROWS.len() * (ROW + HEIGHT + GAP) + GAP;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<title>The dashboard, with made-up figures</title>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#f4f5f5\"/>\n"
    );
    for (at, row) in ROWS.iter().enumerate() {
        let top = GAP + at * (ROW + HEIGHT + GAP);
        let _ = writeln!(
            out,
            "<text x=\"{GAP}\" y=\"{}\" font-weight=\"bold\" font-size=\"14\">{}</text>",
            top + 16,
            row.title
        );
        let width = (WIDTH - GAP) / row.panels.len().max(1);
        for (column, panel) in row.panels.iter().enumerate() {
            draw(
                &mut out,
                panel,
                GAP + column * width,
                top + ROW,
                width - GAP,
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, panel: &Panel, x: usize, y: usize, width: usize) {
    let _ = writeln!(
        out,
        "<g transform=\"translate({x} {y})\"><rect width=\"{width}\" height=\"{HEIGHT}\" rx=\"3\" fill=\"#fff\" stroke=\"#d0d4d8\"/>"
    );
    let _ = writeln!(
        out,
        "<text x=\"10\" y=\"20\" font-weight=\"bold\">{}</text>",
        panel.title
    );
    let mut legend = 10;
    let example = EXAMPLES.iter().find(|example| example.title == panel.title);
    for (at, (name, values)) in example
        .map_or(&[][..], |example| example.series)
        .iter()
        .enumerate()
    {
        let colour = COLOURS[at % COLOURS.len()];
        if panel.kind == PanelKind::Lines {
            let _ = writeln!(
                out,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
                points(values, width)
            );
            let _ = writeln!(
                out,
                "<text x=\"{legend}\" y=\"{}\" fill=\"{colour}\">{name}</text>",
                HEIGHT - 10
            );
            legend += name.len() * 7 + 14;
        } else {
            let size = if panel.kind == PanelKind::Numbers {
                18
            } else {
                12
            };
            let _ = writeln!(
                out,
                "<text x=\"10\" y=\"{}\" font-size=\"{size}\">{name}</text>",
                52 + at * 30
            );
        }
    }
    out.push_str("</g>\n");
}

/// Values from left to right, between the title and the legend.
fn points(values: &[f64], width: usize) -> String {
    let (top, bottom) = (34.0, 146.0);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a picture is a few hundred points wide"
    )]
    let step = (width - 20) as f64 / values.len().saturating_sub(1).max(1) as f64;
    let mut x = 10.0;
    let mut points = Vec::new();
    for value in values {
        points.push(format!("{x:.0},{:.0}", bottom - value * (bottom - top)));
        x += step;
    }
    points.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_panel_has_an_example_and_every_example_a_panel() {
        let panels: Vec<_> = ROWS
            .iter()
            .flat_map(|row| row.panels)
            .map(|panel| panel.title)
            .collect();
        let examples: Vec<_> = EXAMPLES.iter().map(|example| example.title).collect();
        assert_eq!(panels, examples);
    }
}
