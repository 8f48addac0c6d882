//! The MATCH column: `envoy.config.listener.v3.FilterChainMatch` in istioctl's words.

use meshladder_text::json::Raw;

#[derive(Clone, Debug, Default)]
pub(super) struct ChainMatch {
    server_names: Vec<String>,
    transport: String,
    applications: Vec<String>,
    prefixes: Vec<String>,
    port: Option<u64>,
    /// What istioctl leaves out: where the connection comes from.
    source: Vec<String>,
}

impl ChainMatch {
    pub(super) fn read(raw: Raw<'_>) -> Self {
        let mut read = Self::default();
        raw.cursor().members(|key, value| {
            let Some(value) = value.raw() else { return };
            match key {
                "server_names" => read.server_names = strings(value),
                "transport_protocol" => {
                    read.transport = value.string().unwrap_or_default().into_owned();
                }
                "application_protocols" => read.applications = strings(value),
                "prefix_ranges" => read.prefixes = value.elements().map(cidr).collect(),
                "destination_port" => read.port = value.number(),
                "source_prefix_ranges" => read.source.extend(value.elements().map(cidr)),
                "direct_source_prefix_ranges" => {
                    read.source
                        .extend(value.elements().map(|r| format!("direct {}", cidr(r))));
                }
                "source_type" => read.source.extend(value.string().map(String::from)),
                "source_ports" => read.source.extend(
                    value
                        .elements()
                        .filter_map(Raw::number)
                        .map(|p| format!(":{p}")),
                ),
                _ => {}
            }
        });
        read
    }

    pub(super) fn describe(&self, wide: bool) -> String {
        let mut parts = Vec::new();
        if !self.server_names.is_empty() {
            parts.push(format!("SNI: {}", self.server_names.join(",")));
        }
        if !self.transport.is_empty() {
            parts.push(format!("Trans: {}", self.transport));
        }
        if !self.applications.is_empty() {
            parts.push(format!("App: {}", self.application()));
        }
        match (self.prefixes.is_empty(), self.port) {
            (true, Some(port)) => parts.push(format!("Addr: *:{port}")),
            (false, Some(port)) => parts.push(format!("Addr: {}:{port}", self.prefixes.join(","))),
            (false, None) => parts.push(format!("Addr: {}", self.prefixes.join(","))),
            (true, None) => {}
        }
        if wide && !self.source.is_empty() {
            parts.push(format!("Source: {}", self.source.join(",")));
        }
        if parts.is_empty() {
            "ALL".to_owned()
        } else {
            parts.join("; ")
        }
    }

    /// The lists that istiod writes have names.
    fn application(&self) -> String {
        const NAMED: [(&str, &str); 4] = [
            (
                "HTTP TLS",
                "http/1.0,http/1.1,h2c,istio-http/1.0,istio-http/1.1,istio-h2",
            ),
            (
                "Istio HTTP Plain",
                "istio,istio-http/1.0,istio-http/1.1,istio-h2",
            ),
            ("TCP TLS", "istio-peer-exchange,istio"),
            ("HTTP", "http/1.0,http/1.1,h2c"),
        ];
        let list = self.applications.join(",");
        NAMED
            .iter()
            .find(|(_, protocols)| *protocols == list)
            .map_or(list, |(name, _)| (*name).to_owned())
    }
}

fn strings(list: Raw<'_>) -> Vec<String> {
    list.elements()
        .filter_map(Raw::string)
        .map(String::from)
        .collect()
}

fn cidr(range: Raw<'_>) -> String {
    let length = range.get("prefix_len").and_then(Raw::number).unwrap_or(0);
    format!(
        "{}/{length}",
        range.string_at("address_prefix").unwrap_or_default()
    )
}
