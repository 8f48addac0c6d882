//! `demo`: a built-in incident, told with the listings.

use std::io::{Cursor, Read};

use meshladder_collect::{Options, Source};
use meshladder_core::snapshot::Snapshot;

use super::{proxy_config, proxy_status};
use crate::args::{ProxyStatus, StatusOutput};
use crate::exit::{Failure, Outcome};
use crate::out;

/// A capture of the incident: real istiod, real Envoys, and a NetworkPolicy that keeps them apart.
static CAPTURE: &[u8] = include_bytes!("../../demo/canary-gets-no-traffic.tar.zst");

pub(super) fn run() -> Outcome {
    let snapshot = capture()?;
    out::text(
        "A canary: the VirtualService shop/catalog sends 10 % to v2, and v2 gets nothing. The YAML is fine.\n\n\
         $ meshladder ps -n shop -s canary-gets-no-traffic.tar.zst\n",
    )?;
    let status = ProxyStatus { output: StatusOutput::Table, verbosity: 0, revision: None };
    proxy_status::print(&snapshot, Some("shop"), &status)?;
    out::text(
        "\nistiod sent new clusters, listeners and routes, and no proxy in shop acknowledged them: STALE.\n\
         So the proxies still route as before:\n\n\
         $ meshladder pc route deploy/frontend -n shop --name 8080 -o wide -s canary-gets-no-traffic.tar.zst\n",
    )?;
    proxy_config::print_routes(&snapshot, "deploy/frontend", "shop", "8080")?;
    out::text(
        "\nThe VirtualService says 90 to v1 and 10 to v2; this proxy still has 100 to v1. It never got the change, because\n\
         the NetworkPolicy shop/restrict-egress lets pods in shop reach DNS and namespaces labelled\n\
         istio-injection=enabled, and nothing else: istiod's port 15012 in istio-system is out of reach.\n",
    )?;
    Ok(0)
}

fn capture() -> Result<Snapshot, Failure> {
    fn bytes() -> Box<dyn Read> {
        Box::new(Cursor::new(CAPTURE))
    }
    let options = Options { stdin: bytes, ..Options::default() };
    Ok(meshladder_collect::open(&[Source::Stdin], &options)?)
}
