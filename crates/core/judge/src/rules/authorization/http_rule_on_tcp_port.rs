//! See the page beside this file.

use super::denial::{self, action_of, fields, is_dry_run, is_http_only};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::policies::Workload;
use meshladder_mesh::services::{self, Protocol, ServicePort};
use meshladder_mesh::traffic::hosts;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0904",
    name: "http-rule-on-tcp-port",
    aka: &["IST0133"],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "rules for a TCP port use no field that only HTTP has",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Service, Kind::Pod]),
    uses: Inputs::of(&[Kind::VirtualService]).and(&[Part::Proxies, Part::Logs]),
    explains: &["ML0901", "ML0902"],
    docs: include_str!("http_rule_on_tcp_port.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let called = case.map(|case| accounts::called_port(facts, case));
    // A request that no policy turned away is not met by any of this.
    if matches!(called, Some(None))
        || case.is_some_and(|case| denial::denials(facts, case).is_empty())
    {
        return;
    }
    for service in facts.mesh.objects.of_kind(Kind::Service) {
        for port in services::ports(service).filter(|port| is_bytes(port.protocol)) {
            let is_called = called.as_ref().is_none_or(|called| {
                called
                    .as_ref()
                    .is_some_and(|(other, on)| other.id == service.id && on.number == port.number)
            });
            let pods = facts.mesh.selected_pods(service);
            if let (true, Some(pod)) = (is_called, pods.first()) {
                out.examined();
                if let Some(target) = services::target_port(&port, pod) {
                    let odd = declared_against(facts.mesh, service, &port, pod);
                    port_of(facts, &(service, odd), pod, target, out);
                }
            }
        }
    }
}

/// "ALLOW with HTTP fields is left out on TCP, so everything is denied; DENY keeps only the rest of
/// it, so more is denied".
fn port_of(
    facts: &Facts<'_>,
    service: &(&Object, Option<Evidence>),
    pod: &Object,
    port: u16,
    out: &mut Sink,
) {
    let reaching = facts
        .mesh
        .policies(Kind::AuthorizationPolicy, &Workload::of(pod));
    let enforced = || {
        reaching
            .iter()
            .copied()
            .filter(|policy| !is_dry_run(policy))
    };
    let allow: Vec<&Object> = enforced()
        .filter(|policy| action_of(policy) == "ALLOW")
        .collect();
    let meant = |policy: &Object| {
        policy
            .spec_list("rules")
            .iter()
            .any(|rule| is_for(rule, port))
    };
    let survives = |policy: &Object| {
        policy
            .spec_list("rules")
            .iter()
            .any(|rule| is_for(rule, port) && http_field(rule).is_none())
    };
    // Of a port that is declared wrongly, each rule that is left out is missed.
    let is_closed = allow.iter().any(|policy| meant(policy))
        && (service.1.is_some() || !allow.iter().any(|policy| survives(policy)));
    for policy in allow.iter().filter(|policy| is_closed && meant(policy)) {
        tell(
            policy,
            service,
            pod,
            port,
            "is left out there, and without any rule nobody is admitted",
            out,
        );
    }
    for policy in enforced().filter(|policy| action_of(policy) == "DENY") {
        let rules = policy
            .spec_list("rules")
            .iter()
            .filter(|rule| is_for(rule, port));
        if rules.filter(|rule| http_field(rule).is_some()).count() > 0 && !names_ports(policy) {
            tell(
                policy,
                service,
                pod,
                port,
                "is left out there, so that its rule denies more than it says",
                out,
            );
        }
    }
}

/// What a proxy hands on as bytes, so that no rule sees HTTP in it.
fn is_bytes(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Tcp | Protocol::Tls | Protocol::Https)
}

/// What else says that HTTP is spoken on a port that is declared otherwise: then the declaration is
/// at fault, and not the policy.
fn declared_against(
    mesh: &Mesh,
    service: &Object,
    port: &ServicePort<'_>,
    pod: &Object,
) -> Option<Evidence> {
    let says_http =
        |name: &str| Protocol::of_name(name.split('-').next().unwrap_or(name)).is_http();
    if port.app_protocol.is_some() && says_http(port.name) {
        return Some(Evidence::of(service, port.node, "its name says HTTP"));
    }
    let target = services::target_port(port, pod)?;
    let containers = pod.spec_list("containers").iter();
    let mut listed = containers.flat_map(|one| one.get("ports").map_or(&[][..], Node::items));
    let is_it = |one: &&Node| one.get("containerPort").and_then(services::number) == Some(target);
    let named = listed
        .find(is_it)
        .filter(|one| one.str_at("name").is_some_and(says_http));
    if let Some(named) = named {
        return Some(Evidence::of(
            pod,
            named,
            "the pod's own name for it says HTTP",
        ));
    }
    let host = mesh.domain.service(&service.id.name, &service.id.namespace);
    let mut routes = mesh.objects.of_kind(Kind::VirtualService).iter();
    let rules = routes.find(|rules| {
        !rules.spec_list("http").is_empty()
            && hosts(rules, &mesh.domain).any(|(_, own)| own == host)
    })?;
    Some(Evidence::object(rules, "HTTP routes for it"))
}

fn tell(
    policy: &Object,
    (service, odd): &(&Object, Option<Evidence>),
    pod: &Object,
    port: u16,
    effect: &str,
    out: &mut Sink,
) {
    let mut rules = policy
        .spec_list("rules")
        .iter()
        .filter(|rule| is_for(rule, port));
    let Some((field, node)) = rules.find_map(http_field) else {
        return;
    };
    let message = format!(
        "{} reaches port {port} of {}, which is TCP: `{field}`, which only HTTP has, {effect}",
        policy.id, service.id
    );
    let subject = if odd.is_some() { *service } else { policy };
    let finding = out.find(
        subject.id.clone(),
        message,
        Evidence::of(policy, node, "a field that only HTTP has"),
    );
    finding.evidence.extend(odd.clone());
    finding.see(Evidence::of(
        service,
        service.spec_at(["ports"]).unwrap_or(&service.node),
        "the port is TCP",
    ));
    finding.hits(service.id.clone()).hits(ObjectRef::of(
        Kind::Pod,
        &pod.id.namespace,
        &pod.id.name,
    ));
    if odd.is_some() {
        finding.rung = Rung::Config;
        finding.fix(Fix::advice(format!(
            "declare the port of {} as what is spoken there: name it http, or http-…, without another appProtocol",
            service.id
        )));
    }
    if let Some(patch) = without_http(policy, port).filter(|_| odd.is_none()) {
        finding.fix(Fix::patch(&policy.id, patch));
    }
    finding.fix(Fix::advice(
        "name the port http if HTTP is spoken there, else keep rules with HTTP fields to other `ports`",
    ));
}

/// A patch after which the rules for this port say nothing that only HTTP has. A DENY without it
/// would match everything, so it is kept away from the port.
fn without_http(policy: &Object, port: u16) -> Option<Vec<Op>> {
    let mut ops = Vec::new();
    for rule in policy
        .spec_list("rules")
        .iter()
        .filter(|rule| is_for(rule, port))
    {
        let operations = rule
            .get("to")
            .map_or(&[][..], Node::items)
            .iter()
            .filter_map(|to| to.get("operation"));
        if action_of(policy) == "DENY" {
            let path = |operation: &Node| policy.path_of(operation);
            ops.extend(operations.map(|operation| {
                Op::add(format!("{}/notPorts", path(operation)), [port.to_string()])
            }));
            continue;
        }
        let only_http = |operation: &Node| {
            operation
                .members()
                .iter()
                .all(|member| is_http_only(&member.key))
        };
        if let Some(to) = rule.get("to").filter(|_| operations.clone().all(only_http)) {
            ops.push(Op::remove(policy.path_of(to)));
            continue;
        }
        for (_, node) in fields(rule)
            .into_iter()
            .filter(|(field, _)| is_http_only(field))
        {
            ops.push(Op::remove(policy.path_of(node)));
        }
    }
    (!ops.is_empty()).then_some(ops)
}

fn http_field(rule: &Node) -> Option<(&str, &Node)> {
    denial::fields(rule)
        .into_iter()
        .find(|(field, _)| is_http_only(field))
}

/// Whether a rule says nothing of ports, or names this one, and does not leave it out.
fn is_for(rule: &Node, port: u16) -> bool {
    let port = port.to_string();
    let lists = |key: &str| {
        fields(rule)
            .into_iter()
            .filter(|(field, _)| *field == key)
            .collect::<Vec<_>>()
    };
    let has = |named: &[(&str, &Node)]| {
        named.iter().any(|(_, list)| {
            list.items()
                .iter()
                .any(|item| item.str() == Some(port.as_str()))
        })
    };
    let named = lists("ports");
    (named.is_empty() || has(&named)) && !has(&lists("notPorts"))
}

fn names_ports(policy: &Object) -> bool {
    policy
        .spec_list("rules")
        .iter()
        .all(|rule| fields(rule).iter().any(|(field, _)| *field == "ports"))
}
