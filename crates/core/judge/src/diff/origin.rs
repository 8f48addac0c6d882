//! Whether two dumps are of one installation, where the names of their pods do not tell.

use std::collections::BTreeSet;

use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_text::tree::Node;
use meshladder_text::x509;

use super::resources::pem;

/// Whether two proxies trust the same root and say that they are in the same cluster. Every
/// installation makes a root of its own; one that is given to several clusters makes them one mesh,
/// and then the cluster tells.
pub fn is_one_mesh(a: &str, b: &str) -> bool {
    let (a, b) = (Origin::of(a), Origin::of(b));
    a.is_some_and(|a| !a.roots.is_empty() && Some(a) == b)
}

#[derive(PartialEq, Eq)]
struct Origin {
    roots: BTreeSet<String>,
    cluster: Option<String>,
}

impl Origin {
    fn of(text: &str) -> Option<Self> {
        let dump = Dump::index(text, &[Section::Bootstrap, Section::Secrets]).ok()?;
        let cluster =
            dump.section(Section::Bootstrap)?
                .at(["bootstrap", "node", "metadata", "CLUSTER_ID"]);
        let cluster = cluster
            .and_then(meshladder_text::json::Raw::string)
            .map(std::borrow::Cow::into_owned);
        let secrets = dump
            .of(Section::Secrets)
            .filter(|secret| secret.name == "ROOTCA");
        let secrets = secrets.filter_map(|secret| Node::from_json(secret.raw?).ok());
        let pems = secrets.filter_map(|secret| pem(&secret, ["validation_context", "trusted_ca"]));
        let roots = pems
            .flat_map(|pem| x509::from_pem(&pem).into_iter().flatten())
            .map(|root| root.sha256)
            .collect();
        Some(Self { roots, cluster })
    }
}
