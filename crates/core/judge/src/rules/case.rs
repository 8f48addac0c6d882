//! The request that was asked about, and what is known of it.

use meshladder_capture::access_log::AccessLine;
use meshladder_mesh::{PodFacts, ServiceFacts};
use meshladder_sim::trace::{Branch, EndKind, Trace};
use meshladder_sim::walk::Call;

/// A request, its simulated walk, and both its ends.
#[derive(Debug)]
pub struct Case<'a> {
    /// What was asked.
    pub call: &'a Call,
    /// What the proxies' configuration does to it.
    pub trace: &'a Trace,
    /// What was seen, when the user said.
    pub seen: Option<&'a Symptom>,
    /// The calling pod, when it is one.
    pub client: Option<&'a PodFacts>,
    /// The gateways that may take a call from outside: the one of its walk, else those that have
    /// its port.
    pub gateways: Vec<&'a PodFacts>,
    /// The Service that the host names.
    pub service: Option<&'a ServiceFacts>,
    /// The host, in full: `catalog.shop.svc.cluster.local`.
    pub host: String,
    /// The pods that the request may reach: those that the Service selects, and those behind the
    /// trace's endpoints.
    pub servers: Vec<&'a PodFacts>,
    /// The lines of access logs that fit the request: the client's, or the gateway's.
    pub client_log: Vec<AccessLine>,
    /// The lines of the servers' access logs that fit it.
    pub server_log: Vec<AccessLine>,
    /// What others met at the same servers, where the caller has no proxy to tell it.
    pub witnesses: Vec<AccessLine>,
}

/// What somebody saw: `503/UH:no_healthy_upstream`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symptom {
    /// The status; 0 when there was no answer.
    pub code: u16,
    /// Response flags.
    pub flags: Vec<String>,
    /// Response code details.
    pub details: Option<String>,
}

impl Symptom {
    /// Reads `CODE[/FLAGS][:DETAILS]`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (head, details) = match text.split_once(':') {
            Some((head, details)) => (head, Some(details.to_owned())),
            None => (text, None),
        };
        let (code, flags) = head.split_once('/').unwrap_or((head, ""));
        let code = code
            .trim()
            .parse()
            .map_err(|_| format!("`{text}`: what was seen starts with a status, as in 503/UH"))?;
        let flags = flags
            .split(',')
            .map(str::trim)
            .filter(|f| !f.is_empty() && *f != "-")
            .map(str::to_owned)
            .collect();
        Ok(Self {
            code,
            flags,
            details: details.filter(|d| !d.is_empty() && d != "-"),
        })
    }

    /// Whether that flag was seen.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|seen| seen == flag)
    }

    /// Whether a proxy ended it: of the flags only `URX` may stand beside an answer of the
    /// application's.
    pub fn is_of_a_proxy(&self) -> bool {
        self.code == 0 || self.flags.iter().any(|flag| flag != "URX")
    }

    /// As a person would say it: `503 UH`.
    pub fn in_words(&self) -> String {
        let code = if self.code == 0 {
            "no answer".to_owned()
        } else {
            self.code.to_string()
        };
        if self.flags.is_empty() {
            code
        } else {
            format!("{code} {}", self.flags.join(","))
        }
    }

    /// Whether it was a plain success.
    pub fn is_success(&self) -> bool {
        (200..400).contains(&self.code) && self.flags.is_empty()
    }
}

impl Case<'_> {
    /// The ends of that kind that the request may come to.
    pub fn ends(&self, kind: EndKind) -> impl Iterator<Item = &Branch> {
        self.trace
            .branches
            .iter()
            .filter(move |branch| branch.end.kind == kind)
    }

    /// Whether a hop may choose this cluster.
    pub fn takes_cluster(&self, name: &str) -> bool {
        self.trace
            .hops
            .iter()
            .any(|hop| hop.clusters.iter().any(|(cluster, _)| cluster == name))
    }

    /// The clusters that the first hop may choose, taken apart:
    /// `outbound|8080|v2|catalog.shop.svc.cluster.local`.
    pub fn clusters(&self) -> impl Iterator<Item = &str> {
        self.trace
            .sender()
            .into_iter()
            .flat_map(|hop| hop.clusters.iter().map(|(name, _)| name.as_str()))
    }

    /// Whether no proxy is known to have met the request: no log has it, and what was seen tells of
    /// none.
    pub fn is_unmet(&self) -> bool {
        let is_silent = self
            .seen
            .is_none_or(|seen| seen.code == 0 && seen.flags.is_empty());
        is_silent && self.client_log.is_empty()
    }

    /// Whether what was seen, if anybody said, has this status.
    pub fn saw(&self, code: u16) -> bool {
        self.seen.is_some_and(|seen| seen.code == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_read_part_by_part() {
        for (text, code, flags, details) in [
            ("503", 503, &[][..], None),
            ("503/UH", 503, &["UH"][..], None),
            (
                "503/UF,URX:upstream_reset{x}",
                503,
                &["UF", "URX"][..],
                Some("upstream_reset{x}"),
            ),
            ("0/-:-", 0, &[][..], None),
            ("403:a:b", 403, &[][..], Some("a:b")),
        ] {
            let seen = Symptom::parse(text).expect(text);
            assert_eq!(
                (seen.code, seen.details.as_deref()),
                (code, details),
                "{text}"
            );
            assert_eq!(seen.flags, flags, "{text}");
        }
        assert!(Symptom::parse("UH").is_err() && Symptom::parse("").is_err());
    }
}
