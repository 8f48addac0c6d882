//! The runbook's page of alerts, made from the table that the rules are made from.

use std::fmt::Write;

use super::alerts::{self, Alert};
use super::rules::RuleOptions;

/// The page, as Markdown.
pub fn page() -> String {
    let mut out = "# Alerts\n\nWhat each alert of `meshladder monitor rules` means, and what to run. `URL`, `CLIENT`, `POD`, `NAME` and `NAMESPACE` stand for \
                   your own; the alert's labels name them. Add `-s SOURCE` to read a bundle.\n"
        .to_owned();
    for group in alerts::GROUPS {
        for alert in group.alerts {
            section(&mut out, alert);
        }
    }
    out
}

/// A String takes everything.
fn section(out: &mut String, alert: &Alert) {
    let objective = RuleOptions::default().objective;
    let _ = write!(
        out,
        "\n## {}\n\n{}: {}. {}.\n",
        alert.name, alert.severity, alert.summary, alert.description
    );
    let _ = write!(
        out,
        "\n{}.\n\nLook at:\n\n```sh\n{}\n```\n",
        alert.means,
        alert.look.join("\n")
    );
    let _ = write!(
        out,
        "\nFires when this holds for {}:\n\n```promql\n{}\n```\n",
        alert.hold,
        alert.expr(objective)
    );
}
