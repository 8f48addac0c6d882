//! What every oracle test shares: a real Envoy, a client, a seeded generator, and counters of what
//! was covered.

mod client;
mod config;
mod coverage;
mod envoy;
mod random;

pub(crate) use client::{Answer, Client};
pub(crate) use config::{bootstrap, cluster, connection_manager, listener};
pub(crate) use coverage::Coverage;
pub(crate) use envoy::Envoy;
pub(crate) use random::Random;

use std::io::Write;

/// What all parts together send unless told otherwise.
const ALL: usize = 82_960;

/// One part of the oracle: how many requests it sends and where its generator starts. When it fails
/// it says how to see that again.
pub(crate) struct Part {
    pub(crate) total: usize,
    pub(crate) seed: u64,
}

impl Part {
    /// A part that sends `default` of [`ALL`]; `MESHLADDER_ORACLE_REQUESTS` is shared out in the
    /// same proportion.
    pub(crate) fn begin(title: &str, default: usize) -> Self {
        let total = wanted().map_or(default, |wanted| (wanted * default).div_ceil(ALL));
        say(&format!("{title}: {total} requests, seed {}", seed()));
        Self {
            total,
            seed: seed(),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let requests = wanted()
                .map(|wanted| format!(" --requests {wanted}"))
                .unwrap_or_default();
            say(&format!(
                "replay: scripts/oracle --seed {}{requests}",
                self.seed
            ));
        }
    }
}

/// A run that is shorter than usual cannot meet everything.
fn is_short() -> bool {
    wanted().is_some_and(|wanted| wanted < ALL)
}

/// `MESHLADDER_ORACLE_REQUESTS`: how many requests all parts together should send.
fn wanted() -> Option<usize> {
    number("MESHLADDER_ORACLE_REQUESTS").map(|n| usize::try_from(n).unwrap_or(usize::MAX))
}

/// Where the generators start: `MESHLADDER_SEED`, or always the same.
pub(crate) fn seed() -> u64 {
    number("MESHLADDER_SEED").unwrap_or(20_261_115)
}

/// Says something even when the test passes.
pub(crate) fn say(text: &str) {
    // `println!` would be captured.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is no number: {text}")),
    )
}

#[test]
fn answers_say_what_envoy_decided() {
    let routes = serde_json::json!([
        {"name": "forwarded", "match": {"prefix": "/a"}, "route": {"cluster": "empty", "prefix_rewrite": "/b"}},
        {"name": "answered", "match": {"prefix": "/d"}, "direct_response": {"status": 201}},
    ]);
    let table =
        serde_json::json!({"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]});
    let manager = connection_manager(table, Vec::new(), &serde_json::json!({}));
    let envoy = Envoy::start(&bootstrap(
        vec![listener("in", vec![manager])],
        vec![cluster("empty")],
    ));
    let mut client = Client::new(envoy.port("in"));
    for (path, status, expected) in [
        (
            "/a",
            503,
            [
                "all",
                "forwarded",
                "empty",
                "UH",
                "no_healthy_upstream",
                "/b",
            ],
        ),
        (
            "/d",
            201,
            ["all", "answered", "", "-", "direct_response", "/d"],
        ),
        ("/", 404, ["all", "", "", "NR", "route_not_found", "/"]),
    ] {
        let answer = client.send(format!("GET {path} HTTP/1.1\r\nhost: a.test\r\n\r\n").as_bytes());
        let names = [
            "x-o-vhost",
            "x-o-route",
            "x-o-cluster",
            "x-o-flags",
            "x-o-details",
            "x-o-path",
        ];
        assert_eq!(
            (answer.status, names.map(|name| answer.header(name))),
            (status, expected),
            "{path}"
        );
    }
}
