//! See the page beside this file.

use super::access_log_without_provider::{inherits, is_off, mesh_has_provider};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::analyzed::list;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML1106",
    name: "telemetry-silences-nothing",
    aka: &[],
    rung: Rung::Telemetry,
    severity: Severity::Info,
    claim: "a Telemetry that turns an access log off says which one",
    needs: Inputs::of(&[Kind::Telemetry, Kind::ConfigMap]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("telemetry_silences_nothing.md"),
    check: Check::Mesh(check),
};

/// Without a provider there is nothing to turn off, and "accessLogFile" goes on.
fn check(facts: &Facts<'_>, out: &mut Sink) {
    let config = &facts.mesh.config;
    let file = config
        .tree
        .as_ref()
        .and_then(|tree| tree.str_at("accessLogFile"))
        .filter(|file| !file.is_empty());
    let (Some(file), false) = (file, mesh_has_provider(facts.mesh)) else {
        return;
    };
    for telemetry in facts.mesh.objects.of_kind(Kind::Telemetry) {
        out.examined();
        let logs = telemetry.spec_list("accessLogging").iter();
        let mut lost = logs.filter(|log| is_off(log) && list(log, "providers").is_empty());
        if let Some(log) = lost.next().filter(|_| !inherits(facts.mesh, telemetry)) {
            tell(facts, telemetry, log, file, out);
        }
    }
}

fn tell(facts: &Facts<'_>, telemetry: &Object, log: &Node, file: &str, out: &mut Sink) {
    let message = format!(
        "{} turns access logs off and names no provider, and the mesh has no default one, so the log of the mesh's accessLogFile ({file}) goes on",
        telemetry.id
    );
    let proof = Evidence::of(telemetry, log, "it turns off a log of nobody");
    let finding = out.find(telemetry.id.clone(), message, proof);
    // A log that goes on harms nobody; who asks about the object wants to know.
    finding.when_asked(Severity::Warning);
    let map = config_map(facts);
    if let Some((map, mesh)) = map {
        finding.see(Evidence::of(map, mesh, "accessLogFile"));
    }
    let provider = Value::nested(["name"], "envoy");
    let path = format!("{}/providers", telemetry.path_of(log));
    finding.fix(Fix::patch(&telemetry.id, [Op::add(path, [provider])]));
}

fn config_map<'f>(facts: &Facts<'f>) -> Option<(&'f Object, &'f Node)> {
    let map = facts
        .mesh
        .objects
        .find(facts.mesh.config.object.as_ref()?)?;
    Some((map, map.node.at(["data", "mesh"])?))
}
