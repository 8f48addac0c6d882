//! The table of flags beside what a real Envoy logged.

use meshladder_capture::access_log::{FormatList, LineKind};
use meshladder_capture::flags;
use meshladder_judge::logs::{AnswerClass, Responder, judge};

use crate::expect::{expect_file, root};
use crate::meshes::shared;

#[test]
fn the_manual_s_chapter_is_made_from_the_table() {
    expect_file("docs/response-flags.md", &flags::manual());
}

/// A record of a real Envoy: the cells of a row by their column's name.
struct Row<'t>(Vec<(&'t str, &'t str)>);

impl Row<'_> {
    /// A cell; empty for `-`.
    fn get(&self, column: &str) -> &str {
        let cell = self
            .0
            .iter()
            .find(|(name, _)| *name == column)
            .expect("the column is there")
            .1;
        if cell == "-" { "" } else { cell }
    }

    fn flags(&self) -> Vec<&str> {
        self.get("flags")
            .split(',')
            .filter(|flag| !flag.is_empty())
            .collect()
    }
}

fn observed(text: &str) -> Vec<Row<'_>> {
    let mut rows = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = rows
        .next()
        .expect("there is a header")
        .split('\t')
        .collect();
    rows.map(|row| Row(header.iter().copied().zip(row.split('\t')).collect()))
        .collect()
}

/// What the proxies of our captures logged, and what an Envoy did that was made to fail in every
/// way.
fn observed_texts() -> Vec<String> {
    let own = root().join("fixtures/flags/observed.tsv");
    let large = shared("reference/envoy-samples/observed_flags.tsv");
    let read = |path| std::fs::read_to_string(path).expect("the observed flags are there");
    std::iter::once(own).chain(large).map(read).collect()
}

/// What real proxies logged and we do not explain yet. Who explains one takes it off the list.
const UNEXPLAINED: &[&str] = &[
    // istiod's own name for the filter of a CUSTOM policy whose provider is not there.
    "not explained: rbac_access_denied_matched_policy[istio-ext-authz-opa-ext-ns[shop]-policy[cart-opa]-rule[0]-deny-due-to-bad-CUSTOM-action]",
    "not explained: rbac_access_denied_matched_policy[istio-ext-authz-opa-ns[shop]-policy[opa]-rule[0]-deny-due-to-bad-CUSTOM-action]",
];

/// Lines that are taken for fine though every try failed: to a gRPC client the last answer is 200,
/// whatever its `grpc-status`, and only URX tells.
const TAKEN_FOR_FINE: &[(&str, &str)] = &[("200", "URX")];

#[test]
fn every_flag_and_reason_that_a_real_envoy_logged_is_explained() {
    let texts = observed_texts();
    let rows: Vec<Row<'_>> = texts.iter().flat_map(|text| observed(text)).collect();
    assert!(rows.len() > 60, "{}", rows.len());
    let mut wrong = std::collections::BTreeSet::new();
    for row in &rows {
        let (code, details) = (row.get("code"), row.get("response_code_details"));
        let name = details.split(['{', '[', '(']).next().unwrap_or_default();
        for flag in row.flags() {
            let Some(known) = flags::named(flag) else {
                wrong.insert(format!("flag {flag}"));
                continue;
            };
            // URX and DI accompany what else happened, and an answer that has begun keeps its
            // status.
            let mut follows =
                ["URX", "DI"].contains(&flag) || name == "upstream_reset_after_response_started";
            // To a gRPC client a proxy answers 200; the failure is in `grpc-status`.
            follows |= code == "200";
            if !follows
                && code != "0"
                && !known.status.contains(code)
                && !known.status.contains("configured")
            {
                wrong.insert(format!(
                    "{flag} with status {code}: the table says {}",
                    known.status
                ));
            }
            let goes_with = flags::detail(name)
                .is_none_or(|detail| detail.flags.split(' ').any(|own| own == flag));
            if !follows && !goes_with && details != "via_upstream" {
                wrong.insert(format!(
                    "{flag} with details {name}: the table of details does not say so"
                ));
            }
        }
        let reasons = [
            "response_code_details",
            "connection_termination_details",
            "upstream_transport_failure_reason",
            "downstream_local_close_reason",
            "downstream_transport_failure_reason",
        ];
        for text in reasons
            .map(|column| row.get(column))
            .into_iter()
            .filter(|text| !text.is_empty())
        {
            let reading = flags::read(text);
            if reading.is_none_or(|reading| {
                reading
                    .means
                    .iter()
                    .any(|means| means.contains("not known"))
            }) {
                wrong.insert(format!("not explained: {text}"));
            }
        }
    }
    assert_eq!(wrong.into_iter().collect::<Vec<_>>(), UNEXPLAINED);
}

/// Each row as a line of Istio's format: who ended the request is known from what the case was.
#[test]
fn it_is_told_who_ended_what_a_real_envoy_logged() {
    let texts = observed_texts();
    let rows = texts.iter().flat_map(|text| observed(text));
    for row in rows.filter(|row| row.get("log") == "http") {
        let dash = |text: &str| {
            if text.is_empty() {
                "-".to_owned()
            } else {
                text.to_owned()
            }
        };
        let cell = |column: &str| dash(row.get(column));
        let line = format!(
            "[2026-11-15T06:31:02.101Z] \"GET / HTTP/1.1\" {} {} {} {} \"{}\" 0 0 0 - \"-\" \"-\" \"-\" \"a\" \"-\" {} - 10.0.0.1:80 10.0.0.2:1 - {}",
            cell("code"),
            cell("flags"),
            cell("response_code_details"),
            cell("connection_termination_details"),
            cell("upstream_transport_failure_reason"),
            cell("cluster"),
            cell("route"),
        );
        let formats = FormatList::default();
        let LineKind::Access(record) = formats.reader().read(&line) else {
            panic!("{line}")
        };
        let judgement = judge(&record);
        let details = row.get("response_code_details");
        let by = match (details, row.flags()[..].first().copied()) {
            ("via_upstream", _) => Responder::NextHop,
            (_, Some("DC" | "DR")) => Responder::Client,
            _ if details.starts_with("upstream_reset_after") => Responder::NextHop,
            _ => Responder::ThisProxy,
        };
        assert_eq!(judgement.by, by, "{line}");
        let code: u16 = row.get("code").parse().expect("a status");
        let mut fine = code < 400 && code > 0 && row.flags().iter().all(|flag| *flag == "DI");
        fine |= TAKEN_FOR_FINE.contains(&(row.get("code"), row.get("flags")));
        assert_eq!(judgement.class == AnswerClass::Fine, fine, "{line}");
    }
}
