//! What the injector accepts as the value of an annotation.

use std::net::IpAddr;

use meshladder_text::yaml;

/// Why the injector refuses a value; none when it takes it, or does not look.
pub(super) fn fault(key: &str, value: &str) -> Option<String> {
    let why = match key {
        "sidecar.istio.io/interceptionMode" if !["REDIRECT", "TPROXY", "NONE"].contains(&value) => {
            "it is none of REDIRECT, TPROXY, NONE"
        }
        "status.sidecar.istio.io/port" if !is_port(value) => "it is no port",
        "readiness.status.sidecar.istio.io/initialDelaySeconds"
        | "readiness.status.sidecar.istio.io/periodSeconds"
        | "readiness.status.sidecar.istio.io/failureThreshold"
            if value.parse::<u32>().is_err() || value.starts_with('+') =>
        {
            "it is no whole number"
        }
        "traffic.sidecar.istio.io/includeOutboundIPRanges"
            if value != "*" && !are_ranges(value) =>
        {
            "it is neither * nor a list of ranges such as 10.0.0.0/8"
        }
        "traffic.sidecar.istio.io/excludeOutboundIPRanges" if !are_ranges(value) => {
            "it is no list of ranges such as 10.0.0.0/8"
        }
        "traffic.sidecar.istio.io/includeInboundPorts"
        | "traffic.sidecar.istio.io/includeOutboundPorts"
            if value != "*" && !are_ports(value) =>
        {
            "it is neither * nor a list of ports"
        }
        "traffic.sidecar.istio.io/excludeInboundPorts"
        | "traffic.sidecar.istio.io/excludeOutboundPorts"
            if !are_ports(value) =>
        {
            "it is no list of ports"
        }
        "prometheus.istio.io/merge-metrics" if !is_bool(value) => "it is neither true nor false",
        "proxy.istio.io/config" if !is_mapping(value) => "it is no ProxyConfig in YAML",
        "sidecar.istio.io/proxyCPU"
        | "sidecar.istio.io/proxyCPULimit"
        | "sidecar.istio.io/proxyMemory"
        | "sidecar.istio.io/proxyMemoryLimit"
            if !is_quantity(value) =>
        {
            "it is no quantity such as 100m or 128Mi"
        }
        _ => return None,
    };
    Some(why.to_owned())
}

fn is_port(text: &str) -> bool {
    let text = text.trim();
    text.parse::<u16>().is_ok() && !text.starts_with('+')
}

fn are_ports(list: &str) -> bool {
    list.trim().is_empty() || list.split(',').all(is_port)
}

fn are_ranges(list: &str) -> bool {
    list.is_empty() || list.split(',').all(is_range)
}

fn is_range(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    length.parse::<u8>().is_ok_and(|length| length <= most)
        && length.bytes().all(|byte| byte.is_ascii_digit())
}

/// As Go reads one.
fn is_bool(text: &str) -> bool {
    [
        "1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False",
    ]
    .contains(&text)
}

fn is_mapping(text: &str) -> bool {
    let loaded = yaml::load(text);
    let first = loaded.documents.first();
    loaded.problems.is_empty()
        && first.is_none_or(|node| node.items().is_empty() && node.str().is_none())
}

/// `128Mi`, `0.5`, `100m`, `1e3`
fn is_quantity(text: &str) -> bool {
    const SUFFIXES: [&str; 15] = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi",
    ];
    let digits = text.trim_start_matches(['+', '-']);
    let end = digits
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    let is_exponent = || {
        suffix
            .strip_prefix(['e', 'E'])
            .is_some_and(|power| power.parse::<i32>().is_ok())
    };
    number.parse::<f64>().is_ok() && (SUFFIXES.contains(&suffix) || suffix == "Ei" || is_exponent())
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn values_are_taken_or_refused_as_the_injector_does() {
        for (key, taken, refused) in [
            (
                "sidecar.istio.io/interceptionMode",
                &["REDIRECT", "TPROXY", "NONE"][..],
                &["redirect", ""][..],
            ),
            (
                "status.sidecar.istio.io/port",
                &["0", " 15020 "],
                &["", "70000", "http"],
            ),
            (
                "readiness.status.sidecar.istio.io/periodSeconds",
                &["10"],
                &["bar", "-1", "1.5", "+1", ""],
            ),
            (
                "traffic.sidecar.istio.io/includeOutboundIPRanges",
                &["*", "", "10.0.0.0/8,::/0"],
                &["10.0.0.1", "10.0.0.0/33", "10.0.0.0/8, 11.0.0.0/8"],
            ),
            (
                "traffic.sidecar.istio.io/excludeOutboundIPRanges",
                &["", "10.0.0.0/8"],
                &["*"],
            ),
            (
                "traffic.sidecar.istio.io/includeInboundPorts",
                &["*", "", "80, 443"],
                &["80,", "http"],
            ),
            (
                "traffic.sidecar.istio.io/excludeOutboundPorts",
                &["", "80"],
                &["*"],
            ),
            (
                "prometheus.istio.io/merge-metrics",
                &["true", "F"],
                &["yes", ""],
            ),
            (
                "proxy.istio.io/config",
                &["{}", "concurrency: 2", ""],
                &["- a", "text", "a: [", "a: b: c"],
            ),
            (
                "sidecar.istio.io/proxyMemory",
                &["128Mi", "1e3", "0.5", "100m"],
                &["", "128MB", "much"],
            ),
            ("sidecar.istio.io/logLevel", &["anything"], &[]),
        ] {
            for value in taken {
                assert_eq!(fault(key, value), None, "{key}: {value}");
            }
            for value in refused {
                assert!(fault(key, value).is_some(), "{key}: {value}");
            }
        }
    }
}
