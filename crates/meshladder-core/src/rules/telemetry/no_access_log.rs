//! See the page beside this file.

use crate::doc::json::Raw;
use crate::envoy::dump::Section;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::fleet::Proxy;
use crate::mesh::ObjectRef;
use crate::rules::{Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML1103",
    name: "no-access-log",
    aka: &[],
    rung: Rung::Telemetry,
    severity: Severity::Info,
    claim: "proxies log requests, with response flags",
    needs: &["proxies/"],
    uses: &[],
    explains: &[],
    docs: include_str!("no_access_log.md"),
    check: Check::Proxy(check),
};

fn check(_: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    let (Some(dump), Some(doc)) = (&proxy.dump, &proxy.docs.config_dump) else { return };
    let listeners = || dump.of(Section::Listeners).filter_map(|resource| resource.raw);
    let managers: Vec<Raw<'_>> = listeners().filter(|raw| raw.text().contains("HttpConnectionManager")).collect();
    let Some(first) = managers.first() else { return };
    out.examined();
    let logs = |raw: &&Raw<'_>| raw.text().contains("\"access_log\"");
    let flags = |raw: &&Raw<'_>| raw.text().contains("RESPONSE_FLAGS");
    let (namespace, pod) = (&proxy.docs.id.namespace, &proxy.docs.id.pod);
    let what = match (managers.iter().any(|raw| logs(&raw)), managers.iter().any(|raw| flags(&raw))) {
        (true, true) => return,
        (true, false) => "logs requests without response flags, which tell why one failed",
        (false, _) => "does not log requests",
    };
    let message = format!("the proxy of {namespace}/{pod} {what}");
    let reference = ObjectRef::new("Pod", namespace, pod);
    let proof = Evidence::offset(&doc.id, first.offset(), "a listener that takes requests");
    let finding = out.find(reference.clone(), message, proof);
    finding.hits(reference);
    finding.fix(Fix::advice("turn the access log on with a Telemetry resource (`accessLogging: [{providers: [{name: envoy}]}]`), in Istio's own format"));
}
