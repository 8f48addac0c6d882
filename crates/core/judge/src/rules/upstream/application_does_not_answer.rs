//! See the page beside this file.

use crate::finding::{Confidence, Fix, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom, accounts};
use meshladder_capture::Kind;
use meshladder_capture::access_log::{self, AccessLine};
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::PodFacts;
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML1022",
    name: "application-does-not-answer",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "the application answers while its caller waits",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::of(&[
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
    ]),
    explains: &["ML1004", "ML1014", "ML1016"],
    docs: include_str!("application_does_not_answer.md"),
    check: Check::Request(check),
};

/// Nobody is called impatient who waited as long as this.
const PATIENT_MS: u64 = 2000;
/// An answer that took no longer than this came soon.
const SOON_MS: u64 = 1000;

/// What a pod's application made of the requests that its proxy handed to it, since the first that
/// it left waiting.
struct Silence<'r> {
    pod: &'r PodFacts,
    /// The last request that was left waiting.
    last: AccessLine,
    waiting: usize,
    /// Kinds of requests among them, by method and path.
    kinds: usize,
    /// The quickest of the answers that came in the end.
    quickest: Option<u64>,
}

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(silence) = silence(facts, case) else {
        return;
    };
    // A route that waits for a single kind of request may well be too short for it.
    let is_cut = case.client_log.iter().any(|line| line.has("UT"));
    if is_cut && silence.kinds < 2 {
        return;
    }
    tell(facts, case, &silence, out);
}

/// The silence of the application that the request reached: as its own proxy logged it, or, where
/// it has none, the caller's.
fn silence<'r>(facts: &Facts<'r>, case: &'r Case<'_>) -> Option<Silence<'r>> {
    let is_it = |line: &&AccessLine| is_inbound(line) && fits(case, line);
    if let Some(line) = case.server_log.iter().rfind(is_it) {
        let pod = accounts::pod_logging(facts, line)?;
        let stored = facts
            .mesh
            .objects
            .get(Kind::Pod, &pod.namespace, &pod.name)?;
        let log = called_service::proxy_log(facts, stored)?;
        return heard(pod, access_log::lines(&log).filter(is_inbound).collect());
    }
    let told = || case.client_log.iter().chain(&case.witnesses);
    let line = told().rfind(|line| fits(case, line))?;
    let pod = accounts::pod_called(facts, line).filter(|pod| !pod.has_proxy)?;
    let of_pod = |other: &&AccessLine| other.upstream_host == line.upstream_host;
    heard(pod, told().filter(of_pod).cloned().collect())
}

fn is_inbound(line: &AccessLine) -> bool {
    line.cluster.starts_with("inbound|")
}

/// Whether a line is of the end that was asked about.
fn fits(case: &Case<'_>, line: &AccessLine) -> bool {
    let waits = is_waiting(line) || line.duration.is_some_and(|ms| ms >= SOON_MS);
    let is_success = case.seen.is_some_and(Symptom::is_success);
    waits && (is_success || is_waiting(line))
}

/// Whether a request reached the application, which had not answered when its caller gave up.
fn is_waiting(line: &AccessLine) -> bool {
    let gave_up = ["DC", "UT", "DR"].iter().any(|flag| line.has(flag));
    let is_long = line.duration.is_some_and(|ms| ms >= PATIENT_MS);
    gave_up && is_long && !line.upstream_local.is_empty() && !line.method.is_empty()
}

/// None where an answer came soon after the first that was left waiting: then the application
/// works, and that one request takes its time.
fn heard(pod: &PodFacts, lines: Vec<AccessLine>) -> Option<Silence<'_>> {
    let is_answer = |line: &AccessLine| line.details == "via_upstream";
    let is_late = |line: &AccessLine| {
        is_waiting(line) || (is_answer(line) && line.duration.is_some_and(|ms| ms >= SOON_MS))
    };
    let first = lines
        .iter()
        .filter(|line| is_late(line))
        .map(|line| &line.start)
        .min()?
        .clone();
    let since: Vec<AccessLine> = lines
        .into_iter()
        .filter(|line| line.start >= first)
        .collect();
    if since.iter().any(|line| is_answer(line) && !is_late(line)) {
        return None;
    }
    let mut kinds: Vec<(&str, &str)> = since
        .iter()
        .filter(|line| is_late(line))
        .map(|line| (line.method.as_str(), line.path_only()))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kinds = kinds.len();
    let answers = since.iter().filter(|line| is_answer(line));
    let quickest = answers.filter_map(|line| line.duration).min();
    let waiting = since.iter().filter(|line| is_waiting(line)).count();
    let last = since.into_iter().rfind(|line| is_late(line))?;
    Some(Silence {
        pod,
        last,
        waiting,
        kinds,
        quickest,
    })
}

fn tell(facts: &Facts<'_>, case: &Case<'_>, silence: &Silence<'_>, out: &mut Sink) {
    let Silence { pod, last, .. } = silence;
    let waited = last.duration.unwrap_or_default();
    let of_pod = format!(
        "the application of {} in {}",
        pod.workload(),
        pod.reference()
    );
    let message = match silence.quickest {
        Some(quickest) => format!(
            "{of_pod} is slow: no request is answered in less than {quickest} ms, and {} waited {waited} ms",
            accounts::call(case)
        ),
        None => format!(
            "{of_pod} does not answer: {} waited {waited} ms, and nothing was answered since {}",
            accounts::call(case),
            last.start
        ),
    };
    let others = case.servers.iter().filter(|server| server.name != pod.name);
    let others = others
        .filter(|server| server.workload() == pod.workload())
        .count();
    let finding = out.find(pod.workload(), message, accounts::line_shows(last));
    finding.hits(pod.reference());
    if silence.waiting == 0 {
        finding.severity(Severity::Warning);
    }
    // One request may take that long by its nature.
    if silence.kinds < 2 {
        finding.confidence(Confidence::Likely);
    }
    finding.fix(Fix::look(shell::command(
        "kubectl logs {} -n {}",
        &[&pod.name, &pod.namespace],
    )));
    if others > 0 {
        finding.fix(Fix::advice(format!(
            "compare it with the {others} other pods of {}",
            pod.workload()
        )));
    }
    let stored = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
    finding
        .fixes
        .extend(stored.map(|stored| called_service::restart(facts.mesh, stored)));
}
