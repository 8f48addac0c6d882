//! See the page beside this file.

use super::selection::is_default;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::list;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML3104",
    name: "access-log-without-provider",
    aka: &["IST0157"],
    rung: Rung::Telemetry,
    severity: Severity::Warning,
    claim: "every Telemetry for access logs has a provider, its own or the mesh's",
    needs: Inputs::of(&[Kind::Telemetry]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("access_log_without_provider.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    if mesh_has_provider(facts.mesh) {
        return;
    }
    for telemetry in facts.mesh.objects.of_kind(Kind::Telemetry) {
        out.examined();
        let logs = telemetry.spec_list("accessLogging").iter();
        let mut lacking = logs.filter(|log| !is_off(log) && list(log, "providers").is_empty());
        let Some(log) = lacking.next().filter(|_| !inherits(facts.mesh, telemetry)) else {
            continue;
        };
        let message = format!(
            "{} turns on access logs and names no provider, and the mesh has no default one",
            telemetry.id
        );
        out.find(
            telemetry.id.clone(),
            message,
            Evidence::of(telemetry, log, "no provider"),
        )
        .fix(Fix::advice(
            "name a provider, such as envoy, or set defaultProviders.accessLogging of the mesh",
        ));
    }
}

/// Whether the mesh has a provider for those who name none.
pub(super) fn mesh_has_provider(mesh: &Mesh) -> bool {
    let tree = mesh.config.tree.as_ref();
    let defaults = tree.and_then(|config| config.at(["defaultProviders", "accessLogging"]));
    defaults.is_some_and(|defaults| !defaults.items().is_empty())
}

pub(super) fn is_off(log: &Node) -> bool {
    log.get("disabled")
        .is_some_and(|disabled| disabled.value == Value::Bool(true))
}

/// Whether a wider Telemetry, of the namespace or of the mesh, names a provider, which the narrower
/// one then uses.
pub(super) fn inherits(mesh: &Mesh, telemetry: &Object) -> bool {
    let (own, root) = (
        telemetry.id.namespace.as_str(),
        &*mesh.config.root_namespace,
    );
    let wider = match is_default(telemetry) {
        true if own == root => vec![],
        true => vec![root],
        false => vec![own, root],
    };
    let wider = wider
        .into_iter()
        .flat_map(|namespace| mesh.objects.in_namespace(Kind::Telemetry, namespace));
    let names = |log: &Node| !list(log, "providers").is_empty();
    wider
        .filter(|wider| is_default(wider))
        .any(|wider| wider.spec_list("accessLogging").iter().any(names))
}
