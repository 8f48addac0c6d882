//! See the page beside this file.

use super::denial::{self, As, Denial};
use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::policy::PolicyVerdict;
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0901",
    name: "denied-by-policy",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "no DENY policy matches the request",
    needs: Inputs::NONE,
    uses: Inputs::of(&[
        Kind::PeerAuthentication,
        Kind::AuthorizationPolicy,
        Kind::RequestAuthentication,
        Kind::Pod,
        Kind::Service,
        Kind::VirtualService,
        Kind::Sidecar,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("denied_by_policy.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    for denial in denial::denials(facts, case) {
        let Some(name) = denial.name().filter(|name| !name.is_bad_custom) else {
            continue;
        };
        let id = ObjectRef::of(Kind::AuthorizationPolicy, name.namespace, name.name);
        match facts.mesh.objects.find(&id) {
            Some(policy) if matches(facts, case, &denial, policy) => {
                read(facts, case, &denial, policy, name.rule, out);
            }
            None if !denial::is_readable(facts) => unread(case, denial, &id, name.rule, out),
            // The proxy enforces what the objects no longer say: that is for the rung `sync`.
            _ => {}
        }
    }
}

/// Whether the policy, as it stands now, denies the request.
fn matches(facts: &Facts<'_>, case: &Case<'_>, denial: &Denial<'_>, policy: &Object) -> bool {
    let name = format!("ns[{}]-policy[{}]-", policy.id.namespace, policy.id.name);
    match denial::verdict(facts, case, denial.server, As::default()) {
        Some(PolicyVerdict::Denied { policy }) => {
            policy.is_some_and(|policy| policy.contains(&name))
        }
        Some(PolicyVerdict::Undecided(_)) | None => true,
        Some(PolicyVerdict::Allowed { .. } | PolicyVerdict::Refused(_)) => false,
    }
}

fn read(
    facts: &Facts<'_>,
    case: &Case<'_>,
    denial: &Denial<'_>,
    policy: &Object,
    rule: usize,
    out: &mut Sink,
) {
    let call = accounts::call(case);
    let message = format!("{} denies {call}: its rule {rule} matches", policy.id);
    let node = policy.spec_list("rules").get(rule).unwrap_or(&policy.node);
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, node, "the rule that matches"),
    );
    finding
        .see(denial.proof.clone())
        .hits(denial.server.reference());
    finding.is_asked_for(denial::is_asked_for(facts, case, denial.server));
    if let Some(patch) = except_path(case, policy, node) {
        finding.fix(Fix::patch(&policy.id, patch));
    }
    if let Some(patch) = except_caller(facts, case, denial, policy, node) {
        finding.fix(Fix::patch(&policy.id, patch));
    }
    if policy.spec_list("rules").len() > 1 {
        let remove = vec![Op::remove(format!("/spec/rules/{rule}"))];
        finding.fix(Fix::patch(&policy.id, remove));
    }
    finding.fix(Fix::delete(&policy.id));
}

/// Takes the path out of every operation that the rule lists.
fn except_path(case: &Case<'_>, policy: &Object, rule: &Node) -> Option<Vec<Op>> {
    let path = case.call.to.path.split(['?', '#']).next()?;
    let operations = rule
        .get("to")?
        .items()
        .iter()
        .filter_map(|to| to.get("operation"));
    except(policy, operations, "notPaths", path)
}

/// Takes the caller out of every source that the rule lists.
fn except_caller(
    facts: &Facts<'_>,
    case: &Case<'_>,
    denial: &Denial<'_>,
    policy: &Object,
    rule: &Node,
) -> Option<Vec<Op>> {
    let principal = denial::principal(facts, case, denial.server)?;
    let sources = rule
        .get("from")?
        .items()
        .iter()
        .filter_map(|from| from.get("source"));
    except(policy, sources, "notPrincipals", &principal)
}

/// Adds a value to a list of exceptions in each of these parts.
fn except<'n>(
    policy: &Object,
    parts: impl Iterator<Item = &'n Node>,
    list: &str,
    value: &str,
) -> Option<Vec<Op>> {
    let ops: Vec<Op> = parts
        .map(|part| {
            let at = policy.path_of(part);
            match part.get(list) {
                Some(_) => Op::add(format!("{at}/{list}/-"), value),
                None => Op::add(format!("{at}/{list}"), [value]),
            }
        })
        .collect();
    (!ops.is_empty()).then_some(ops)
}

fn unread(case: &Case<'_>, denial: Denial<'_>, id: &ObjectRef, rule: usize, out: &mut Sink) {
    let message = format!(
        "{id} denies {}: its rule {rule} matches, as the proxy tells; the object itself could not be read",
        accounts::call(case)
    );
    let server = denial.server.reference();
    let finding = out.find(id.clone(), message, denial.proof);
    finding.hits(server).confidence(Confidence::Likely);
    finding.fix(Fix::look(shell::command(
        "kubectl get authorizationpolicy {} -n {} -o yaml",
        &[&id.name, &id.namespace],
    )));
    finding.fix(Fix::delete(id).unchecked("the object could not be read"));
}
