//! What a group of lines means, in words, and what may be behind it.

use super::call::called;
use super::group::LineGroup;
use super::judge::{AnswerClass, LogSide, Responder};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::flags::{self, Flag};
use meshladder_text::shell;

/// Something that may be behind a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLead {
    /// What may be wrong.
    pub what: String,
    /// The command that confirms it.
    pub confirm: String,
}

/// Who answered, what the details say, what the flags mean at this hop.
pub(super) fn says(group: &LineGroup) -> Vec<String> {
    let mut says = vec![who(group)];
    if group.details != "via_upstream" && !group.details.is_empty() {
        let reading = flags::read(&group.details);
        let means = reading.into_iter().flat_map(|reading| reading.means);
        // Which flags go with it, the line itself shows.
        says.extend(means.filter(|text| {
            !text.starts_with("goes with flag") && !text.starts_with("no flag goes")
        }));
    }
    let relayed = group.details == "via_upstream";
    match (relayed, group.has("URX"), group.has("UO")) {
        (true, true, _) => says
            .push("every try got such an answer, until the retries were used up (URX)".to_owned()),
        (true, _, true) => {
            says.push("the retry was refused by the circuit breaker's maxRetries (UO)".to_owned());
        }
        _ => says.extend(of_flags(group)),
    }
    let failures = group.failures.sorted();
    let named = failures
        .into_iter()
        .filter(|(text, _)| !text.is_empty() && !group.details.contains(text));
    for (text, _) in named.take(2) {
        let means = flags::read(text)
            .map(|reading| format!(": {}", reading.means.join("; ")))
            .unwrap_or_default();
        says.push(format!("the connection failed with `{text}`{means}"));
    }
    says.extend(of_place(group));
    says.extend(group.judgement.is_grpc.then(|| of_grpc(group)));
    let mut seen = std::collections::BTreeSet::new();
    says.retain(|sentence| seen.insert(sentence.clone()));
    says
}

fn who(group: &LineGroup) -> String {
    let proxy = match group.judgement.side {
        LogSide::Gateway => "the gateway",
        LogSide::Client => "the client's proxy",
        LogSide::Server => "the server's proxy",
        LogSide::Unknown => "the proxy that wrote the line",
    };
    let broken_off = group.details_name() == "upstream_reset_after_response_started";
    match group.judgement.by {
        Responder::ThisProxy if group.is_connection() => format!("{proxy} ended the connection"),
        Responder::ThisProxy => format!("{proxy} answered itself"),
        Responder::NextHop if broken_off => {
            "the next hop broke off in the middle of its answer".to_owned()
        }
        Responder::Application if broken_off => {
            "the application broke off in the middle of its answer".to_owned()
        }
        Responder::NextHop => format!("the next hop answered, {proxy} only relayed it"),
        Responder::Application => {
            "the application answered so itself, the mesh only carried it".to_owned()
        }
        Responder::Client => "the client left before there was an answer".to_owned(),
        Responder::Nobody | Responder::Unknown => {
            "the line does not tell who answered: its format has no response code details"
                .to_owned()
        }
    }
}

/// What each flag means where it was seen, and what they mean together.
fn of_flags(group: &LineGroup) -> Vec<String> {
    let mut says: Vec<String> = Vec::new();
    for flag in group.flags.iter().filter_map(|code| flags::named(code)) {
        let here = at(flag, group.judgement.side);
        let text = if here.is_empty() { flag.means } else { here };
        says.push(format!("{} ({}): {text}", flag.code, flag.long));
    }
    if group.flags.len() > 1 {
        let together = flags::read(&group.flags.join(","))
            .and_then(|reading| reading.means.into_iter().next_back());
        says.extend(together.filter(|text| text.starts_with("together")));
    }
    let unknown: Vec<&str> = group
        .flags
        .iter()
        .filter(|code| flags::named(code).is_none())
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        says.push(format!(
            "{} is no flag of Envoy's own: an extension sets it",
            unknown.join(",")
        ));
    }
    says
}

fn at(flag: &Flag, side: LogSide) -> &'static str {
    match side {
        LogSide::Client => flag.at_client,
        LogSide::Server => flag.at_server,
        LogSide::Gateway => flag.at_gateway,
        LogSide::Unknown => "",
    }
}

/// Clusters and routes of Istio's that stand for something.
fn of_place(group: &LineGroup) -> Option<String> {
    let says = match (group.cluster.as_str(), group.sample.route.as_str()) {
        (_, "block_all") => {
            "route block_all: REGISTRY_ONLY, and no Service or ServiceEntry has this host"
        }
        ("BlackHoleCluster", _) => {
            "BlackHoleCluster: REGISTRY_ONLY, and no Service or ServiceEntry has this address"
        }
        ("PassthroughCluster", _) => {
            "PassthroughCluster: the mesh does not know this host and passes it on as it is"
        }
        _ => return None,
    };
    Some(says.to_owned())
}

fn of_grpc(group: &LineGroup) -> String {
    let status = grpc_status(&group.flags, &group.details);
    let status =
        flags::read(&status.to_string()).map_or(status.to_string(), |reading| reading.what);
    format!("HTTP 200 hides it: a proxy answers gRPC with 200 and says in {status} that it failed")
}

/// The grpc-status that goes with a local reply: "UH/NC -> 14, NR -> 12, RBAC deny -> 7, 401 ->
/// 16".
pub fn grpc_status(flags: &[String], details: &str) -> u8 {
    let has = |code: &str| flags.iter().any(|flag| flag == code);
    match details.split(['{', '[', '(']).next().unwrap_or_default() {
        "rbac_access_denied_matched_policy" => 7,
        "jwt_authn_access_denied" => 16,
        "route_not_found" => 12,
        _ if has("NR") => 12,
        _ if has("UAEX") => 7,
        _ if has("DPE") => 13,
        _ => 14,
    }
}

/// What the lines of other hops add.
pub(super) fn beside<'g>(
    group: &LineGroup,
    also: impl Iterator<Item = &'g LineGroup>,
) -> Option<String> {
    let left = also.into_iter().any(|other| {
        other.judgement.class == AnswerClass::Left && other.judgement.side == LogSide::Server
    });
    (left && group.has("UT")).then(|| {
        "the server's proxy logged that its caller left (DC): the caller's proxy timed out and cancelled, so what is slow is behind the server's proxy".to_owned()
    })
}

/// What may be behind it: of the flags that say most, or of the details.
pub(super) fn leads(group: &LineGroup) -> Vec<LogLead> {
    let lead = |what: &str, confirm: &str| LogLead {
        what: what.to_owned(),
        confirm: filled(confirm, group),
    };
    let found = match group.details_name() {
        "rbac_access_denied_matched_policy" => {
            vec![lead(
                "an AuthorizationPolicy of the called workload",
                "meshladder authz check --from CLIENT --to URL",
            )]
        }
        "jwt_authn_access_denied" => {
            vec![lead(
                "the token, or the RequestAuthentication that judges it",
                "meshladder why --from CLIENT --to URL --seen 401",
            )]
        }
        "via_upstream" if group.judgement.by == Responder::Application => {
            vec![lead(
                "the application: its own log tells why",
                "kubectl logs POD -c CONTAINER",
            )]
        }
        "via_upstream" => vec![lead(
            "the next hop: look for the same request ids in its log",
            "kubectl logs SERVER -c istio-proxy | meshladder logs - --request-id ID",
        )],
        _ => Vec::new(),
    };
    if !found.is_empty() {
        return found;
    }
    // URX only counts the tries.
    let mut flags: Vec<&Flag> = group
        .flags
        .iter()
        .filter_map(|code| flags::named(code))
        .collect();
    flags.sort_by_key(|flag| flag.code == "URX");
    let side = group.judgement.side;
    let fits = |cause: &&flags::FlagCause| {
        side == LogSide::Unknown || cause.at.is_empty() || cause.at.contains(&side.id())
    };
    let causes = flags
        .iter()
        .flat_map(|flag| flag.causes.iter())
        .filter(fits);
    causes
        .take(4)
        .map(|cause| lead(cause.what, cause.confirm))
        .collect()
}

/// A command with what the lines tell put into it.
fn filled(command: &str, group: &LineGroup) -> String {
    let mut words: Vec<(&str, String)> = Vec::new();
    if let Some(cluster) = ClusterName::parse(&group.cluster)
        && !cluster.host.is_empty()
    {
        let address = format!("{}:{}", cluster.host, cluster.port);
        words.push(("HOST:PORT", shell::word(&address)));
        words.push(("HOST", shell::word(cluster.host)));
        words.push(("CLUSTER", shell::word(&group.cluster)));
    }
    let id = &group.sample.request_id;
    if !id.is_empty() {
        words.push((
            "--request-id ID",
            format!("--request-id {}", shell::word(id)),
        ));
    }
    if let Some(url) = called(&group.sample, group.judgement.side) {
        words.push(("URL", url));
    }
    // From left to right: what was put in may hold one of these words itself.
    let mut filled = String::new();
    let mut rest = command;
    while let Some(c) = rest.chars().next() {
        if let Some((word, value)) = words.iter().find(|(word, _)| rest.starts_with(word)) {
            filled.push_str(value);
            rest = &rest[word.len()..];
        } else {
            filled.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    filled
}
