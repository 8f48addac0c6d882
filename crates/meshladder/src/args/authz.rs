//! `authz`, and istioctl's place for it: `x authz`.

use clap::Subcommand;

use super::TextOrJson;
use super::cluster::Reading;
use super::proxy_config::From;
use super::request::RequestFlags;

#[derive(Debug, clap::Args)]
pub(crate) struct Authz {
    #[command(subcommand)]
    pub(crate) command: AuthzCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthzCommand {
    /// The policies a proxy has; with request flags, whether they let one request in, and which
    /// rule decides
    #[command(before_help = "\
Examples:
  meshladder authz check deploy/payments -n shop -s bundle.tar.gz
  meshladder authz check --from tools/curl -X POST --to http://payments.shop:8080/charge -s bundle.tar.gz
  meshladder authz check shop/payments --principal cluster.local/ns/shop/sa/cart --to http://payments:8080/ -s manifests/
  meshladder authz check --file config_dump.json")]
    Check(AuthzCheck),
}

#[derive(Debug, clap::Args)]
pub(crate) struct AuthzCheck {
    #[command(flatten)]
    pub(crate) proxy: From,
    /// In the table: dry-run policies, the default filter chain, and the filter chains of each
    /// policy too
    #[arg(short, long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) request: RequestFlags,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// `text` or `json`, of the answer to a request
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: TextOrJson,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Experimental {
    #[command(subcommand)]
    pub(crate) command: ExperimentalCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExperimentalCommand {
    /// See `meshladder authz`
    #[command(before_help = "\
Examples:
  meshladder x authz check deploy/payments -n shop -s bundle.tar.gz")]
    Authz(Authz),
}
