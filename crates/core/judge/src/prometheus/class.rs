//! Response flags by what they tell: the classes that alerts, the dashboard and `flags
//! --prometheus` share.

/// A class of response flags.
#[derive(Debug)]
pub struct FlagClass {
    /// The value of the label `class`.
    pub id: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// Its flags.
    pub flags: &'static [&'static str],
    /// How a request with such a flag counts against an objective.
    pub counts: ObjectiveCount,
    /// Matchers of requests that belong to the class without a flag.
    pub unflagged: &'static [&'static str],
}

/// How a request counts against an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectiveCount {
    /// As failed, whatever its status: a gRPC call that failed in a proxy has status 200.
    Failed,
    /// By its status alone: policy did what it was told to, or the caller was wrong.
    ByStatus,
    /// Not at all: the caller went away, and nobody knows how it would have ended.
    LeftOut,
}

const fn class(
    id: &'static str,
    title: &'static str,
    flags: &'static [&'static str],
    counts: ObjectiveCount,
) -> FlagClass {
    FlagClass {
        id,
        title,
        flags,
        counts,
        unflagged: &[],
    }
}

/// Every class; each flag of Envoy is in one of them.
pub static CLASSES: &[FlagClass] = &[
    class(
        "no_route",
        "no route",
        &["NR", "NC"],
        ObjectiveCount::Failed,
    ),
    class(
        "no_healthy_upstream",
        "no healthy upstream",
        &["UH", "DF"],
        ObjectiveCount::Failed,
    ),
    class(
        "connection_failure",
        "connection failure",
        &["UF", "UC", "UR", "LR", "UPE"],
        ObjectiveCount::Failed,
    ),
    class(
        "timeout",
        "timeout",
        &["UT", "SI", "UMSDR"],
        ObjectiveCount::Failed,
    ),
    class(
        "overflow",
        "overflow",
        &["UO", "OM", "DO", "UDO"],
        ObjectiveCount::Failed,
    ),
    class(
        "retry_exhausted",
        "retries exhausted",
        &["URX"],
        ObjectiveCount::Failed,
    ),
    // "Istio ALLOW/DENY denials: 403, flags `-`", and for gRPC 200 with grpc-status 7. Metrics have
    // no details, so the application's own 403 looks the same.
    FlagClass {
        unflagged: &[
            "response_flags=\"-\",response_code=\"403\"",
            "response_flags=\"-\",response_code!=\"403\",grpc_response_status=\"7\"",
        ],
        ..class("denied", "denied", &["UAEX"], ObjectiveCount::ByStatus)
    },
    class(
        "rate_limited",
        "rate limited",
        &["RL", "RLSE"],
        ObjectiveCount::ByStatus,
    ),
    class(
        "client_gone",
        "client gone",
        &["DC", "DR"],
        ObjectiveCount::LeftOut,
    ),
    class(
        "bad_request",
        "bad request",
        &["DPE", "IH"],
        ObjectiveCount::ByStatus,
    ),
    class(
        "injected",
        "fault injected",
        &["DI", "FI"],
        ObjectiveCount::ByStatus,
    ),
    class(
        "other",
        "other",
        &["LH", "NFCF", "RFCF", "DT"],
        ObjectiveCount::ByStatus,
    ),
];

/// gRPC statuses that tell of a server's failure: UNKNOWN, DEADLINE_EXCEEDED, INTERNAL,
/// UNAVAILABLE, DATA_LOSS.
const GRPC_FAILED: &str = "2|4|13|14|15";

/// The class of that id.
pub fn named(id: &str) -> Option<&'static FlagClass> {
    CLASSES.iter().find(|class| class.id == id)
}

/// The class of a joined text such as `URX,UF`: that of the flag that tells most.
pub fn of(flags: &str) -> Option<&'static FlagClass> {
    let has = |class: &&FlagClass| flags.split(',').any(|flag| class.flags.contains(&flag));
    // Retries that ran out are the companion of another failure.
    CLASSES
        .iter()
        .filter(has)
        .min_by_key(|class| class.id == "retry_exhausted")
}

impl FlagClass {
    /// The matchers of its requests: each is a selector's inside, and no request is in two of them.
    pub fn matchers(&self) -> Vec<String> {
        let flagged = format!("response_flags=~\"{}\"", any_of(self.flags));
        std::iter::once(flagged)
            .chain(self.unflagged.iter().map(|text| (*text).to_owned()))
            .collect()
    }
}

/// A regular expression for texts that have one of these flags. Envoy's order of flags differs
/// between releases.
pub fn any_of(flags: &[&str]) -> String {
    format!("(.*,)?({})(,.*)?", flags.join("|"))
}

/// A matcher of the requests that count at all.
pub fn counted() -> String {
    format!(
        "response_flags!~\"{}\"",
        any_of(&flags_that(ObjectiveCount::LeftOut))
    )
}

/// Matchers of the requests that went well.
pub fn good() -> String {
    let mut flags = flags_that(ObjectiveCount::LeftOut);
    flags.extend(flags_that(ObjectiveCount::Failed));
    format!(
        "response_flags!~\"{}\",response_code!~\"0|5..\",grpc_response_status!~\"{GRPC_FAILED}\"",
        any_of(&flags)
    )
}

/// The flags of all classes that count so.
pub fn flags_that(counts: ObjectiveCount) -> Vec<&'static str> {
    let classes = CLASSES.iter().filter(|class| class.counts == counts);
    classes
        .flat_map(|class| class.flags.iter().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_flag_is_in_one_class() {
        let known: BTreeSet<_> = meshladder_capture::flags::all()
            .map(|flag| flag.code)
            .collect();
        let classed: Vec<_> = CLASSES
            .iter()
            .flat_map(|class| class.flags.iter().copied())
            .collect();
        assert_eq!(classed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(classed.len(), known.len());
    }

    #[test]
    fn the_class_of_a_set_is_that_of_its_cause() {
        for (flags, class) in [
            ("UF,URX", Some("connection_failure")),
            ("URX,UF", Some("connection_failure")),
            ("URX", Some("retry_exhausted")),
            ("DI,UT", Some("timeout")),
            ("-", None),
            ("XYZ", None),
        ] {
            assert_eq!(of(flags).map(|class| class.id), class, "{flags}");
        }
    }

    #[test]
    fn a_flag_is_found_in_a_set_and_not_in_another_flag() {
        let pattern =
            regex::Regex::new(&format!("^(?:{})$", any_of(&["UR", "UF"]))).expect("a pattern");
        for (text, matches) in [
            ("UF", true),
            ("URX,UF", true),
            ("UF,URX", true),
            ("URX", false),
            ("-", false),
        ] {
            assert_eq!(pattern.is_match(text), matches, "{text}");
        }
    }
}
