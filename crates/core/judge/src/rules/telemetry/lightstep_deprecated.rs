//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::list;
use crate::rules::{Check, Facts, Rule, Sink};
use std::collections::BTreeSet;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3105",
    name: "lightstep-deprecated",
    aka: &["IST0002"],
    rung: Rung::Telemetry,
    severity: Severity::Warning,
    claim: "no Telemetry traces to Lightstep, which Istio no longer supports",
    needs: Inputs::of(&[Kind::Telemetry]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("lightstep_deprecated.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let providers = facts
        .mesh
        .config
        .providers
        .iter()
        .filter(|provider| &*provider.kind == "lightstep");
    let lightstep: BTreeSet<&str> = providers.map(|provider| &*provider.name).collect();
    for telemetry in facts.mesh.objects.of_kind(Kind::Telemetry) {
        let used = telemetry
            .spec_list("tracing")
            .iter()
            .flat_map(|tracing| list(tracing, "providers"));
        for provider in used {
            out.examined();
            let name = provider.str_at("name").unwrap_or_default();
            if lightstep.contains(name) {
                let message = format!(
                    "{} traces to {name}, a Lightstep provider, which is deprecated: use an OpenTelemetry one",
                    telemetry.id
                );
                out.find(
                    telemetry.id.clone(),
                    message,
                    Evidence::of(telemetry, provider, "the provider"),
                )
                .fix(Fix::advice(
                    "define the provider as opentelemetry in the mesh's settings",
                ));
            }
        }
    }
}
