//! The request flags that `trace`, `why` and `authz check` share.

use std::path::PathBuf;

const GET: &str = "GET";
const HTTP: &str = "1.1";

#[derive(Debug, clap::Args)]
pub(crate) struct RequestFlags {
    /// Who calls: `ns/workload`, `ns/pod`, `deploy/x -n ns`, or `outside` for a client beyond the
    /// ingress gateway
    #[arg(long, value_name = "WORKLOAD")]
    pub(crate) from: Option<String>,
    /// What is called: `http://catalog.shop:8080/path`, `https://…`, `tcp://db.shop:3306`
    #[arg(long, value_name = "URL")]
    pub(crate) to: Option<String>,
    /// Of several clusters, the caller's; needed only where the caller's name is in more than one
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The method
    #[arg(short = 'X', long, default_value = GET, value_name = "METHOD")]
    pub(crate) method: String,
    /// A header; `Host` sets the authority. Repeatable
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// The HTTP version
    #[arg(long, default_value = HTTP, value_name = "VERSION", value_parser = ["1.0", "1.1", "2"])]
    pub(crate) http: String,
    /// The server name a TLS client sends; `none` for none
    #[arg(long, value_name = "NAME")]
    pub(crate) sni: Option<String>,
    /// The client's address
    #[arg(long, value_name = "IP")]
    pub(crate) source_ip: Option<std::net::IpAddr>,
    /// The caller's SPIFFE identity, in the place of the one its own proxy would present:
    /// `cluster.local/ns/shop/sa/cart`
    #[arg(long, value_name = "IDENTITY")]
    pub(crate) principal: Option<String>,
    /// A claim of a verified token: `iss=…`. Repeatable
    #[arg(
        long = "jwt-claim",
        value_name = "NAME=VALUE",
        conflicts_with = "token"
    )]
    pub(crate) jwt_claims: Vec<String>,
    /// A file that holds a token
    #[arg(long, value_name = "FILE")]
    pub(crate) token: Option<PathBuf>,
}

impl Default for RequestFlags {
    fn default() -> Self {
        Self {
            from: None,
            to: None,
            cluster: None,
            method: GET.to_owned(),
            headers: Vec::new(),
            http: HTTP.to_owned(),
            sni: None,
            source_ip: None,
            principal: None,
            jwt_claims: Vec::new(),
            token: None,
        }
    }
}

impl RequestFlags {
    /// Whether a request is described at all.
    pub(crate) fn is_said(&self) -> bool {
        let told = [&self.from, &self.to, &self.sni, &self.principal];
        told.iter().any(|flag| flag.is_some())
            || self.method != GET
            || self.source_ip.is_some()
            || self.token.is_some()
            || !self.headers.is_empty()
            || !self.jwt_claims.is_empty()
    }
}
