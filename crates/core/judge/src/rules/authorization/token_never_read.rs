//! See the page beside this file.

use super::denial::{self, action_of, fields, is_dry_run, is_of_token};
use super::token_refused;
use crate::finding::{Evidence, Finding, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::policies::{Workload, selector};
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0918",
    name: "token-never-read",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "where a policy asks for a token, a RequestAuthentication has it read",
    needs: Inputs::of(&[
        Kind::AuthorizationPolicy,
        Kind::RequestAuthentication,
        Kind::Pod,
    ]),
    uses: Inputs::of(&[Kind::EnvoyFilter, Kind::ConfigMap]).and(&[Part::Proxies, Part::Logs]),
    explains: &["ML0901", "ML0902", "ML0913", "ML0915", "ML0919"],
    docs: include_str!("token_never_read.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if case.is_some_and(|case| {
        case.seen
            .is_some_and(|seen| ![401, 403].contains(&seen.code))
    }) {
        return;
    }
    let mut known: Vec<String> = Vec::new();
    for pod in facts
        .mesh
        .pods
        .iter()
        .filter(|pod| pod.has_proxy && is_asked(case, &pod.namespace, &pod.name))
    {
        let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
            continue;
        };
        // Who reads tokens with a filter of their own needs no RequestAuthentication.
        if !accounts::envoy_filters(facts, pod, "envoy.extensions.filters.http.jwt_authn.")
            .is_empty()
        {
            continue;
        }
        let policies = facts
            .mesh
            .policies(Kind::AuthorizationPolicy, &Workload::of(stored));
        for policy in policies.into_iter().filter(|policy| !is_dry_run(policy)) {
            let Some(wanted) = wanted(policy) else {
                continue;
            };
            out.examined();
            let readers = facts
                .mesh
                .policies(Kind::RequestAuthentication, &Workload::of(stored));
            let unread = unread(&wanted, &readers)
                .or_else(|| case.and_then(|case| elsewhere(case, &readers)))
                .filter(|_| case.is_none_or(|case| bears(facts, case, policy)));
            if let Some(unread) = unread.filter(|_| !known.contains(&policy.id.to_string())) {
                known.push(policy.id.to_string());
                let finding = tell(facts, policy, &wanted, &unread, out);
                if case.is_none() {
                    finding.severity(Severity::Warning);
                }
                finding.hits(pod.reference());
            } else if let Some(finding) = out
                .findings
                .iter_mut()
                .find(|f| f.hits.contains(&policy.id))
            {
                finding.hits(pod.reference());
            }
        }
    }
}

fn is_asked(case: Option<&Case<'_>>, namespace: &str, name: &str) -> bool {
    case.is_none_or(|case| {
        let is_server = case
            .servers
            .iter()
            .any(|pod| pod.namespace == namespace && pod.name == name);
        let is_gateway = case.client.is_none()
            && case
                .trace
                .hops
                .first()
                .is_some_and(|hop| hop.proxy.is_of(namespace, name));
        is_server || is_gateway
    })
}

/// Whether the policy is what turned the request away: it denies, or does not admit, or its token
/// is refused for its issuer.
fn bears<'r>(facts: &Facts<'r>, case: &'r Case<'r>, policy: &Object) -> bool {
    let allows = action_of(policy) == "ALLOW";
    let is_it = |denial: &denial::Denial<'_>| match denial.name() {
        Some(name) => name.namespace == policy.id.namespace && name.name == policy.id.name,
        None => denial.policy.is_none() && allows,
    };
    let of_issuer = |(reason, _): &(String, _)| reason.starts_with("Jwt issuer is not configured");
    let wants = |rule: &Node| fields(rule).iter().any(|(field, _)| is_of_token(field));
    let is_of_tokens =
        denial::has_token(case) || !allows || policy.spec_list("rules").iter().all(wants);
    is_of_tokens
        && (denial::denials(facts, case).iter().any(is_it)
            || token_refused::refusals(facts, case).iter().any(of_issuer))
}

/// What a policy wants of a token.
struct Wanted<'p> {
    node: &'p Node,
    /// The issuers that it names, in full.
    issuers: Vec<&'p str>,
}

/// `requestPrincipals` are "<ISS>/<SUB>"; a DENY of all that have none wants a token as well.
fn wanted(policy: &Object) -> Option<Wanted<'_>> {
    let action = action_of(policy);
    let is_it = |field: &str| match action {
        "ALLOW" => is_of_token(field),
        "DENY" => field == "notRequestPrincipals",
        _ => false,
    };
    let found: Vec<(&str, &Node)> = policy
        .spec_list("rules")
        .iter()
        .flat_map(fields)
        .filter(|(field, _)| is_it(field))
        .collect();
    let named = found
        .iter()
        .filter(|(field, _)| field.ends_with("equestPrincipals"))
        .flat_map(|(_, node)| node.items());
    let issuers = named.filter_map(|node| node.str()?.rsplit_once('/').map(|(issuer, _)| issuer));
    let issuers = issuers.filter(|issuer| !issuer.contains('*')).collect();
    found.first().map(|(_, node)| Wanted { node, issuers })
}

/// Why no token of the kind is ever read.
enum Unread<'r> {
    /// No RequestAuthentication is for the workload.
    Nobody,
    /// This one is, for another issuer.
    OtherIssuer(&'r Object, &'r Node),
    /// This one is, and looks for tokens elsewhere than where the request has its own.
    OtherPlace(&'r Object, &'r Node),
}

fn unread<'r>(wanted: &Wanted<'_>, readers: &[&'r Object]) -> Option<Unread<'r>> {
    let rules = || {
        readers.iter().flat_map(|reader| {
            reader
                .spec_list("jwtRules")
                .iter()
                .map(move |rule| (*reader, rule))
        })
    };
    let Some((reader, rule)) = rules().next() else {
        return Some(Unread::Nobody);
    };
    let is_read = |issuer: &&str| rules().any(|(_, rule)| rule.str_at("issuer") == Some(issuer));
    let is_other = !wanted.issuers.is_empty() && !wanted.issuers.iter().any(&is_read);
    is_other.then(|| Unread::OtherIssuer(reader, rule.get("issuer").unwrap_or(rule)))
}

/// "The JWT token is expected in Authorization header with Bearer prefix, or as query parameter
/// `access_token`", unless the rule names other places.
fn elsewhere<'r>(case: &Case<'_>, readers: &[&'r Object]) -> Option<Unread<'r>> {
    const PLACES: [&str; 3] = ["fromHeaders", "fromParams", "fromCookies"];
    let is_bearer = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("authorization") && value.starts_with("Bearer ")
    };
    case.call.headers.iter().find(|header| is_bearer(header))?;
    let rules = || {
        readers.iter().flat_map(|reader| {
            let rules = reader.spec_list("jwtRules").iter();
            rules.map(move |rule| (*reader, rule))
        })
    };
    let is_there = |header: &Node| {
        let name = header.str_at("name").unwrap_or_default();
        case.call
            .headers
            .iter()
            .any(|(own, _)| own.eq_ignore_ascii_case(name))
    };
    let reads = |rule: &Node| {
        let headers = rule.get("fromHeaders").map_or(&[][..], Node::items);
        PLACES.iter().all(|place| rule.get(place).is_none()) || headers.iter().any(is_there)
    };
    let place = |rule: &'r Node| PLACES.iter().find_map(|place| rule.get(place));
    if rules().any(|(_, rule)| reads(rule)) {
        return None;
    }
    let (reader, rule) = rules().next()?;
    Some(Unread::OtherPlace(reader, place(rule)?))
}

fn tell<'o>(
    facts: &Facts<'_>,
    policy: &Object,
    wanted: &Wanted<'_>,
    unread: &Unread<'_>,
    out: &'o mut Sink,
) -> &'o mut Finding {
    let at_policy = Evidence::of(policy, wanted.node, "the policy asks for a token");
    let finding = match unread {
        Unread::OtherIssuer(reader, issuer) => {
            let message = format!(
                "{} asks for tokens of {}, and {} reads only those of {}",
                policy.id,
                wanted.issuers.join(", "),
                reader.id,
                issuer.str().unwrap_or_default()
            );
            let finding = out.find(
                reader.id.clone(),
                message,
                Evidence::of(reader, issuer, "whose tokens are read"),
            );
            let patch = Fix::patch(
                &reader.id,
                [Op::replace(reader.path_of(issuer), wanted.issuers[0])],
            );
            finding.see(at_policy).fix(patch)
        }
        Unread::OtherPlace(reader, place) => {
            let message = format!(
                "{} looks for tokens elsewhere than in the header authorization, where the request has its token, so that {} sees none",
                reader.id, policy.id
            );
            let proof = Evidence::of(reader, place, "where it looks");
            let finding = out.find(reader.id.clone(), message, proof);
            finding.see(at_policy);
            finding.fix(Fix::patch(&reader.id, [Op::remove(reader.path_of(place))]));
            finding.fix(Fix::advice("or send the token where it is looked for"))
        }
        Unread::Nobody => {
            if let Some(reader) = meant(facts, policy, wanted) {
                let message = format!(
                    "{} asks for a token, and {}, which should have it read, is not for that workload",
                    policy.id, reader.id
                );
                let part = selector(reader.spec()).unwrap_or(&reader.node);
                let finding = out.find(
                    reader.id.clone(),
                    message,
                    Evidence::of(reader, part, "whom it is for"),
                );
                finding.see(at_policy);
                finding.fixes.extend(same_selector(policy, reader));
                finding
            } else {
                let message = format!(
                    "{} asks for a token, and no RequestAuthentication has any read for that workload, so that none counts",
                    policy.id
                );
                let finding = out.find(policy.id.clone(), message, at_policy);
                finding.fix(Fix::advice(
                    "add a RequestAuthentication for the workload, with the issuer and its keys",
                ))
            }
        }
    };
    finding.hits(policy.id.clone())
}

/// The RequestAuthentication beside the policy that is for nobody, or for the issuer that the
/// policy names.
fn meant<'r>(facts: &Facts<'r>, policy: &Object, wanted: &Wanted<'_>) -> Option<&'r Object> {
    let is_for_nobody = |reader: &Object| {
        let mut pods = facts
            .mesh
            .objects
            .in_namespace(Kind::Pod, &reader.id.namespace);
        !pods.any(|pod| {
            facts
                .mesh
                .policies(Kind::RequestAuthentication, &Workload::of(pod))
                .iter()
                .any(|r| r.id == reader.id)
        })
    };
    let reads = |reader: &Object| {
        let mut rules = reader.spec_list("jwtRules").iter();
        rules.any(|rule| {
            wanted
                .issuers
                .iter()
                .any(|issuer| rule.str_at("issuer") == Some(issuer))
        })
    };
    let beside = || {
        facts
            .mesh
            .objects
            .in_namespace(Kind::RequestAuthentication, &policy.id.namespace)
    };
    beside()
        .find(|reader| is_for_nobody(reader))
        .or_else(|| beside().find(|reader| reads(reader)))
}

/// Makes the one select what the other does.
fn same_selector(policy: &Object, reader: &Object) -> Option<Fix> {
    let wanted = policy.spec_at(["selector", "matchLabels"])?;
    let selector = Value::nested(["matchLabels"], wanted);
    let op = if reader.spec_at(["selector"]).is_some() {
        Op::replace("/spec/selector", selector)
    } else {
        Op::add("/spec/selector", selector)
    };
    Some(Fix::patch(&reader.id, [op]))
}
