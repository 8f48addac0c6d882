//! `proxy-config bootstrap -o short`: the versions.

use meshladder_text::json::Raw;

/// Up to three lines: Istio's version, the proxy's build and Envoy's version.
pub fn versions(bootstrap: Raw<'_>) -> String {
    let Some(node) = bootstrap.at(["bootstrap", "node"]) else {
        return String::new();
    };
    let metadata = |key| node.at(["metadata", key]).and_then(Raw::string);
    let mut lines = String::new();
    let mut line = |title: &str, value: &str| lines.extend([title, ": ", value, "\n"]);
    if let Some(version) = metadata("ISTIO_VERSION") {
        line("Istio Version", &version);
    }
    if let Some(sha) = metadata("ISTIO_PROXY_SHA") {
        line(
            "Istio Proxy Version",
            sha.split_once(':').map_or(&*sha, |(_, sha)| sha),
        );
    }
    if let Some(build) = node.get("user_agent_build_version") {
        line("Envoy Version", &envoy_version(build));
    }
    lines
}

/// `maj.min.patch[-build.label][/revision.status][/build.type][/ssl.version]`
fn envoy_version(build: Raw<'_>) -> String {
    let number = |key| {
        build
            .at(["version", key])
            .and_then(Raw::number)
            .unwrap_or(0)
    };
    let mut version = format!(
        "{}.{}.{}",
        number("major_number"),
        number("minor_number"),
        number("patch")
    );
    for (key, separator) in [
        ("build.label", '-'),
        ("revision.status", '/'),
        ("build.type", '/'),
        ("ssl.version", '/'),
    ] {
        if let Some(part) = build.at(["metadata", key]).and_then(Raw::string) {
            version.push(separator);
            version.push_str(&part);
        }
    }
    version
}
