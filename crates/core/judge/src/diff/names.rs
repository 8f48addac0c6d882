//! What addresses and names stand for on one side, so that the same thing is called the same on
//! both.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_mesh::Mesh;
use meshladder_text::json::Raw;

/// From a word of one side, an address or the name of a pod, to what it stands for.
#[derive(Clone, Debug, Default)]
pub struct CommonNames {
    words: HashMap<String, String>,
    /// What all proxies of one side share.
    common: Option<Arc<CommonNames>>,
}

impl CommonNames {
    /// What a proxy is called and where it lives, by its own word.
    pub fn of_proxy(dump: &Dump<'_>) -> Self {
        let mut names = Self::default();
        let Some(node) = dump
            .section(Section::Bootstrap)
            .and_then(|section| section.at(["bootstrap", "node"]))
        else {
            return names;
        };
        let addresses = node
            .at(["metadata", "INSTANCE_IPS"])
            .and_then(Raw::string)
            .unwrap_or_default();
        for address in addresses.split(',') {
            names.put(address.trim(), "‹own address›");
        }
        // "sidecar~10.244.0.9~cart-1.shop~shop.svc.cluster.local"
        if let Some(id) = node.string_at("id") {
            let pod = id.split('~').nth(2).and_then(|pod| pod.split('.').next());
            names.put(pod.unwrap_or_default(), "‹own pod›");
        }
        names
    }

    /// Adds what the addresses of a proxy's listeners stand for: the Service that a listener
    /// forwards to. For a dump whose objects are not at hand.
    pub fn add_listeners(&mut self, dump: &Dump<'_>) {
        for listener in dump.of(Section::Listeners) {
            let Some((address, _)) = listener.name.rsplit_once('_') else {
                continue;
            };
            let is_one = address
                .parse::<IpAddr>()
                .is_ok_and(|address| !address.is_unspecified());
            if let Some(host) = listener.raw.filter(|_| is_one).and_then(serves) {
                self.put(address, &format!("‹{host}›"));
            }
        }
    }

    /// What the objects know: pods by their workload, Services, and addresses that ServiceEntries
    /// got.
    pub fn of_mesh(mesh: &Mesh) -> Self {
        let mut names = Self::default();
        for pod in mesh.pods.iter() {
            let workload = pod.workload();
            for ip in &pod.ips {
                names.put(&ip.to_string(), &format!("‹pod of {workload}›"));
            }
            names.put(&pod.name, &format!("‹pod of {workload}›"));
        }
        for service in mesh.services.iter() {
            for ip in &service.cluster_ips {
                names.put(
                    &ip.to_string(),
                    &format!("‹Service {}/{}›", service.namespace, service.name),
                );
            }
        }
        for entry in mesh.service_entries.iter() {
            for ip in &entry.addresses {
                names.put(
                    &ip.to_string(),
                    &format!("‹ServiceEntry {}/{}›", entry.namespace, entry.name),
                );
            }
        }
        names
    }

    /// Its names with what all proxies of the side share; its own words come first.
    pub(super) fn with(mut self, common: &Arc<CommonNames>) -> Self {
        self.common = Some(Arc::clone(common));
        self
    }

    fn get(&self, word: &str) -> Option<&str> {
        let own = self.words.get(word).map(String::as_str);
        own.or_else(|| self.common.as_ref()?.words.get(word).map(String::as_str))
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty()
            && self
                .common
                .as_ref()
                .is_none_or(|common| common.words.is_empty())
    }

    fn put(&mut self, word: &str, stands_for: &str) {
        if !word.is_empty() {
            self.words
                .entry(word.to_owned())
                .or_insert_with(|| stands_for.to_owned());
        }
    }

    /// A text with every known word replaced by what it stands for.
    pub fn neutral<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        if let Some(whole) = self.get(text) {
            return Cow::Owned(whole.to_owned());
        }
        let mut out = String::new();
        let mut copied = 0;
        for (start, end) in words(text) {
            if let Some((length, stands_for)) = self.word(&text[start..end]) {
                out.push_str(&text[copied..start]);
                out.push_str(stands_for);
                copied = start + length;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }

    /// What a word, or the part of it before the first dot, stands for, with the length of that
    /// part.
    fn word(&self, word: &str) -> Option<(usize, &str)> {
        let known = |part: &str| self.get(part).map(|stands_for| (part.len(), stands_for));
        known(word).or_else(|| known(word.split('.').next()?))
    }
}

/// The words of a text: letters, digits, dots and dashes.
fn words(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let is_in = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes[at..].iter().position(|byte| is_in(*byte))?;
        let length = bytes[start..]
            .iter()
            .position(|byte| !is_in(*byte))
            .unwrap_or(bytes.len() - start);
        at = start + length;
        Some((start, at))
    })
}

/// The host that a listener forwards to: that of its TCP proxy's cluster, or of its route
/// configuration's name.
fn serves(listener: Raw<'_>) -> Option<String> {
    let chains = listener
        .list("filter_chains")
        .chain(listener.get("default_filter_chain"));
    let mut configs = chains
        .flat_map(|chain| chain.list("filters"))
        .filter_map(|filter| filter.get("typed_config"));
    configs.find_map(forwards_to)
}

fn forwards_to(filter: Raw<'_>) -> Option<String> {
    if let Some(cluster) = filter.string_at("cluster") {
        return ClusterName::parse(&cluster).map(|name| name.host.to_owned());
    }
    let route = filter.at(["rds", "route_config_name"])?.string()?;
    route.rsplit_once(':').map(|(host, _)| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_words_are_replaced_wherever_they_stand() {
        let mut names = CommonNames::default();
        names.put("10.1.2.3", "‹cart›");
        names.put("cart-1", "‹pod›");
        names.put("fd00::1", "‹six›");
        for (text, neutral) in [
            ("10.1.2.3_8080", "‹cart›_8080"),
            ("10.1.2.3:8080", "‹cart›:8080"),
            ("110.1.2.3", "110.1.2.3"),
            ("10.1.2.34", "10.1.2.34"),
            (
                "sidecar~10.1.2.3~cart-1.shop~x",
                "sidecar~‹cart›~‹pod›.shop~x",
            ),
            ("fd00::1", "‹six›"),
            ("", ""),
        ] {
            assert_eq!(names.neutral(text), neutral);
        }
    }
}
