//! istiod gives the dump of a proxy with the names of proto3's JSON mapping ("message field names
//! are mapped to lowerCamelCase"), Envoy with those of the proto files.

use meshladder_text::json::{Raw, ValueKind};

/// Fields whose value is a map: its keys are names that somebody chose.
const MAPS: [&str; 5] = [
    "policies",
    "typed_extension_protocol_options",
    "typed_filter_metadata",
    "typed_per_filter_config",
    "virtual_clusters",
];

/// Fields whose value is a `google.protobuf.Struct`: nothing in it is the name of a field.
const STRUCTS: [&str; 3] = ["filter_metadata", "json_format", "value"];

/// A word that begins with a digit begins unseen in lowerCamelCase.
const WITH_DIGITS: [(&str, &str); 3] = [
    ("acceptHttp10", "accept_http_10"),
    ("defaultHostForHttp10", "default_host_for_http_10"),
    ("proxy100Continue", "proxy_100_continue"),
];

/// A dump with Envoy's names of fields. Lines stay where they are; what is no JSON stays as it is.
pub fn with_proto_names(dump: &str) -> String {
    let Ok(whole) = Raw::of(dump) else {
        return dump.to_owned();
    };
    let mut renames = Vec::new();
    let mut open = vec![(whole, String::new())];
    while let Some((value, field)) = open.pop() {
        match value.kind() {
            ValueKind::Object => {
                let is_map = MAPS.contains(&field.as_str());
                let mut members = value.members();
                while let Some((key, inner)) = members.next() {
                    let name = if is_map {
                        key.to_string()
                    } else {
                        proto_name(&key)
                    };
                    // A route's `match` is a message, a transport socket's "optional metadata match
                    // criteria", which is a Struct.
                    let is_struct = STRUCTS.contains(&name.as_str())
                        || (name == "match" && field == "transport_socket_matches");
                    if !is_struct {
                        open.push((inner, name.clone()));
                    }
                    renames.push((members.key_span(), name));
                }
            }
            ValueKind::Array => {
                open.extend(value.elements().map(|element| (element, field.clone())));
            }
            _ => {}
        }
    }
    renames.sort_by_key(|(span, _)| span.start);
    let mut out = String::with_capacity(dump.len() + dump.len() / 16);
    let mut end = 0;
    for (span, name) in renames {
        out.push_str(&dump[end..span.start]);
        out.push('"');
        out.push_str(&name);
        out.push('"');
        end = span.end;
    }
    out.push_str(&dump[end..]);
    out
}

/// `dynamicActiveClusters` is `dynamic_active_clusters`. What is no lowerCamelCase is no field.
fn proto_name(key: &str) -> String {
    if let Some((_, name)) = WITH_DIGITS.iter().find(|(camel, _)| *camel == key) {
        return (*name).to_owned();
    }
    let is_field = key.starts_with(|first: char| first.is_ascii_lowercase())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_field {
        return key.to_owned();
    }
    let mut name = String::with_capacity(key.len() + 4);
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_get_the_names_of_the_proto_file_and_nothing_else_changes() {
        let istiods = r#"{"dynamicActiveClusters": [
            {"cluster": {"transportSocketMatches": [{"match": {"tlsMode": "istio"}, "transportSocket": {}}],
             "metadata": {"filterMetadata": {"istio": {"defaultOriginalPort": 80}}},
             "typedExtensionProtocolOptions": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {"explicitHttpConfig": {}}},
             "@type": "type.googleapis.com/aB"}}], "route": {"match": {"safeRegex": {}}}, "proxy100Continue": true}"#;
        let envoys = r#"{"dynamic_active_clusters": [
            {"cluster": {"transport_socket_matches": [{"match": {"tlsMode": "istio"}, "transport_socket": {}}],
             "metadata": {"filter_metadata": {"istio": {"defaultOriginalPort": 80}}},
             "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {"explicit_http_config": {}}},
             "@type": "type.googleapis.com/aB"}}], "route": {"match": {"safe_regex": {}}}, "proxy_100_continue": true}"#;
        assert_eq!(with_proto_names(istiods), envoys);
        assert_eq!(with_proto_names(envoys), envoys);
        assert_eq!(with_proto_names("{\"cut"), "{\"cut");
    }
}
