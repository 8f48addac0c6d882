//! What objects say of a request and what a proxy decides must be the same, wherever the proxy has
//! what istiod made of the objects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::istiod::syncz::{self, SyncStatus};
use meshladder_capture::object;
use meshladder_capture::snapshot::{Coverage, DocId, Need, Shape, Snapshot};
use meshladder_collect::{Options, Source};
use meshladder_judge::authz::{AuthzDecision, AuthzVerdict, Checker};
use meshladder_mesh::{Mesh, PodFacts};
use meshladder_sim::request::Claims;
use meshladder_sim::walk::{Call, Caller, Principal, Scheme, Url};
use meshladder_text::tree::Node;

use crate::expect::root;
use crate::meshes::{Capture, captures};

const LISTENER: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";

/// What was compared, and what was not and why.
#[derive(Debug, Default)]
struct Tally {
    /// Requests by verdict.
    verdicts: BTreeMap<&'static str, usize>,
    proxies: usize,
    skipped: BTreeMap<String, usize>,
    /// How many requests differ, by capture.
    differ: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

/// Captures on which objects and dumps differ, and why. Who repairs it takes it off the list.
const DIFFERENT: &[&str] = &[
    // An authorizer outside the proxy is asked before any policy. Objects do not look whether it
    // has endpoints, so they foretell what RBAC would answer where ext_authz has answered before.
    "payments-403-custom-authz-has-no-pods",
];

#[test]
fn objects_and_the_dumps_of_our_own_capture_agree() {
    let tally = compare(&[root().join("fixtures/meshes/authz/bundle")]);
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    assert_eq!((tally.proxies, &tally.skipped), (3, &BTreeMap::new()));
    assert!(
        tally.verdicts["allow"] > 10 && tally.verdicts["deny"] > 10,
        "{tally:?}"
    );
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "who runs it should see what was compared, what was not, and why"
)]
fn objects_and_dumps_agree_on_every_capture_whose_proxy_is_in_sync() {
    let captures = captures();
    let bundles: Vec<_> = captures.iter().map(Capture::bundle).collect();
    let tally = compare(&bundles);
    println!(
        "{} proxies, {:?}, skipped {:#?}",
        tally.proxies, tally.verdicts, tally.skipped
    );
    let different: Vec<&str> = tally.differ.keys().map(String::as_str).collect();
    let expected = DIFFERENT.iter().copied();
    let expected: Vec<&str> = expected
        .filter(|id| captures.iter().any(|capture| capture.id == *id))
        .collect();
    assert_eq!(
        different,
        expected,
        "{:?}\n{}",
        tally.differ,
        tally.wrong.join("\n")
    );
    assert!(tally.proxies > 8 * captures.len(), "{tally:?}");
}

fn compare(bundles: &[PathBuf]) -> Tally {
    let mut tally = Tally::default();
    for bundle in bundles {
        let snapshot =
            meshladder_collect::open(&[Source::from(bundle.as_path())], &Options::default());
        compare_mesh(bundle, &snapshot.expect("a bundle"), &mut tally);
    }
    tally
}

fn compare_mesh(bundle: &Path, snapshot: &Snapshot, tally: &mut Tally) {
    let mesh = Mesh::build(snapshot);
    let checker = Checker::new(snapshot, &mesh);
    let values = Values::of(snapshot, &mesh);
    let capture = bundle.parent().and_then(Path::file_name);
    let capture = capture.expect("a name").to_string_lossy().into_owned();
    for (proxy, id) in snapshot.proxies_with(Shape::ConfigDump) {
        let Some(pod) = mesh.pod(&proxy.namespace, &proxy.pod) else {
            *tally
                .skipped
                .entry("the pod is gone".to_owned())
                .or_default() += 1;
            continue;
        };
        if let Some(why) = out_of_sync(snapshot, &proxy.to_string(), id) {
            *tally.skipped.entry(why).or_default() += 1;
            continue;
        }
        tally.proxies += 1;
        let server = checker.server(
            &values.call(pod, 80),
            Some(&format!("{}/{}", pod.namespace, pod.name)),
            None,
        );
        let server = server.expect("the pod");
        let calls = sample(values.calls(&mesh, pod), tally.proxies);
        let by_dump = checker.by_dump(&calls, &server).expect("there is a dump");
        for (call, by_dump) in calls.iter().zip(&by_dump) {
            let by_objects = checker.by_objects(call, &server);
            if by_objects.because.ends_with("puts into the proxy") {
                *tally
                    .skipped
                    .entry("another object puts filters into the proxy".to_owned())
                    .or_default() += 1;
                continue;
            }
            *tally.verdicts.entry(word(by_dump)).or_default() += 1;
            if let Some(difference) = difference(by_dump, &by_objects) {
                *tally.differ.entry(capture.clone()).or_default() += 1;
                let request = format!("{} {:?}", call.line(), call.principal);
                tally
                    .wrong
                    .push(format!("{capture} {server}: {request}{difference}"));
            }
        }
    }
}

/// So many requests of a proxy's are taken, others of each proxy: captures have many proxies with
/// the same policies.
fn sample(calls: Vec<Call>, proxy: usize) -> Vec<Call> {
    const TAKEN: usize = 31;
    let step = calls.len().div_ceil(TAKEN).max(1);
    calls.into_iter().skip(proxy % step).step_by(step).collect()
}

fn difference(by_dump: &AuthzDecision, by_objects: &AuthzDecision) -> Option<String> {
    let said = |decision: &AuthzDecision| {
        let by = decision
            .by
            .as_ref()
            .map(|rule| (rule.name.clone(), rule.rule));
        // A closed filter chain has no name for the PeerAuthentication that closed it.
        (
            word(decision),
            by.filter(|(_, rule)| rule.is_some()),
            decision.seen.clone(),
        )
    };
    let (dump, objects) = (said(by_dump), said(by_objects));
    let told = || {
        let dump = format!("dump: {dump:?} {}", by_dump.because);
        format!("\n  {dump}\n  objects: {objects:?} {}", by_objects.because)
    };
    (dump != objects).then(told)
}

fn word(decision: &AuthzDecision) -> &'static str {
    match decision.verdict {
        AuthzVerdict::Allow => "allow",
        AuthzVerdict::Deny => "deny",
        AuthzVerdict::Undecided => "undecided",
    }
}

/// Why a proxy need not have what the objects say, by what istiod, the proxy and the collector
/// themselves tell.
fn out_of_sync(snapshot: &Snapshot, proxy: &str, dump: &DocId) -> Option<String> {
    for kind in [
        Kind::AuthorizationPolicy,
        Kind::RequestAuthentication,
        Kind::PeerAuthentication,
    ] {
        let need = Need::Objects(kind);
        if snapshot.coverage(&need) != Coverage::Complete {
            return Some(format!("{need}: {}", snapshot.coverage(&need).word()));
        }
    }
    let document = snapshot.open(dump).expect("the dump");
    let dump = Dump::index(&document.text, &[Section::Listeners]).expect("a dump");
    let node = dump
        .section(Section::Bootstrap)
        .and_then(|b| b.at(["bootstrap", "node", "id"])?.string());
    if node.is_some_and(|id| id.starts_with("router~")) {
        return Some("a gateway takes nothing for a pod behind it".to_owned());
    }
    if dump
        .of(Section::Listeners)
        .any(|listener| listener.error.is_some())
    {
        return Some("the proxy refused a listener".to_owned());
    }
    let answers = snapshot
        .ids()
        .filter(|id| id.as_str().ends_with("/debug/syncz.json"));
    let texts: Vec<_> = answers
        .filter_map(|id| snapshot.open(id).ok())
        .map(|doc| doc.text)
        .collect();
    let connections = texts
        .iter()
        .filter_map(|text| syncz::read(text).ok())
        .flat_map(|(connections, _)| connections);
    let states: Vec<_> = connections
        .filter(|c| c.proxy == proxy)
        .filter_map(|c| c.types.get(LISTENER).map(syncz::TypeSync::sync))
        .collect();
    match states.as_slice() {
        [] => Some("no istiod knows the proxy".to_owned()),
        states if states.contains(&SyncStatus::Synced) => None,
        [state, ..] => Some(format!("listeners are {}", state.word())),
    }
}

/// Values near those that the policies of a mesh name.
#[derive(Debug, Default)]
struct Values {
    principals: Vec<Principal>,
    methods: Vec<String>,
    paths: Vec<String>,
    /// Headers that policies look at, each with a value that one of them names: without
    /// `user-agent`, say, what a policy answers stays open.
    headers: BTreeMap<String, String>,
}

impl Values {
    fn of(snapshot: &Snapshot, mesh: &Mesh) -> Self {
        let mut values = Self {
            principals: vec![
                Principal::of("other.test", "shop", "cart"),
                Principal::of("cluster.local", "shop", "car"),
            ],
            methods: vec!["GET".to_owned(), "DELETE".to_owned()],
            paths: vec!["/".to_owned()],
            headers: BTreeMap::new(),
        };
        for pod in mesh.pods.iter().filter(|pod| pod.has_proxy) {
            values.principals.push(Principal::of(
                "cluster.local",
                &pod.namespace,
                &pod.service_account,
            ));
        }
        object::each(snapshot, |object| {
            if object.kind() == "AuthorizationPolicy" {
                values.read(
                    object
                        .node
                        .at(["spec", "rules"])
                        .map_or(&[][..], Node::items),
                );
            }
        });
        values.principals.sort_by(|a, b| a.uri().cmp(b.uri()));
        values.principals.dedup();
        values.methods.sort();
        values.methods.dedup();
        values.paths.sort();
        values.paths.dedup();
        values
    }

    fn read(&mut self, rules: &[Node]) {
        let lists = |node: &Node, outer: &str, inner: &str, key: &str| -> Vec<String> {
            let entries = node.get(outer).map_or(&[][..], Node::items).iter();
            let lists = entries.filter_map(|entry| entry.get(inner)?.get(key));
            lists
                .flat_map(Node::items)
                .filter_map(Node::str)
                .map(str::to_owned)
                .collect()
        };
        for rule in rules {
            for condition in rule.get("when").map_or(&[][..], Node::items) {
                self.headers.extend(header(condition));
            }
            let principals = lists(rule, "from", "source", "principals");
            self.principals
                .extend(principals.iter().filter_map(|p| Principal::parse(p).ok()));
            self.methods
                .extend(lists(rule, "to", "operation", "methods"));
            for path in lists(rule, "to", "operation", "paths") {
                let base = path.trim_end_matches('*').to_owned();
                let (inside, beside) = (format!("{base}x"), base.trim_end_matches('/').to_owned());
                let odd = [format!("/x/..{base}y?q=1"), format!("{base}.//z"), beside];
                let odd = odd.into_iter().filter(|path| path.starts_with('/'));
                self.paths.extend([base, inside].into_iter().chain(odd));
            }
        }
    }

    fn call(&self, pod: &PodFacts, port: u16) -> Call {
        let host = pod
            .ips
            .first()
            .expect("a running pod has an address")
            .to_string();
        Call {
            from: Caller::Somebody,
            to: Url {
                scheme: Scheme::Http,
                host,
                port,
                has_port: true,
                path: "/".to_owned(),
            },
            method: self.methods[0].clone(),
            headers: vec![("host".to_owned(), "any.test".to_owned())],
            http: "1.1".to_owned(),
            sni: None,
            source_ip: Some([10, 244, 9, 9].into()),
            principal: None,
            claims: Claims::None,
        }
    }

    /// Callers × ports × methods × paths; every port also as plain TCP.
    fn calls(&self, mesh: &Mesh, pod: &PodFacts) -> Vec<Call> {
        let services = mesh
            .services
            .iter()
            .filter(|service| mesh.pods_of(service).any(|p| p.name == pod.name));
        let mut ports: Vec<u16> = services
            .flat_map(|s| &s.ports)
            .filter_map(|(_, target)| target.parse().ok())
            .collect();
        // One that no Service leads to.
        ports.push(9999);
        ports.sort_unstable();
        ports.dedup();
        let mut calls = Vec::new();
        for &port in &ports {
            for principal in &self.principals {
                let base = Call {
                    principal: Some(principal.clone()),
                    ..self.call(pod, port)
                };
                calls.push(tcp(&base));
                for method in &self.methods {
                    for path in &self.paths {
                        let to = Url {
                            path: path.clone(),
                            ..base.to.clone()
                        };
                        calls.push(Call {
                            to,
                            method: method.clone(),
                            ..base.clone()
                        });
                    }
                }
            }
        }
        // Every other request has what a policy names.
        for (number, call) in calls.iter_mut().enumerate() {
            for (name, named) in &self.headers {
                let value = if number % 2 == 0 { named } else { "other" };
                call.headers.push((name.clone(), value.to_owned()));
            }
        }
        calls
    }
}

/// `key: request.headers[user-agent]` and its first value, as a name and a value that matches.
fn header(condition: &Node) -> Option<(String, String)> {
    let key = condition.get("key")?.str()?;
    let name = key.strip_prefix("request.headers[")?.strip_suffix(']')?;
    let value = condition.get("values")?.items().first()?.str()?;
    Some((name.to_ascii_lowercase(), value.replace('*', "x")))
}

fn tcp(call: &Call) -> Call {
    let to = Url {
        scheme: Scheme::Tcp,
        ..call.to.clone()
    };
    Call {
        to,
        method: String::new(),
        ..call.clone()
    }
}
