//! How many requests a second one core routes: 10,000 routes over 1,000 virtual hosts, as Istio
//! writes them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use meshladder_sim::path::{PreparedRequest, RequestPreparation};
use meshladder_sim::request::{Claims, Connection};
use meshladder_sim::route::{RouteOutcome, RouteTable};
use meshladder_sim::runtime::Runtime;
use meshladder_sim::{DecisionRecord, Request, RequestState};
use meshladder_text::json::Raw;

const HOSTS: usize = 1000;
const ROUTES: usize = 10;
const FOR: Duration = Duration::from_secs(2);

#[expect(
    clippy::disallowed_methods,
    reason = "a bench needs a clock and prints"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = table();
    let started = Instant::now();
    let raw = Raw::of(&text).map_err(|fault| fault.what)?;
    let table = RouteTable::compile(raw, &Runtime::default());
    let compiled = started.elapsed();
    let manager =
        r#"{"normalize_path": true, "path_with_escaped_slashes_action": "KEEP_UNCHANGED"}"#;
    let manager = RequestPreparation::compile(
        Raw::of(manager).map_err(|fault| fault.what)?,
        &Runtime::default(),
    );
    let requests: Vec<_> = (0..5000).map(request).collect();
    let started = Instant::now();
    let (mut done, mut forwarded) = (0_u32, 0_u32);
    while started.elapsed() < FOR {
        for request in &requests {
            forwarded += u32::from(is_forwarded(&manager, &table, request));
        }
        done += u32::try_from(requests.len())?;
    }
    let per_second = f64::from(done) / started.elapsed().as_secs_f64();
    let mut out = std::io::stdout();
    writeln!(
        out,
        "compiled {HOSTS} virtual hosts with {ROUTES} routes each in {compiled:.2?}"
    )?;
    writeln!(
        out,
        "{per_second:.0} requests a second ({forwarded} of {done} forwarded)"
    )?;
    Ok(())
}

fn is_forwarded(manager: &RequestPreparation, table: &RouteTable<'_>, request: &Request) -> bool {
    let PreparedRequest::Request(request) = manager.enter(request) else {
        return false;
    };
    matches!(
        table.route(
            &RequestState::new(&request),
            &mut DecisionRecord::dropping()
        ),
        RouteOutcome::Route(_)
    )
}

/// A sidecar's table: each service with its short names and addresses, and routes by path and
/// header.
fn table() -> String {
    let mut hosts = Vec::new();
    for host in 0..HOSTS {
        let name = format!("svc-{host}.ns-{}.svc.cluster.local", host % 50);
        let short = format!("svc-{host}.ns-{}", host % 50);
        let domains = [
            &*name,
            &short,
            &format!("{short}.svc"),
            &format!("10.{}.{}.7", host / 250, host % 250),
        ];
        let domains: Vec<_> = domains
            .iter()
            .map(|domain| format!("\"{domain}\""))
            .collect();
        let routes: Vec<_> = (0..ROUTES).map(|route| self::route(&name, route)).collect();
        let (domains, routes) = (domains.join(", "), routes.join(", "));
        hosts.push(format!(
            r#"{{"name": "{name}:80", "domains": [{domains}], "routes": [{routes}]}}"#
        ));
    }
    format!(
        r#"{{"name": "80", "ignore_port_in_host_matching": true, "virtual_hosts": [{}]}}"#,
        hosts.join(", ")
    )
}

fn route(host: &str, n: usize) -> String {
    let matcher = match n {
        _ if n + 1 == ROUTES => r#""prefix": "/""#.to_owned(),
        n if n % 5 == 1 => format!(r#""safe_regex": {{"regex": "/api/v{n}/items/[0-9]+"}}"#),
        n if n % 5 == 2 => {
            format!(
                r#""prefix": "/", "headers": [{{"name": "x-canary", "string_match": {{"exact": "{n}"}}}}]"#
            )
        }
        n if n % 5 == 3 => format!(r#""path": "/exact/{n}""#),
        n => format!(r#""prefix": "/api/v{n}/""#),
    };
    let cluster = format!("outbound|80||{host}");
    format!(
        r#"{{"name": "r{n}", "match": {{{matcher}, "case_sensitive": true}}, "route": {{"cluster": "{cluster}", "timeout": "0s"}}}}"#
    )
}

fn request(n: usize) -> Request {
    let host = n * 7 % HOSTS;
    let mut authority = format!("svc-{host}.ns-{}", host % 50);
    if n.is_multiple_of(3) {
        authority.push_str(":80");
    }
    let mut path = String::new();
    let _ = match n % 4 {
        0 => write!(path, "/api/v4/users/{n}?page=2"),
        1 => write!(path, "/api/v6/items/{n}"),
        2 => write!(path, "/exact/8"),
        _ => write!(path, "/other/{n}"),
    };
    let headers = [
        ("user-agent", "curl/8"),
        ("accept", "*/*"),
        ("x-request-id", "7"),
        ("x-canary", "none"),
    ];
    Request {
        connection: Connection {
            destination: ([10, 0, 0, 1].into(), 80),
            source: Some(([10, 0, 0, 2].into(), 40000)),
            tls: None,
            plain_http: Some("http/1.1"),
        },
        method: "GET".to_owned(),
        scheme: "http".to_owned(),
        authority,
        path,
        headers: headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        claims: Claims::None,
        unknown_headers: Vec::new(),
    }
}
