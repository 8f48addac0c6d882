//! The answer of `authz check` as JSON v1.

use super::{sentence, word};
use crate::json::{API_VERSION, to_pretty};
use crate::question::RequestJson;
use meshladder_judge::authz::{
    AuthzCheck, AuthzDecision, Basis, CallerAnswer, DecidingRule, PolicyExcerpt,
};
use meshladder_sim::walk::Call;
use serde::Serialize;

/// The answer for a call as pretty JSON.
pub fn to_json(check: &AuthzCheck, call: &Call) -> String {
    let answer = AuthzJson {
        api_version: API_VERSION,
        kind: "AuthzCheck",
        request: RequestJson::from(call),
        workload: &check.server,
        port: check.port,
        caller: &check.caller,
        basis: match check.basis {
            Basis::Dump => "dump",
            Basis::Objects => "objects",
        },
        decision: DecisionJson::from(&check.decision),
        objects_say: check.objects.as_ref().map(DecisionJson::from),
        notes: &check.notes,
    };
    to_pretty(&answer, 2)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AuthzJson<'a> {
    api_version: &'static str,
    kind: &'static str,
    request: RequestJson<'a>,
    workload: &'a str,
    port: u16,
    caller: &'a str,
    basis: &'static str,
    #[serde(flatten)]
    decision: DecisionJson<'a>,
    objects_say: Option<DecisionJson<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DecisionJson<'a> {
    verdict: &'static str,
    because: String,
    by: Option<RuleJson<'a>>,
    caller_sees: Option<AnswerJson<'a>>,
    near_misses: Vec<NearMissJson<'a>>,
    dry_run: Vec<DryRunJson<'a>>,
}

impl<'a> From<&'a AuthzDecision> for DecisionJson<'a> {
    fn from(decision: &'a AuthzDecision) -> Self {
        let mut near_misses = Vec::new();
        for (rule, why) in &decision.near {
            near_misses.push(NearMissJson {
                rule: RuleJson::from(rule),
                why,
            });
        }
        let mut dry_run = Vec::new();
        for (denies, rule) in &decision.dry_run {
            dry_run.push(DryRunJson {
                verdict: if *denies { "deny" } else { "allow" },
                by: rule.as_ref().map(RuleJson::from),
            });
        }
        Self {
            verdict: word(decision.verdict),
            because: sentence(decision),
            by: decision.by.as_ref().map(RuleJson::from),
            caller_sees: decision.seen.as_ref().map(AnswerJson::from),
            near_misses,
            dry_run,
        }
    }
}

#[derive(Serialize)]
struct NearMissJson<'a> {
    rule: RuleJson<'a>,
    why: &'a str,
}

#[derive(Serialize)]
struct DryRunJson<'a> {
    verdict: &'static str,
    by: Option<RuleJson<'a>>,
}

#[derive(Serialize)]
struct RuleJson<'a> {
    kind: &'static str,
    namespace: &'a str,
    name: &'a str,
    rule: Option<usize>,
    action: Option<&'a str>,
    evidence: Option<FrameJson<'a>>,
}

impl<'a> From<&'a DecidingRule> for RuleJson<'a> {
    fn from(rule: &'a DecidingRule) -> Self {
        Self {
            kind: rule.kind,
            namespace: &rule.namespace,
            name: &rule.name,
            rule: rule.rule,
            action: rule.action.as_deref(),
            evidence: rule.frame.as_ref().map(FrameJson::from),
        }
    }
}

#[derive(Serialize)]
struct FrameJson<'a> {
    doc: &'a str,
    file: &'a str,
    line: usize,
    pointer: Option<&'a str>,
    excerpt: String,
}

impl<'a> From<&'a PolicyExcerpt> for FrameJson<'a> {
    fn from(frame: &'a PolicyExcerpt) -> Self {
        Self {
            doc: frame.doc.as_str(),
            file: &frame.origin,
            line: frame.line,
            pointer: frame.pointer.as_deref(),
            excerpt: frame.lines.join("\n"),
        }
    }
}

/// What the caller gets; a connection that is closed has the code 0 and no body.
#[derive(Serialize)]
struct AnswerJson<'a> {
    code: u16,
    body: Option<&'static str>,
    details: &'a str,
    closed: bool,
}

impl<'a> From<&'a CallerAnswer> for AnswerJson<'a> {
    fn from(seen: &'a CallerAnswer) -> Self {
        match seen {
            CallerAnswer::Answer {
                code,
                body,
                details,
            } => Self {
                code: *code,
                body: *body,
                details,
                closed: false,
            },
            CallerAnswer::Closed { details } => Self {
                code: 0,
                body: None,
                details,
                closed: true,
            },
        }
    }
}
