//! `analyze`: the rules that judge what objects say, whether traffic meets it or not.

use super::attribute::missing;
use super::raise::{RuleAnswer, lacking, run};
use super::{Choice, Scope, choice, compose, verify};
use crate::finding::{Finding, Severity};
use crate::fleet::Fleet;
use crate::report::{self, Report, Topic, Verdict};
use crate::rules::{self, Facts, Lens, Rule};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, Need, Snapshot};
use meshladder_mesh::schema::Faults;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::parallel;

/// What is asked of the objects.
#[derive(Debug)]
pub struct Analysis {
    /// Only findings of this namespace, and of what is in none.
    pub namespace: Option<String>,
    /// Findings that are not told: a code, and the object as `Kind namespace/name`, in which `*`
    /// stands for anything.
    pub suppress: Vec<(String, String)>,
    /// Only findings at least this bad.
    pub least: Severity,
    /// Which rules are run.
    pub choice: Choice,
    /// How many threads may run them.
    pub threads: usize,
}

impl Default for Analysis {
    fn default() -> Self {
        Self {
            namespace: None,
            suppress: Vec::new(),
            least: Severity::Info,
            choice: Choice::default(),
            threads: 1,
        }
    }
}

/// "resources in kube-system, kube-public, kube-node-lease, local-path-storage are ignored"
const IGNORED: [&str; 4] = [
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "local-path-storage",
];

/// The annotation that lists codes, or `*`, not to be told of an object.
const SUPPRESS: &str = "galley.istio.io/analyze-suppress";

/// Judges the objects.
pub fn analyze(snapshot: &Snapshot, mesh: &Mesh, analysis: &Analysis) -> Report {
    let fleet = Fleet::of_istiods(snapshot);
    let faults = Faults::default();
    let facts = Facts {
        snapshot,
        mesh,
        fleet: &fleet,
        faults: &faults,
    };
    let rules: Vec<&'static Rule> = chosen(analysis).collect();
    let answers = parallel::each(&rules, analysis.threads, |rule| {
        run(rule, &facts, Lens::Objects)
    });
    let mut answers: Vec<RuleAnswer> = answers.into_iter().flatten().collect();
    let mut findings: Vec<Finding> = Vec::new();
    for answer in &mut answers {
        findings.append(&mut answer.sink.findings);
    }
    findings.retain(|finding| analysis.tells(finding, mesh));
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    findings.dedup_by(|a, b| a.id() == b.id() && a.message == b.message);
    verify::together(&mut findings, &facts);
    let coverage = compose::coverage(&rules, Lens::Objects, snapshot);
    let is_broken = answers.iter().any(|answer| answer.broke);
    Report {
        question: Topic::Objects,
        about: "the objects".to_owned(),
        cluster: None,
        clusters: std::collections::BTreeMap::new(),
        taken_at: snapshot.taken_at(),
        verdict: if findings.iter().any(Finding::is_loud) {
            Verdict::Broken
        } else if is_broken {
            Verdict::Undecided
        } else {
            Verdict::Healthy
        },
        rungs: compose::rungs(&answers, &findings, &coverage),
        coverage,
        unknown: missing(&answers, &Scope::Mesh, None, Vec::new()),
        findings: report::tell(findings, snapshot),
    }
}

/// The rules that are not run, each with what it cannot do without.
pub fn skipped(
    snapshot: &Snapshot,
    mesh: &Mesh,
    analysis: &Analysis,
) -> Vec<(&'static Rule, Need, Coverage)> {
    let lacks = |rule: &'static Rule| {
        lacking(rule, Lens::Objects, snapshot, mesh).map(|(need, coverage)| (rule, need, coverage))
    };
    chosen(analysis).filter_map(lacks).collect()
}

/// Rules that judge by traffic alone are not run here.
pub fn chosen(analysis: &Analysis) -> impl Iterator<Item = &'static Rule> {
    rules::all().filter(|rule| rule.is_of_objects() && analysis.choice.has(rule))
}

/// What runs in a cluster, or a cluster makes itself: directories of configuration leave it out.
const RUNNING: [Kind; 9] = [
    Kind::Pod,
    Kind::Service,
    Kind::Namespace,
    Kind::Node,
    Kind::Secret,
    Kind::ServiceAccount,
    Kind::Deployment,
    Kind::EndpointSlice,
    Kind::GatewayClass,
];

/// Objects in files are judged as if they were all there is. But files that hold nothing that runs
/// say nothing about what does; a Gateway is then for the ingress gateway that is assumed.
pub(super) fn is_not_in_files(rule: &Rule, kind: Kind, mesh: &Mesh) -> bool {
    let is_assumed = rule.needs(Lens::Objects).kinds().contains(&Kind::Gateway)
        && [Kind::Pod, Kind::Service].contains(&kind);
    let has_clusters = !mesh.clusters.is_empty();
    RUNNING.contains(&kind)
        && !is_assumed
        && !has_clusters
        && !RUNNING.iter().any(|kind| mesh.objects.has_any(*kind))
}

/// istioctl's order: level, code, kind, name, namespace, text.
fn order(finding: &Finding) -> (Severity, &'static str, &str, &str, &str, &str) {
    let subject = &finding.subject;
    (
        finding.severity,
        rules::shown_code(finding),
        subject.kind(),
        subject.name(),
        subject.namespace(),
        &finding.message,
    )
}

impl Analysis {
    fn tells(&self, finding: &Finding, mesh: &Mesh) -> bool {
        // A rule that broke is told whatever was asked for.
        let Some(subject) = finding.subject.object() else {
            return finding.severity <= self.least;
        };
        let namespace = if subject.is(Kind::Namespace) {
            &subject.name
        } else {
            &subject.namespace
        };
        let is_asked = self
            .namespace
            .as_ref()
            .is_none_or(|wanted| namespace.is_empty() || namespace == wanted);
        // What was only assumed cannot be changed, and is in no file.
        let is_assumed = mesh.objects.find(subject).is_some_and(Object::is_assumed);
        finding.severity <= self.least
            && self.choice.tells(finding)
            && is_asked
            && !is_assumed
            && !IGNORED.contains(&namespace.as_str())
            && !self
                .suppress
                .iter()
                .any(|(code, object)| is_coded(finding, code) && covers(object, subject))
            && !is_suppressed(finding, subject, mesh)
    }
}

fn is_suppressed(finding: &Finding, subject: &ObjectRef, mesh: &Mesh) -> bool {
    let codes = mesh
        .objects
        .find(subject)
        .and_then(|object| object.annotation(SUPPRESS))
        .unwrap_or_default();
    codes
        .split(',')
        .map(str::trim)
        .any(|code| code == "*" || is_coded(finding, code))
}

/// Ours, one that was given up for it, or another tool's code for the same.
fn is_coded(finding: &Finding, code: &str) -> bool {
    choice::codes(finding).any(|own| own.eq_ignore_ascii_case(code))
}

fn covers(pattern: &str, object: &ObjectRef) -> bool {
    let text = object.to_string();
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_in_an_object() {
        let object = ObjectRef::of(Kind::VirtualService, "shop", "catalog");
        for (pattern, holds) in [
            ("VirtualService shop/catalog", true),
            ("*", true),
            ("VirtualService *", true),
            ("* shop/cat*", true),
            ("*shop*log", true),
            ("Gateway *", false),
            ("VirtualService shop/cat", false),
            ("*shop/catalog*log", false),
        ] {
            assert_eq!(covers(pattern, &object), holds, "{pattern}");
        }
    }
}
