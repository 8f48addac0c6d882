//! `filter_chain_matcher`: a tree that names the chain by address and port, as waypoints have it
//! (`xds.type.matcher.v3.Matcher`).

use crate::inspect::{InspectedConnection, Protocols};
use crate::matcher::unmodelled;
use meshladder_text::cidr::Cidr;
use meshladder_text::json::Raw;

/// The name of the chain that a tree leads to; none when it leads nowhere.
///
/// # Errors
/// The fact that is missing, or what is not modelled.
pub(super) fn search(
    matcher: Raw<'_>,
    seen: &InspectedConnection<'_>,
) -> Result<Option<String>, Box<str>> {
    let found = match (matcher.get("matcher_tree"), matcher.get("matcher_list")) {
        (Some(tree), _) => by_tree(tree, seen)?,
        (None, Some(_)) => return Err(unmodelled("the listener's list of matchers")),
        (None, None) => None,
    };
    match (found, matcher.get("on_no_match")) {
        (Some(name), _) => Ok(Some(name)),
        (None, Some(otherwise)) => on_match(otherwise, seen),
        (None, None) => Ok(None),
    }
}

fn by_tree(tree: Raw<'_>, seen: &InspectedConnection<'_>) -> Result<Option<String>, Box<str>> {
    let input = tree
        .at(["input", "typed_config", "@type"])
        .and_then(Raw::string)
        .unwrap_or_default();
    let input = input.rsplit('.').next().unwrap_or_default().to_owned();
    if input == "DestinationIPInput" {
        return by_address(tree, seen);
    }
    let (address, port) = seen.destination;
    let key = match input.as_str() {
        "DestinationPortInput" => port.to_string(),
        "TransportProtocolInput" => seen.transport_protocol.to_owned(),
        "ServerNameInput" => seen.server_name.to_string(),
        "ApplicationProtocolInput" => protocols(seen.application_protocols),
        other => {
            return Err(unmodelled(&format!(
                "the matching input {other} at {address}"
            )));
        }
    };
    let entries = tree.at(["exact_match_map", "map"]);
    let Some(entries) = entries else {
        return Err(unmodelled("a matcher tree without exact values"));
    };
    match entries.get(&key) {
        Some(entry) => on_match(entry, seen),
        None => Ok(None),
    }
}

/// The most specific range first; one that leads nowhere gives way to a wider one.
fn by_address(tree: Raw<'_>, seen: &InspectedConnection<'_>) -> Result<Option<String>, Box<str>> {
    let Some(config) = tree.at(["custom_match", "typed_config"]) else {
        return Err(unmodelled("a matcher tree without ranges of addresses"));
    };
    let mut fitting: Vec<(u8, Raw<'_>)> = Vec::new();
    for entry in config.list("range_matchers") {
        let ranges = entry.list("ranges").filter_map(Cidr::read);
        let fits = ranges.filter(|range| range.contains(seen.destination.0));
        if let (Some(length), Some(to)) = (fits.map(Cidr::length).max(), entry.get("on_match")) {
            fitting.push((length, to));
        }
    }
    fitting.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    for (_, to) in fitting {
        if let Some(name) = on_match(to, seen)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn on_match(entry: Raw<'_>, seen: &InspectedConnection<'_>) -> Result<Option<String>, Box<str>> {
    if let Some(matcher) = entry.get("matcher") {
        return search(matcher, seen);
    }
    let value = entry.at(["action", "typed_config", "value"]);
    match value.and_then(Raw::string) {
        Some(name) => Ok(Some(name.into_owned())),
        None => Err(unmodelled("the action of the listener's matcher")),
    }
}

/// "Comma-separated list of requested application protocols, with single quotes".
fn protocols(seen: Protocols<'_>) -> String {
    let quoted: Vec<String> = seen
        .iter()
        .map(|protocol| format!("'{protocol}'"))
        .collect();
    quoted.join(",")
}
