//! `/debug/networkz`: the gateways of the networks that an istiod knows.

use meshladder_text::json::{Raw, TextFault, ValueKind};

/// A gateway through which other networks reach one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownGateway {
    /// The network behind it.
    pub network: String,
    /// The id of the cluster it is in.
    pub cluster: String,
    /// Its address.
    pub address: String,
    /// Where it stands: a byte offset.
    pub at: usize,
}

/// Reads the list.
///
/// # Errors
/// When it is no list.
pub fn read(text: &str) -> Result<Vec<KnownGateway>, TextFault> {
    let list = Raw::of(text)?;
    // An istiod that knows none says `null`.
    if list.text() == "null" {
        return Ok(Vec::new());
    }
    if list.kind() != ValueKind::Array {
        return Err(TextFault::new(0, "it is no list of gateways"));
    }
    let mut gateways = Vec::new();
    for entry in list.elements() {
        let text = |key| entry.string_at(key).unwrap_or_default().into_owned();
        gateways.push(KnownGateway {
            network: text("Network"),
            cluster: text("Cluster"),
            address: text("Addr"),
            at: entry.offset(),
        });
    }
    Ok(gateways)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_are_read_by_network() {
        let text =
            r#"[{"Network":"network-west","Cluster":"west","Addr":"198.18.90.80","Port":15443}]"#;
        let gateways = read(text).expect("a list");
        assert_eq!(gateways.len(), 1);
        assert_eq!(
            (gateways[0].network.as_str(), gateways[0].address.as_str()),
            ("network-west", "198.18.90.80")
        );
        assert_eq!(read("null"), Ok(Vec::new()));
        assert!(read("{}").is_err());
    }
}
