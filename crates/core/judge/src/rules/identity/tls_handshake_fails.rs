//! See the page beside this file.

use std::collections::BTreeSet;

use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::accounts::{self, Side};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{Object, ObjectRef, PodFacts};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0817",
    name: "tls-handshake-fails",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "the TLS that a DestinationRule starts is one that the server takes",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Service,
        Kind::ServiceEntry,
        Kind::Sidecar,
        Kind::ConfigMap,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &["ML0809", "ML10"],
    docs: include_str!("tls_handshake_fails.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    match case {
        Some(case) => of_request(facts, case, out),
        None => everywhere(facts, out),
    }
}

/// What went wrong, by the words of the library that did the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Plain,
    Name,
    Trust,
    Refused,
    NoSecret,
}

fn of_request(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    if case.seen.is_some_and(Symptom::is_success) {
        return;
    }
    let rule = accounts::client_setting(facts, case, "tls");
    let failure = failure(facts, case);
    let servers: Vec<&PodFacts> = case
        .servers
        .iter()
        .copied()
        .filter(|pod| pod.has_proxy)
        .collect();
    if let Some((rule, names)) =
        rule.and_then(|(rule, tls)| Some((rule, other_names(facts, tls, &servers)?)))
    {
        return tell_name(facts, rule, names, &case.host, &servers, out);
    }
    let Some((cause, proof)) = failure else {
        return;
    };
    let is_mutual = rule.is_some_and(|(_, tls)| tls.str_at("mode") == Some("ISTIO_MUTUAL"));
    if cause == Cause::Name {
        // Whom the servers' certificates are for is known, and the rule wants one of them.
        if is_mutual && !servers.is_empty() {
            return;
        }
        let of_rule = rule.and_then(|(rule, tls)| Some((rule, tls.get("subjectAltNames")?)));
        let mut entries = facts
            .mesh
            .registered(&case.host)
            .filter(|owner| owner.id.is(Kind::ServiceEntry));
        let of_entry = entries.find_map(|entry| Some((entry, entry.spec_at(["subjectAltNames"])?)));
        if let Some((object, names)) = of_rule.or(of_entry) {
            tell_name(facts, object, names, &case.host, &[], out);
            out.findings
                .last_mut()
                .map(|finding| proof.map(|proof| finding.see(proof)));
        }
        return;
    }
    let is_own = |tls: &Node| matches!(tls.str_at("mode"), Some("SIMPLE" | "MUTUAL"));
    let Some((rule, tls)) = rule.filter(|(_, tls)| is_own(tls)) else {
        return;
    };
    let to = format!("{}:{}", case.host, case.call.to.port);
    let message = format!("{} starts TLS to {to}, {}", rule.id, cause.in_words());
    let finding = out.find(
        rule.id.clone(),
        message,
        Evidence::of(rule, tls, "the TLS that proxies start"),
    );
    finding.evidence.extend(proof);
    finding
        .hits
        .extend(accounts::caller(facts, case).map(PodFacts::reference));
    if cause == Cause::Plain {
        finding.fix(Fix::patch(&rule.id, [Op::remove(rule.path_of(tls))]));
    } else {
        // Whether the rule or the server is wrong, no document tells.
        finding.confidence(Confidence::Likely);
    }
    finding.fix(Fix::advice(cause.advice()));
}

impl Cause {
    fn of(text: &str) -> Option<Self> {
        let text = text.replace('_', " ").to_ascii_lowercase();
        let has = |words: &str| text.contains(words);
        match () {
            () if has("secret is not supplied") => Some(Self::NoSecret),
            () if has("wrong version number") || has("packet length too long") => Some(Self::Plain),
            () if has("certificate verify failed") => Some(if has(" san ") {
                Self::Name
            } else {
                Self::Trust
            }),
            () if has("tls error") && (has("alert") || has("handshake failure")) => {
                Some(Self::Refused)
            }
            () => None,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Plain => "and the server there answers in plain text",
            Self::Name => "and the server shows a certificate for another name",
            Self::Trust => "and the server's certificate is signed by nobody that the rule trusts",
            Self::Refused => "and the server refuses the handshake",
            Self::NoSecret => "with a certificate or root that the proxy does not have",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Plain => {
                "or call a port that speaks TLS: `targetPort` in the ServiceEntry leads there"
            }
            Self::Name | Self::Trust => {
                "name in `caCertificates` or `credentialName` the root that signed the certificate"
            }
            Self::Refused => {
                "see what the server wants: a client's certificate (mode MUTUAL), another `sni`"
            }
            Self::NoSecret => {
                "mount the files that the rule names into the proxies, or use `credentialName` with a Secret"
            }
        }
    }
}

/// How the handshake failed, with the line that says so; what was seen may say it too.
fn failure(facts: &Facts<'_>, case: &Case<'_>) -> Option<(Cause, Option<Evidence>)> {
    let told = accounts::of(facts, case)
        .into_iter()
        .filter(|told| told.side == Side::Client);
    let logged = told.filter_map(|told| {
        let cause = Cause::of(&told.line?.failure).or_else(|| Cause::of(told.details))?;
        Some((cause, Some(told.proof)))
    });
    let seen = || Some((Cause::of(case.seen?.details.as_deref()?)?, None));
    logged.into_iter().next().or_else(seen)
}

/// The names that a rule for Istio's own mutual TLS wants, when no server has any of them.
fn other_names<'n>(facts: &Facts<'_>, tls: &'n Node, servers: &[&PodFacts]) -> Option<&'n Node> {
    let names = tls
        .get("subjectAltNames")
        .filter(|names| !names.items().is_empty())?;
    let own = identities(facts, servers);
    let is_own = |name: &Node| name.str().is_some_and(|name| own.contains(name));
    let is_mutual = tls.str_at("mode") == Some("ISTIO_MUTUAL");
    (is_mutual && !own.is_empty() && !names.items().iter().any(is_own)).then_some(names)
}

/// Whom the servers' certificates are for.
fn identities(facts: &Facts<'_>, servers: &[&PodFacts]) -> BTreeSet<String> {
    let domains = &facts.mesh.config.trust_domains;
    let of = |pod: &&PodFacts| {
        let (namespace, account) = (pod.namespace.clone(), pod.service_account.clone());
        domains
            .iter()
            .map(move |domain| format!("spiffe://{domain}/ns/{namespace}/sa/{account}"))
    };
    servers.iter().flat_map(of).collect()
}

fn tell_name(
    facts: &Facts<'_>,
    object: &Object,
    names: &Node,
    host: &str,
    servers: &[&PodFacts],
    out: &mut Sink,
) {
    let wanted: Vec<&str> = names.items().iter().filter_map(Node::str).collect();
    let own: Vec<String> = identities(facts, servers).into_iter().collect();
    let shown = if own.is_empty() {
        "another one".to_owned()
    } else {
        format!("one for {}", own.join(", "))
    };
    let message = format!(
        "{} wants {host} to show a certificate for {}, and it shows {shown}: the handshake fails",
        object.id,
        wanted.join(", ")
    );
    let finding = out.find(
        object.id.clone(),
        message,
        Evidence::of(object, names, "the names that are wanted"),
    );
    for pod in servers {
        finding.hits(pod.reference());
    }
    let path = object.path_of(names);
    if let [own] = own.as_slice() {
        finding.fix(Fix::patch(&object.id, [Op::replace(&path, [own])]));
    }
    finding.fix(Fix::patch(&object.id, [Op::remove(path)]));
}

/// Nobody asked: what DestinationRules want of Services whose pods have another identity.
fn everywhere(facts: &Facts<'_>, out: &mut Sink) {
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        let host = facts.mesh.domain.fqdn(
            rule.spec_at(["host"])
                .and_then(Node::str)
                .unwrap_or_default(),
            &rule.id.namespace,
        );
        let Some(service) = facts.mesh.service_of_host(&host) else {
            continue;
        };
        out.examined();
        let id = |pod: &Object| (pod.id.namespace.clone(), pod.id.name.clone());
        let pods = facts.mesh.selected_pods(service).into_iter().map(id);
        let servers: Vec<&PodFacts> = pods
            .filter_map(|(ns, name)| facts.mesh.pod(&ns, &name))
            .filter(|pod| pod.has_proxy)
            .collect();
        if let Some(names) = tls_of(rule)
            .into_iter()
            .find_map(|tls| other_names(facts, tls, &servers))
        {
            tell_name(facts, rule, names, &host, &servers, out);
            let of_service: ObjectRef = service.id.clone();
            out.findings
                .last_mut()
                .map(|finding| finding.hits(of_service));
        }
    }
}

/// Every `tls` of a rule.
pub(super) fn tls_of(rule: &Object) -> Vec<&Node> {
    let subsets = rule
        .spec_list("subsets")
        .iter()
        .filter_map(|subset| subset.get("trafficPolicy"));
    let policies = rule.spec_at(["trafficPolicy"]).into_iter().chain(subsets);
    let parts = policies.flat_map(|policy| {
        let ports = policy.get("portLevelSettings").map_or(&[][..], Node::items);
        std::iter::once(policy).chain(ports)
    });
    parts.filter_map(|part| part.get("tls")).collect()
}
