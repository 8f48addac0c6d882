//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::fleet::Proxy;
use crate::rules::endpoints::called_service;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::{ResourceState, Section};
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::policies::Workload;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::json::Raw;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1103",
    name: "no-access-log",
    aka: &[],
    rung: Rung::Telemetry,
    severity: Severity::Info,
    claim: "proxies log requests, with response flags",
    needs: Inputs::NONE.and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod, Kind::Telemetry, Kind::ConfigMap]),
    explains: &[],
    docs: include_str!("no_access_log.md"),
    check: Check::Proxy(check),
};

fn check(facts: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    let (Some(dump), Some(doc)) = (&proxy.dump, &proxy.docs.config_dump) else {
        return;
    };
    let active = dump
        .of(Section::Listeners)
        .filter(|listener| listener.state == ResourceState::Active);
    let managers: Vec<_> = active
        .filter_map(|listener| Some((&*listener.name, listener.raw?)))
        .filter(|(_, raw)| raw.text().contains("HttpConnectionManager"))
        .collect();
    let Some((_, first)) = managers.first() else {
        return;
    };
    out.examined();
    let logs = |raw: &Raw<'_>| raw.text().contains("\"access_log\"");
    let flags = |raw: &Raw<'_>| raw.text().contains("RESPONSE_FLAGS");
    let inbound = managers.iter().find(|(name, _)| *name == "virtualInbound");
    let (namespace, pod) = (&proxy.docs.id.namespace, &proxy.docs.id.pod);
    let any = |is: &dyn Fn(&Raw<'_>) -> bool| managers.iter().any(|(_, raw)| is(raw));
    let what = match (
        any(&logs),
        any(&flags),
        inbound.is_none_or(|(_, raw)| logs(raw)),
    ) {
        (true, true, true) => return,
        (true, true, false) => "does not log the requests that come in",
        (true, false, _) => "logs requests without response flags, which tell why one failed",
        (false, _, _) => "does not log requests",
    };
    let reference = ObjectRef::of(Kind::Pod, namespace, pod);
    let proof = Evidence::offset(&doc.id, first.offset(), "a listener that takes requests");
    let stored = facts.mesh.objects.find(&reference);
    let finding = match stored.and_then(|stored| silenced_by(facts, stored)) {
        Some((object, node, how)) => {
            let message = format!(
                "{} {how}, so the proxy of {namespace}/{pod} {what}",
                object.id
            );
            out.find(
                object.id.clone(),
                message,
                Evidence::of(object, node, "what is logged"),
            )
            .see(proof)
        }
        None => out.find(
            reference.clone(),
            format!("the proxy of {namespace}/{pod} {what}"),
            proof,
        ),
    };
    // Nobody needs a log until somebody looks for it.
    finding.hits(reference).when_asked(Severity::Warning);
    finding.fix(Fix::advice("turn the access log on with a Telemetry resource (`accessLogging: [{providers: [{name: envoy}]}]`), in Istio's own format"));
}

/// The Telemetry that turns the log off or thins it out, else the mesh's own setting.
fn silenced_by<'f>(
    facts: &Facts<'f>,
    pod: &Object,
) -> Option<(&'f Object, &'f Node, &'static str)> {
    let is_off = |logging: &&Node| called_service::is_true(logging.get("disabled"));
    let telemetries = facts.mesh.policies(Kind::Telemetry, &Workload::of(pod));
    let off = telemetries.iter().find_map(|telemetry| {
        let logging = telemetry.spec_list("accessLogging").iter().find(is_off)?;
        Some((*telemetry, logging, "turns the access log off"))
    });
    let config = &facts.mesh.config;
    let map = || {
        let map = facts.mesh.objects.find(config.object.as_ref()?)?;
        let mesh = map.node.at(["data", "mesh"])?;
        let tree = config.tree.as_ref()?;
        let has_file = tree
            .str_at("accessLogFile")
            .is_some_and(|file| !file.is_empty());
        let has_provider = tree
            .at(["defaultProviders", "accessLogging"])
            .is_some_and(|list| !list.items().is_empty());
        match (
            has_file || has_provider,
            tree.get("accessLogFormat").is_some(),
        ) {
            (false, _) if telemetries.is_empty() => Some((map, mesh, "names no access log")),
            (true, true) => Some((map, mesh, "sets a format of its own (accessLogFormat)")),
            _ => None,
        }
    };
    off.or_else(map)
}
