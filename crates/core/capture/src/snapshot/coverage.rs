//! How much of each kind of fact a Snapshot holds.

use super::Need;

/// How much of a kind of fact there is. "There are none" and "we may not look" are different
/// answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of it.
    Complete,
    /// Some of it, and why not all.
    Partial(String),
    /// Some of it, if any: the rest should be here and could not be read, and why. Anything of it
    /// may be missing, so nothing follows from what is not there.
    Lost(String),
    /// None of it: refused, and by what.
    Denied(String),
    /// Nobody asked for it.
    NotAsked,
}

impl Coverage {
    /// That a fact is missing, and why: `pods (denied: …)`.
    pub fn lack(&self, need: &Need) -> String {
        format!("{need} ({})", self.lack_reason(need))
    }

    /// Why a fact is missing: `denied: …`.
    pub fn lack_reason(&self, need: &Need) -> String {
        match self.reason(need) {
            Some(reason) if matches!(self, Self::Lost(_)) => {
                format!("not all could be read: {reason}")
            }
            Some(reason) => format!("{}: {reason}", self.word()),
            // In files it is not there; of a cluster it was not wanted.
            None => "not in what was read".to_owned(),
        }
    }

    /// Whether it is missing for want of a right. A manifest carries reasons as words, those of
    /// our own collector or of an API server, so this is the one place that reads them.
    pub fn lacks_right(&self, need: &Need) -> bool {
        self.reason(need)
            .is_some_and(|reason| reason.contains(NO_RIGHT))
    }

    /// The reason in few words, which are the same for all that lacks for it.
    fn reason(&self, need: &Need) -> Option<String> {
        let why = self.why()?;
        let why = refusal(why).unwrap_or_else(|| why.to_owned());
        let Some(kind) = need.objects() else {
            return Some(why);
        };
        let place = why
            .strip_prefix("no right to list ")
            .and_then(|rest| rest.strip_prefix(kind));
        Some(
            match place.filter(|place| place.is_empty() || place.starts_with(' ')) {
                Some(place) => format!("no right to list them{place}"),
                None => why,
            },
        )
    }
}

const NO_RIGHT: &str = "no right to ";

/// An API server names what it refuses two times: `pods is forbidden: User "a" cannot list resource
/// "pods" in API group "" in the namespace "b"`.
fn refusal(why: &str) -> Option<String> {
    let (verb, rest) = why.split_once(" cannot ")?.1.split_once(" resource \"")?;
    let (resource, rest) = rest.split_once('"')?;
    let group = rest
        .strip_prefix(" in API group \"")
        .and_then(|rest| rest.split_once('"'))
        .map_or("", |(group, _)| group);
    let dot = if group.is_empty() { "" } else { "." };
    let place = rest
        .split_once(" in the namespace \"")
        .and_then(|(_, rest)| rest.split_once('"'));
    let place = place
        .map(|(namespace, _)| format!(" in namespace {namespace}"))
        .unwrap_or_default();
    Some(format!("no right to {verb} {resource}{dot}{group}{place}"))
}

impl Coverage {
    /// The word JSON carries.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial(_) | Self::Lost(_) => "partial",
            Self::Denied(_) => "denied",
            Self::NotAsked => "not-asked",
        }
    }

    /// Reads the word; the inverse of [`Self::word`].
    pub fn from_word(word: &str, why: &str) -> Option<Self> {
        Some(match word {
            "complete" => Self::Complete,
            "partial" => Self::Partial(why.to_owned()),
            "denied" => Self::Denied(why.to_owned()),
            "not-asked" => Self::NotAsked,
            _ => return None,
        })
    }

    /// The reason, when there is one.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Partial(why) | Self::Lost(why) | Self::Denied(why) => Some(why),
            Self::Complete | Self::NotAsked => None,
        }
    }

    /// The coverage of two sources taken together. A source that was never asked takes nothing
    /// away: a bundle and a file of YAML beside it are as complete as the bundle.
    pub(super) fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::NotAsked, one) | (one, Self::NotAsked) => one,
            (Self::Complete, Self::Complete) => Self::Complete,
            (Self::Lost(why), _) | (_, Self::Lost(why)) => Self::Lost(why),
            (Self::Denied(why), Self::Denied(_)) => Self::Denied(why),
            (Self::Partial(why) | Self::Denied(why), _)
            | (_, Self::Partial(why) | Self::Denied(why)) => Self::Partial(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_named_once() {
        for (need, why, told) in [
            (
                "k8s/pods.json",
                r#"pods is forbidden: User "a" cannot list resource "pods" in API group "" in the namespace "b""#,
                "pods (denied: no right to list them in namespace b)",
            ),
            (
                "k8s/sidecars.networking.istio.io.json",
                r#"x is forbidden: User "a" cannot list resource "sidecars" in API group "networking.istio.io" at the cluster scope"#,
                "sidecars.networking.istio.io (denied: no right to list them)",
            ),
            (
                "k8s/pods.json",
                "no right to list podsets",
                "pods (denied: no right to list podsets)",
            ),
            (
                "istiod/",
                r#"forbidden: User "a" cannot create resource "pods/portforward" in the namespace "istio-system""#,
                "istiod/ (denied: no right to create pods/portforward in namespace istio-system)",
            ),
            (
                "logs/",
                "the disk is full",
                "logs/ (denied: the disk is full)",
            ),
        ] {
            assert_eq!(
                Coverage::Denied(why.to_owned()).lack(&Need::of_path(need)),
                told
            );
        }
    }

    #[test]
    fn two_sources_are_as_complete_as_the_worse_one_that_was_asked() {
        let denied = || Coverage::Denied("no".to_owned());
        assert_eq!(
            Coverage::Complete.with(Coverage::NotAsked),
            Coverage::Complete
        );
        assert_eq!(Coverage::NotAsked.with(denied()), denied());
        assert_eq!(
            Coverage::Complete.with(denied()),
            Coverage::Partial("no".to_owned())
        );
        assert_eq!(denied().with(denied()), denied());
    }
}
