//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::accounts;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::access_log::{self, AccessLine};
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_mesh::services::number;
use meshladder_mesh::{Object, PodFacts};
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1003",
    name: "application-not-listening",
    aka: &["IST0143"],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "the application listens where its proxy connects",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::Sidecar,
    ])
    .and(&[Part::Logs]),
    explains: &[],
    docs: include_str!("application_not_listening.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if let Some(case) = case {
        out.examined();
        let told = accounts::of(facts, case)
            .into_iter()
            .find(|told| told.is_of_application() && told.has("UF"));
        if let Some((pod, line)) = told.and_then(|told| Some((told.pod?, told.line?))) {
            accuse(facts, pod, line, out);
        }
        return;
    }
    for pod in facts.mesh.pods.iter().filter(|pod| pod.has_proxy) {
        let log = DocId::new(format!(
            "logs/{}/{}/istio-proxy.log",
            pod.namespace, pod.name
        ));
        let Ok(log) = facts.snapshot.open(&log) else {
            continue;
        };
        out.examined();
        let last = access_log::lines(&log)
            .filter(|line| line.cluster.starts_with("inbound|"))
            .last();
        if let Some(line) = last.filter(|line| line.flags.iter().any(|flag| flag == "UF")) {
            accuse(facts, pod, &line, out);
        }
    }
}

fn accuse(facts: &Facts<'_>, pod: &PodFacts, line: &AccessLine, out: &mut Sink) {
    let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
        return;
    };
    let port = port_of(line);
    let declared = ports(stored);
    if let Some((sidecar, node)) = port.and_then(|port| led_elsewhere(facts, stored, port)) {
        return misled(pod, sidecar, node, port, line, out);
    }
    // A port that the pod does not have at all is the caller's or the Service's mistake.
    if !declared.is_empty()
        && !port.is_some_and(|port| declared.iter().any(|(number, _)| *number == port))
    {
        return;
    }
    let refused = accounts::is_refused(line) || line.failure.contains("111");
    let why = if refused { "refused" } else { "failed" };
    let number = port;
    let port = port.map_or_else(|| "its port".to_owned(), |port| format!("port {port}"));
    let message = format!(
        "nothing listens on {port} at the address of {}: its own proxy's connection to the application is {why}, as when \
         the application is down or bound to 127.0.0.1",
        pod.workload()
    );
    let finding = out.find(pod.workload(), message, accounts::line_shows(line));
    finding.hits(pod.reference());
    for (_, node) in declared {
        finding.see(Evidence::of(stored, node, "a port that the pod declares"));
    }
    if !refused {
        finding.confidence(Confidence::Likely);
    }
    let subject = finding.subject.object();
    let workload = subject.and_then(|object| facts.mesh.objects.find(object));
    for (workload, node, bound) in workload
        .into_iter()
        .flat_map(|workload| loopback(workload, number))
    {
        finding.see(Evidence::of(
            workload,
            node,
            "it is told to listen on the loopback address only",
        ));
        let patch = Fix::patch(&workload.id, [Op::replace(workload.path_of(node), &bound)]);
        finding.fix(patch.unchecked("what the application makes of it, no object tells"));
    }
    finding.fix(Fix::advice(
        "bind the application to 0.0.0.0 (or ::), and see that it runs",
    ));
    finding.fix(Fix::look(shell::command(
        "kubectl exec {} -n {} -- ss -ltn",
        &[&pod.name, &pod.namespace],
    )));
}

/// The Sidecar that leads what comes to a port to another one, which the pod does not declare.
fn led_elsewhere<'r>(
    facts: &Facts<'r>,
    pod: &'r Object,
    port: u16,
) -> Option<(&'r Object, &'r Node)> {
    let sidecar = facts.mesh.scope(pod).sidecar?;
    let is_it = |listener: &&Node| listener.at(["port", "number"]).and_then(number) == Some(port);
    let node = sidecar
        .spec_list("ingress")
        .iter()
        .find(is_it)?
        .get("defaultEndpoint")?;
    let (_, led_to) = node.str()?.rsplit_once(':')?;
    let led_to: u16 = led_to.parse().ok()?;
    let is_declared = ports(pod).iter().any(|(number, _)| *number == led_to);
    (led_to != port && !is_declared).then_some((sidecar, node))
}

fn misled(
    pod: &PodFacts,
    sidecar: &Object,
    node: &Node,
    port: Option<u16>,
    line: &AccessLine,
    out: &mut Sink,
) {
    let port = port.unwrap_or_default();
    let message = format!(
        "{} leads what comes to port {port} of {} to {}, where nothing listens",
        sidecar.id,
        pod.workload(),
        node.str().unwrap_or_default()
    );
    let finding = out.find(
        sidecar.id.clone(),
        message,
        Evidence::of(sidecar, node, "where it leads"),
    );
    finding
        .see(accounts::line_shows(line))
        .hits(pod.reference());
    finding.fix(Fix::patch(
        &sidecar.id,
        [Op::replace(
            sidecar.path_of(node),
            format!("0.0.0.0:{port}"),
        )],
    ));
}

/// `inbound|8080||`
fn port_of(line: &AccessLine) -> Option<u16> {
    line.cluster.split('|').nth(1)?.parse().ok()
}

/// The ports of the pod's own containers.
fn ports(pod: &Object) -> Vec<(u16, &Node)> {
    let own = pod
        .spec_list("containers")
        .iter()
        .filter(|container| container.str_at("name") != Some("istio-proxy"));
    let ports = own.flat_map(|container| container.get("ports").map_or(&[][..], Node::items));
    ports
        .filter_map(|port| Some((number(port.get("containerPort")?)?, port)))
        .collect()
}

/// Settings of a workload that tell the application to listen on the loopback address, and what
/// they should be.
fn loopback(workload: &Object, port: Option<u16>) -> Vec<(&Object, &Node, String)> {
    let containers = workload
        .spec_at(["template", "spec", "containers"])
        .map_or(&[][..], Node::items);
    let env = containers
        .iter()
        .flat_map(|container| container.get("env").map_or(&[][..], Node::items));
    let env = env.filter_map(|env| Some((env.str_at("name")?, env.get("value")?)));
    let args = containers.iter().flat_map(|container| {
        ["command", "args"]
            .into_iter()
            .flat_map(|key| container.get(key).map_or(&[][..], Node::items))
    });
    let args = args.filter_map(|arg| Some((arg.str()?, arg)));
    env.chain(args)
        .filter_map(|(name, node)| Some((workload, node, elsewhere(name, node.str()?, port)?)))
        .collect()
}

/// The setting as it would be for every address: `127.0.0.1:8080`, `--bind=127.0.0.1`. A bare address says
/// what it is for in the name that it is given: many only name what is called.
fn elsewhere(name: &str, value: &str, port: Option<u16>) -> Option<String> {
    let (flag, address) = value
        .rsplit_once('=')
        .map_or(("", value), |(flag, address)| (flag, address));
    let (host, number) = address.rsplit_once(':').unwrap_or((address, ""));
    if !["127.0.0.1", "localhost"].contains(&host) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let is_own = match number.parse::<u16>() {
        Ok(number) => port == Some(number),
        Err(_) => number.is_empty() && ["listen", "bind"].iter().any(|word| name.contains(word)),
    };
    let equals = if flag.is_empty() { "" } else { "=" };
    let colon = if number.is_empty() { "" } else { ":" };
    is_own.then(|| format!("{flag}{equals}0.0.0.0{colon}{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_application_listens_on_is_opened() {
        let opened = |name, value| elsewhere(name, value, Some(8080));
        assert_eq!(opened("LISTEN", "127.0.0.1").as_deref(), Some("0.0.0.0"));
        assert_eq!(
            opened("ADDR", "localhost:8080").as_deref(),
            Some("0.0.0.0:8080")
        );
        assert_eq!(
            opened("--bind=127.0.0.1", "--bind=127.0.0.1").as_deref(),
            Some("--bind=0.0.0.0")
        );
        for (name, value) in [
            ("DB_HOST", "127.0.0.1"),
            ("BIND", "127.0.0.1:9000"),
            ("LISTEN", "0.0.0.0"),
        ] {
            assert_eq!(opened(name, value), None, "{name}={value}");
        }
    }
}
