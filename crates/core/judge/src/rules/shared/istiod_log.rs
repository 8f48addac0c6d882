//! What istiods wrote into their logs.

use crate::finding::Evidence;
use crate::rules::Facts;
use meshladder_capture::snapshot::DocId;

/// The last line of an istiod's log that is such a one, and what it shows.
pub(in crate::rules) fn last_line(
    facts: &Facts<'_>,
    is_it: impl Fn(&str) -> bool,
    shows: &str,
) -> Option<Evidence> {
    let is_istiods =
        |id: &&DocId| id.split().1.starts_with("logs/") && id.as_str().ends_with("/discovery.log");
    facts.snapshot.ids().filter(is_istiods).find_map(|id| {
        let log = facts.snapshot.open(id).ok()?;
        let lines = log.text.lines().enumerate();
        let (number, _) = lines.filter(|(_, line)| is_it(line)).last()?;
        Some(Evidence::line(id, number + 1, shows))
    })
}

/// The proxy that a line is about, as namespace and pod: istiod calls a connection
/// `robot-7878776b47-5wvwj.partner-13`, by pod, namespace and a number of its own.
pub(in crate::rules) fn proxy_named(line: &str) -> Option<(&str, &str)> {
    if !line.contains("ADS: ") {
        return None;
    }
    line.split_whitespace().find_map(|word| {
        let word = word.strip_prefix("node:").unwrap_or(word);
        let (connection, number) = word.rsplit_once('-')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let (pod, namespace) = connection.split_once('.')?;
        (is_number && !pod.is_empty() && !namespace.is_empty()).then_some((namespace, pod))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_connection_names_its_proxy() {
        let gone = "2026-11-16T00:42:39Z\tinfo\tdelta\tADS: \"10.244.1.12:56710\" robot-7878776b47-5wvwj.partner-13 terminated";
        assert_eq!(
            proxy_named(gone),
            Some(("partner", "robot-7878776b47-5wvwj"))
        );
        let new = "info\tads\tADS: new connection for node:curl-1.tools-2";
        assert_eq!(proxy_named(new), Some(("tools", "curl-1")));
        assert_eq!(
            proxy_named("info\tads\tPush debounce stable[5] 1 for config"),
            None
        );
    }
}
