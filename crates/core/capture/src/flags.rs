//! Envoy's response flags and response code details: what each means, who sets it, and what causes
//! it in a mesh.

use std::fmt::Write;

mod details;
mod foreign;
mod read;
mod table;
mod transport;

pub use details::{ResponseDetail, detail};
pub use foreign::{ForeignCode, foreign};
pub use read::{GRPC_STATUSES, Meaning, read};

/// One response flag.
#[derive(Debug)]
pub struct Flag {
    /// As access logs have it: `UH`.
    pub code: &'static str,
    /// As `%RESPONSE_FLAGS_LONG%` has it.
    pub long: &'static str,
    /// The first of Envoy's even releases that has it.
    pub since: &'static str,
    /// The status that goes with it.
    pub status: &'static str,
    /// The response code details that go with it.
    pub details: &'static [&'static str],
    /// The part of Envoy that sets it.
    pub set_by: &'static str,
    /// What it means.
    pub means: &'static str,
    /// What it means in the log of a client's sidecar; empty where it does not occur there.
    pub at_client: &'static str,
    /// In the log of a server's sidecar.
    pub at_server: &'static str,
    /// In the log of a gateway.
    pub at_gateway: &'static str,
    /// Causes in an Istio mesh, the likeliest first, each with the command that confirms it.
    pub causes: &'static [FlagCause],
    /// What it is often mistaken for.
    pub not: &'static str,
}

/// A cause of a flag.
#[derive(Debug)]
pub struct FlagCause {
    /// What is wrong.
    pub what: &'static str,
    /// The command that confirms it.
    pub confirm: &'static str,
    /// Where alone it may be the cause: `client`, `server`, `gateway`; none for anywhere.
    pub at: &'static [&'static str],
}

/// All core flags, in Envoy's own order.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    table::FLAGS.iter().flat_map(|part| part.iter())
}

/// The flag of that short or long name, in any case.
pub fn named(text: &str) -> Option<&'static Flag> {
    all().find(|flag| flag.code.eq_ignore_ascii_case(text) || flag.long.eq_ignore_ascii_case(text))
}

/// The flags as a table.
pub fn listing() -> String {
    let longest = all().map(|flag| flag.short_status().len()).max();
    let width = longest.unwrap_or_default() + 2;
    let mut out = format!(
        "{:<7}{:<34}{:<width$}{}\n",
        "FLAG", "LONG NAME", "STATUS", "MEANING"
    );
    for flag in all() {
        // A String takes everything.
        let _ = writeln!(
            out,
            "{:<7}{:<34}{:<width$}{}",
            flag.code,
            flag.long,
            flag.short_status(),
            flag.means
        );
    }
    out
}

impl Flag {
    /// The status itself. The rest of what is said of it is on the flag's page.
    fn short_status(&self) -> &'static str {
        let status = self.status.split([';', '(']).next().unwrap_or_default();
        let status = status.trim().split(" or what").next();
        status.unwrap_or_default()
    }

    /// Its page, as Markdown.
    pub fn page(&self) -> String {
        let mut out = format!("# {} {}\n\nMeans: {}.\n", self.code, self.long, self.means);
        let _ = writeln!(
            out,
            "\n- status: {}\n- set by: {}\n- since: Envoy {}",
            self.status, self.set_by, self.since
        );
        if !self.details.is_empty() {
            let _ = writeln!(out, "- details: `{}`", self.details.join("`, `"));
        }
        for (place, text) in [
            ("in a client's sidecar", self.at_client),
            ("in a server's sidecar", self.at_server),
            ("in a gateway", self.at_gateway),
        ] {
            if !text.is_empty() {
                let _ = writeln!(out, "- {place}: {text}");
            }
        }
        if !self.causes.is_empty() {
            out.push_str("\nCauses, the likeliest first:\n\n");
            for (i, cause) in self.causes.iter().enumerate() {
                let _ = writeln!(out, "{}. {}\n   `{}`", i + 1, cause.what, cause.confirm);
            }
        }
        if !self.not.is_empty() {
            let _ = writeln!(out, "\nOften mistaken: {}.", self.not);
        }
        out
    }
}

/// The manual's chapter, made from the same table.
pub fn manual() -> String {
    let mut out = "# Response flags\n\nWhat Envoy writes into `%RESPONSE_FLAGS%`, made from the table that `meshladder flags` prints. Several flags are a set: \
                   their order differs between releases of Envoy and means nothing. A flag tells what this proxy saw; `-` with details `via_upstream` \
                   means that the status came from the next hop.\n"
        .to_owned();
    for flag in all() {
        let _ = write!(out, "\n#{}", flag.page());
    }
    out.push_str("\n## Response code details\n\n| details | flags | meaning |\n|---|---|---|\n");
    for detail in details::DETAILS {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} |",
            detail.name,
            detail.flags,
            detail.means.replace('|', "\\|")
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_thirty_flags_each_once() {
        let codes: std::collections::BTreeSet<_> = all().map(|flag| flag.code).collect();
        assert_eq!((codes.len(), all().count()), (30, 30));
        let longs: std::collections::BTreeSet<_> = all().map(|flag| flag.long).collect();
        assert_eq!(longs.len(), 30);
    }

    #[test]
    fn the_columns_of_the_listing_stand_under_each_other() {
        let listing = listing();
        let at = listing.find("MEANING").expect("a heading");
        for (line, flag) in listing.lines().skip(1).zip(all()) {
            assert!(
                line[..at].ends_with("  ") && line[at..] == *flag.means,
                "{line}"
            );
        }
    }

    #[test]
    fn flags_are_found_by_either_name() {
        assert_eq!(named("uh").map(|flag| flag.code), Some("UH"));
        assert_eq!(named("UpstreamOverflow").map(|flag| flag.code), Some("UO"));
        assert!(named("XX").is_none());
    }

    #[test]
    fn a_page_is_complete_and_a_detail_of_a_flag_is_in_the_table_of_details() {
        for flag in all() {
            assert!(
                !flag.means.ends_with('.') && !flag.set_by.is_empty(),
                "{}",
                flag.code
            );
            assert!(!flag.causes.is_empty(), "{} has no cause", flag.code);
            let sides = [
                ("client", flag.at_client),
                ("server", flag.at_server),
                ("gateway", flag.at_gateway),
            ];
            for side in flag.causes.iter().flat_map(|cause| cause.at) {
                assert!(
                    sides
                        .iter()
                        .any(|(name, text)| name == side && !text.is_empty()),
                    "{}: {side}",
                    flag.code
                );
            }
            for name in flag.details {
                let name = name.split(['{', '(', '[']).next().unwrap_or(name);
                assert!(
                    detail(name).is_some(),
                    "{}: {name} is not explained",
                    flag.code
                );
            }
        }
    }
}
