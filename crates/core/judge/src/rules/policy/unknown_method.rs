//! See the page beside this file.

use super::listed::of_operations;
use super::names::Names;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2653",
    name: "unknown-method",
    aka: &["KIA0102"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "policies name HTTP methods as they are sent",
    needs: Inputs::of(&[Kind::AuthorizationPolicy]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("unknown_method.md"),
    check: Check::Object(check),
};

/// IANA's registry of methods, and those that caches and UPnP send.
const METHODS: [&str; 45] = [
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "CONNECT",
    "COPY",
    "DELETE",
    "GET",
    "HEAD",
    "LABEL",
    "LINK",
    "LOCK",
    "M-SEARCH",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "NOTIFY",
    "OPTIONS",
    "ORDERPATCH",
    "PATCH",
    "POST",
    "PRI",
    "PROPFIND",
    "PROPPATCH",
    "PURGE",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "SUBSCRIBE",
    "TRACE",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UNSUBSCRIBE",
    "UPDATE",
    "UPDATEREDIRECTREF",
    "VERSION-CONTROL",
];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let known = Names::of(METHODS.into_iter().map(str::to_owned));
    for policy in facts.mesh.objects.of_kind(Kind::AuthorizationPolicy) {
        for node in of_operations(policy, &["methods", "notMethods"]) {
            out.examined();
            let written = node.str().unwrap_or_default();
            if known.has(written) {
                continue;
            }
            let upper = written.to_ascii_uppercase();
            let (why, fix) = if known.has(&upper) {
                let patch = [Op::replace(policy.path_of(node), upper)];
                (
                    "methods are compared as written, in capitals",
                    Fix::patch(&policy.id, patch),
                )
            } else if written.contains('/') {
                (
                    "gRPC calls are POST, and the name of the call is the path",
                    Fix::advice("name it in paths, as /package.Service/Method"),
                )
            } else {
                ("no client sends that", Fix::advice("name an HTTP method"))
            };
            let message = format!("{} names the method {written}: {why}", policy.id);
            out.find(
                policy.id.clone(),
                message,
                Evidence::of(policy, node, "the method"),
            )
            .fix(fix);
        }
    }
}
