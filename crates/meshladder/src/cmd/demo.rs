//! `demo`: a built-in incident, told step by step.

use std::io::{Cursor, Read};

use meshladder_capture::snapshot::Snapshot;
use meshladder_collect::{Options, Source};
use meshladder_judge::ladder::Scope;
use meshladder_judge::rules::Symptom;
use meshladder_mesh::Mesh;
use meshladder_output::report::to_text;

use super::{ladder, proxy_config, proxy_status, request};
use crate::args::request::RequestFlags;
use crate::args::{ProxyStatus, StatusOutput};
use crate::exit::{Failure, Outcome};
use crate::out;

/// A capture of the incident: real istiod, real Envoys, and a NetworkPolicy that keeps them apart.
static CAPTURE: &[u8] = include_bytes!("../../demo/canary-gets-no-traffic.tar.zst");

const URL: &str = "http://catalog.shop.svc.cluster.local:8080/";

pub(super) fn run() -> Outcome {
    let snapshot = capture()?;
    out::text(
        "A canary: VirtualService shop/catalog has sent 10 % to v2 for half an hour, and v2 gets nothing.\n\
         The YAML is fine, and it was applied twice.\n\n\
         1. Do the proxies have it?\n\n\
         $ meshladder ps -n shop -s canary-gets-no-traffic.tar.zst\n",
    )?;
    let status = ProxyStatus {
        output: StatusOutput::Table,
        verbosity: 0,
        revision: None,
    };
    proxy_status::print(&snapshot, Some("shop"), &status)?;
    out::text(
        "\nNo. istiod sent clusters, listeners and routes, and no proxy in shop acknowledged them: STALE.\n\n\
         2. So what does the proxy of frontend do?\n\n\
         $ meshladder pc route deploy/frontend -n shop --name 8080 -o wide -s canary-gets-no-traffic.tar.zst\n",
    )?;
    proxy_config::print_routes(&snapshot, "deploy/frontend", "shop", "8080")?;
    out::text(&format!(
        "\nAs before the change: 100 to v1.\n\n\
         3. Why? One command climbs the whole ladder and puts the thing to change first:\n\n\
         $ meshladder why --from shop/frontend --to {URL} --seen 200 -s canary-gets-no-traffic.tar.zst\n"
    ))?;
    out::text(&why(&snapshot)?)?;
    out::text(
        "\nTry next, on a capture or bug-report of your own:\n\
         \x20 meshladder check -s bug-report.tar.gz                                     the whole mesh\n\
         \x20 meshladder why --from NS/POD --to URL --seen 503/UH -s bug-report.tar.gz  one request\n\
         \x20 meshladder explain ML0401                                                 what a finding means\n",
    )?;
    Ok(0)
}

/// The report, as `why` prints it.
fn why(snapshot: &Snapshot) -> Result<String, Failure> {
    let mesh = Mesh::build(snapshot);
    let flags = RequestFlags {
        from: Some("shop/frontend".to_owned()),
        cluster: None,
        to: Some(URL.to_owned()),
        method: "GET".to_owned(),
        headers: Vec::new(),
        http: "1.1".to_owned(),
        sni: None,
        source_ip: None,
        principal: None,
        jwt_claims: Vec::new(),
        token: None,
    };
    let call = request::call(&flags, None, snapshot, &mesh)?;
    let seen = Symptom {
        code: 200,
        ..Symptom::default()
    };
    let report = ladder::climb(snapshot, &mesh, Scope::Request(Box::new(call)), Some(seen));
    Ok(to_text(&report, ladder::paint(false)))
}

fn capture() -> Result<Snapshot, Failure> {
    fn bytes() -> Box<dyn Read> {
        Box::new(Cursor::new(CAPTURE))
    }
    let options = Options {
        stdin: bytes,
        ..Options::default()
    };
    Ok(meshladder_collect::open(&[Source::Stdin], &options)?)
}
