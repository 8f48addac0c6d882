//! See the page beside this file.

use super::webhook::validators;
use crate::finding::{Confidence, Evidence, Fix, Risk, Rung, Severity};
use crate::rules::authority::{self, Roots};
use crate::rules::enrolment::hit_refused;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::injection::{Ca, Injector, Injectors, WebhookBackend};
use meshladder_mesh::{Object, ObjectRef, PodFacts};
use meshladder_text::shell;
use meshladder_text::tri::Tri;

pub(super) static RULE: Rule = Rule {
    code: "ML0203",
    name: "webhook-ca-invalid",
    aka: &[],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "the API server can check the certificate of every webhook of Istio",
    needs: Inputs::of(&[Kind::MutatingWebhook]),
    uses: Inputs::of(&[
        Kind::ValidatingWebhook,
        Kind::Service,
        Kind::EndpointSlice,
        Kind::Pod,
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::ReplicaSet,
        Kind::Event,
        Kind::ConfigMap,
    ])
    .and(&[Part::Logs]),
    explains: &["ML03", "ML05", "ML06", "ML07", "ML10"],
    docs: include_str!("webhook_ca_invalid.md"),
    check: Check::Mesh(check),
};

/// Why a webhook's answer is not trusted.
struct Flaw<'m> {
    what: String,
    proof: Evidence,
    /// The roots that istiod gives out, of which none is trusted.
    roots: Option<Roots<'m>>,
    /// Whose certificate has run out, when that is what is wrong.
    outdated: Option<ObjectRef>,
    /// Whether the API server itself said so.
    was_said: bool,
}

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    let hooks: Vec<Injector<'_>> = injectors
        .webhooks
        .iter()
        .copied()
        .chain(validators(facts.mesh))
        .collect();
    let mut told: Vec<&Object> = Vec::new();
    for hook in &hooks {
        out.examined();
        let Some(flaw) = flaw(facts, &injectors, *hook) else {
            continue;
        };
        if flaw.was_said && flaw.roots.is_none() && is_namesakes(facts, &injectors, *hook, &hooks) {
            continue;
        }
        if told.iter().any(|config| config.id == hook.config.id) {
            continue;
        }
        told.push(hook.config);
        tell(facts, &hooks, *hook, flaw, out);
    }
}

fn tell(
    facts: &Facts<'_>,
    hooks: &[Injector<'_>],
    hook: Injector<'_>,
    flaw: Flaw<'_>,
    out: &mut Sink,
) {
    let config = &hook.config.id;
    let message = format!(
        "the API server cannot trust webhook {} of {config}: {}",
        hook.name, flaw.what
    );
    let finding = out.find(
        flaw.outdated.clone().unwrap_or_else(|| config.clone()),
        message,
        flaw.proof,
    );
    finding.hits(config.clone());
    if flaw.was_said {
        hit_refused(facts, &called(hook), finding);
    }
    if !hook.fails_closed() {
        finding.severity(Severity::Warning);
    }
    if let Some(istiod) = flaw.outdated {
        let restart = shell::command(
            "kubectl rollout restart {} -n {}",
            &[&kubectl(&istiod), &istiod.namespace],
        );
        finding.fix(Fix::command(Risk::Disruptive, restart));
        return;
    }
    if let Some(roots) = flaw.roots {
        finding.see(Evidence::of(
            roots.object,
            roots.node,
            "the authority by which proxies know istiod",
        ));
        let distrust = authority::distrust(facts);
        if distrust.is_none() && !flaw.was_said {
            finding.confidence(Confidence::Likely);
        }
        finding.evidence.extend(distrust);
        let give = authority::give(hook.config, hooks, &roots);
        finding.fix(if flaw.was_said {
            give.unchecked("what the API server said before stays said")
        } else {
            give
        });
    }
    finding.fix(Fix::advice(
        "restart istiod: it writes its root certificate into caBundle when it starts",
    ));
}

fn kubectl(workload: &ObjectRef) -> String {
    format!("{}/{}", workload.kind.to_ascii_lowercase(), workload.name)
}

/// What is wrong with the authority of a webhook that something answers.
fn flaw<'f>(facts: &Facts<'f>, injectors: &Injectors<'f>, hook: Injector<'f>) -> Option<Flaw<'f>> {
    let served = injectors.served(hook);
    if served.answers == Tri::No {
        return None;
    }
    let client = hook.node.get("clientConfig").unwrap_or(hook.node);
    let at = client.get("caBundle").unwrap_or(client);
    let here = |what: String| {
        let proof = Evidence::of(hook.config, at, "the authority that is trusted");
        Some(Flaw {
            what,
            proof,
            roots: None,
            outdated: None,
            was_said: false,
        })
    };
    match &served.ca {
        Ca::Broken(why) => here(format!("its caBundle cannot be read, {why}")),
        Ca::Certificates(certificates) => {
            let now = facts.snapshot.taken_at()?;
            let last = certificates
                .iter()
                .map(|certificate| certificate.not_after)
                .max()?;
            if last < now {
                return here(format!("its caBundle expired at {last}"));
            }
            let foreign = foreign(facts, &served);
            match refused(facts, hook, &served) {
                Some(refused) => Some(Flaw {
                    roots: foreign,
                    ..refused
                }),
                None => foreign.and_then(|roots| {
                    let what = "its caBundle has none of the roots by which proxies know istiod"
                        .to_owned();
                    Some(Flaw {
                        roots: Some(roots),
                        ..here(what)?
                    })
                }),
            }
        }
        // istiod fills it in; until then a webhook that only advises is nothing to worry about.
        Ca::Missing if hook.fails_closed() => {
            refused(facts, hook, &served).or_else(|| here("it has no caBundle".to_owned()))
        }
        Ca::Missing => None,
    }
}

/// The roots that istiod gives out, when the API server is told to trust others. Two istiods may
/// have an authority each, and only one of them can write the ConfigMap; one that is not in this
/// cluster may show another certificate.
fn foreign<'f>(facts: &Facts<'f>, served: &WebhookBackend<'f>) -> Option<Roots<'f>> {
    let Ca::Certificates(trusted) = &served.ca else {
        return None;
    };
    let service = served.service?;
    let istiods = facts.mesh.istiods(None);
    let mut revisions = istiods
        .iter()
        .map(|pod| pod.label("istio.io/rev").unwrap_or("default"));
    let first = revisions.next()?;
    if revisions.any(|other| other != first) {
        return None;
    }
    let roots = authority::given_out(facts.mesh, &service.id.namespace);
    let fits = roots.iter().any(|one| one.fit(trusted));
    roots.into_iter().next().filter(|_| !fits)
}

/// What the API server says of a call that failed. Two configurations may have a webhook of that
/// name.
fn called(hook: Injector<'_>) -> String {
    format!("failed calling webhook \"{}\"", hook.name)
}

/// Whether another webhook of that name trusts the wrong authority: then the API server spoke of
/// that.
fn is_namesakes(
    facts: &Facts<'_>,
    injectors: &Injectors<'_>,
    own: Injector<'_>,
    hooks: &[Injector<'_>],
) -> bool {
    let others = hooks
        .iter()
        .filter(|hook| hook.config.id != own.config.id && hook.name == own.name);
    others
        .into_iter()
        .any(|hook| foreign(facts, &injectors.served(*hook)).is_some())
}

/// What the API server said when it called the webhook.
fn refused<'f>(
    facts: &Facts<'f>,
    hook: Injector<'f>,
    served: &WebhookBackend<'f>,
) -> Option<Flaw<'f>> {
    let called = called(hook);
    let address = served
        .service
        .map(|service| format!("https://{}.{}.svc", service.id.name, service.id.namespace));
    let event = facts
        .mesh
        .objects
        .of_kind(Kind::Event)
        .iter()
        .find(|event| {
            let message = event.node.str_at("message").unwrap_or_default();
            let is_it = message.contains(&called) && message.contains("x509:");
            is_it
                && address.as_ref().is_none_or(|address| {
                    !message.contains("https://") || message.contains(address)
                })
        })?;
    let message = event.node.get("message")?;
    let why = message
        .str()?
        .split("x509:")
        .nth(1)?
        .trim()
        .trim_end_matches('.');
    // The authority is in its time: what has run out is the certificate that istiod shows.
    let is_outdated = why.starts_with("certificate has expired");
    let outdated = served
        .service
        .filter(|_| is_outdated)
        .and_then(|service| istiod(facts, service));
    let proof = Evidence::of(event, message, "what the API server said");
    Some(Flaw {
        what: why.to_owned(),
        proof,
        roots: None,
        outdated,
        was_said: true,
    })
}

/// What runs the pods behind a Service.
fn istiod(facts: &Facts<'_>, service: &Object) -> Option<ObjectRef> {
    let of = |facts: &&meshladder_mesh::ServiceFacts| {
        facts.namespace == service.id.namespace && facts.name == service.id.name
    };
    let service = facts.mesh.services.iter().find(of)?;
    facts.mesh.pods_of(service).next().map(PodFacts::workload)
}
