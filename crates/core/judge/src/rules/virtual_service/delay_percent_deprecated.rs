//! See the page beside this file.

use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML2013",
    name: "delay-percent-deprecated",
    aka: &["IST0002"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "no VirtualService says how many requests to delay in a deprecated field",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("delay_percent_deprecated.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        out.examined();
        let delays = service
            .spec_list("http")
            .iter()
            .filter_map(|rule| rule.at(["fault", "delay"]));
        let old: Vec<(&Node, &Node)> = delays
            .filter_map(|delay| Some((delay, percent(delay)?)))
            .collect();
        let Some((_, first)) = old.first() else {
            continue;
        };
        let message = format!(
            "{} uses fault.delay.percent, which is deprecated: use percentage",
            service.id
        );
        out.find(
            service.id.clone(),
            message,
            Evidence::of(service, first, "the deprecated field"),
        )
        .fix(moved(service, &old));
    }
}

fn percent(delay: &Node) -> Option<&Node> {
    let percent = delay.get("percent")?;
    let is_set = matches!(&percent.value, Value::Number(text) if text.parse::<f64>().is_ok_and(|number| number > 0.0));
    is_set.then_some(percent)
}

/// Moves the number to the new field, unless that is set already.
fn moved(service: &Object, old: &[(&Node, &Node)]) -> Fix {
    let mut operations = Vec::new();
    for (delay, percent) in old {
        let path = service.path_of(delay);
        operations.push(Op::remove(format!("{path}/percent")));
        if delay.get("percentage").is_none() {
            let share = Value::object([("value", *percent)]);
            operations.push(Op::add(format!("{path}/percentage"), share));
        }
    }
    Fix::patch(&service.id, operations)
}
