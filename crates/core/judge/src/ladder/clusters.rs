//! The climb over several clusters: each is judged by itself, on its own objects, then what joins
//! them; one root cause of all of it comes first.

use super::attribute::{self, Attribution};
use super::logged::{self, LoggedFailure};
use super::raise::{self, RuleAnswer};
use super::weigh::{self, WeighedFindings};
use super::{ClimbContext, Question, Scope, climbed, compose, verify};
use crate::finding::{Finding, Fix, MissingFact, Rung, Severity, Subject, Trial};
use crate::report::{self, Report, Verdict};
use crate::rules::{self, Check, CrossedRequest, Crossing, Lens, Rule};
use meshladder_capture::snapshot::Snapshot;
use meshladder_mesh::schema::Faults;
use meshladder_mesh::{Cluster, Clusters};
use meshladder_sim::trace::{Branch, End, EndKind, Hop, Trace};
use meshladder_sim::walk::{Call, Caller, Detail, OpenedDocuments, Principal, trace_across};

/// Climbs the whole ladder. `home` is where the question is asked; without it, it is asked of every
/// cluster.
pub fn climb_clusters(
    whole: &Snapshot,
    clusters: &Clusters,
    home: Option<&Cluster>,
    question: &Question,
) -> Report {
    climb_clusters_along(whole, clusters, home, question, None)
}

/// Climbs for a request whose walk is known already.
pub fn climb_clusters_along(
    whole: &Snapshot,
    clusters: &Clusters,
    home: Option<&Cluster>,
    question: &Question,
    walked: Option<Trace>,
) -> Report {
    let rules = climbed();
    let crossed = question
        .scope
        .call()
        .zip(home)
        .map(|(call, home)| match walked {
            Some(trace) => (trace, vec![OpenedDocuments::new(); clusters.count()]),
            None => trace_across(clusters, home, call, Detail::Steps),
        });
    let request =
        question
            .scope
            .call()
            .zip(home)
            .zip(crossed.as_ref())
            .map(|((call, home), (trace, _))| CrossedRequest {
                home,
                call,
                trace,
                seen: question.seen.as_ref(),
            });
    let mut pool = Pool::default();
    for (at, cluster) in clusters.iter().enumerate() {
        let is_home = home.is_none_or(|home| home.name == cluster.name);
        let Some(asked) = asked_of(cluster, is_home, question, request.as_ref()) else {
            continue;
        };
        let walked = crossed
            .as_ref()
            .map(|(trace, opened)| (seen_in(cluster, is_home, trace), opened[at].clone()));
        pool.climb(&rules, cluster, is_home, &asked, walked.as_ref());
    }
    pool.join(&rules, &Crossing { clusters, request }, &question.scope);
    pool.ask_failures(whole, clusters, question.threads);
    let (answers, attribution) = pool.attribute(whole);
    let coverage = compose::coverage(&rules, Lens::Mesh, whole);
    let about = question.scope.in_words();
    Report {
        question: question.scope.topic(question.seen.as_ref()),
        about: match home {
            Some(home) => format!("{about} in cluster {}", home.name),
            None => about,
        },
        cluster: home.map(|home| home.name.clone()),
        clusters: clusters.by_source(),
        taken_at: whole.taken_at(),
        verdict: attribution.verdict,
        rungs: compose::rungs(&answers, &attribution.findings, &coverage),
        coverage,
        unknown: attribution.missing,
        findings: report::tell(attribution.findings, whole),
    }
}

/// What every cluster comes to.
#[derive(Default)]
struct Pool {
    answers: Vec<RuleAnswer>,
    findings: Vec<Finding>,
    missing: Vec<MissingFact>,
    unexplained: Option<MissingFact>,
    /// Requests that failed, by the name of the caller's cluster.
    failures: Vec<(String, LoggedFailure)>,
}

impl Pool {
    /// Climbs in one cluster.
    fn climb(
        &mut self,
        rules: &[&'static Rule],
        cluster: &Cluster,
        is_home: bool,
        question: &Question,
        walked: Option<&(Trace, OpenedDocuments)>,
    ) {
        let (snapshot, mesh) = (&cluster.snapshot, &cluster.mesh);
        let (fleet, of_proxies) = raise::visit_proxies(rules, snapshot, mesh, question, walked);
        let faults = Faults::default();
        let context = ClimbContext::new(question, snapshot, mesh, &fleet, &faults, walked);
        let mut answers = raise::raise(rules, of_proxies, &context);
        // What the server's side cannot tell without the caller's, the caller's cluster tells; and
        // the caller's side knows nothing of servers in another.
        let is_left = is_home && walked.is_some_and(|(trace, _)| has_left(trace));
        if !is_home || is_left {
            for answer in &mut answers {
                answer.sink.unknown.clear();
            }
        }
        let WeighedFindings(mut findings) = weigh::weigh(&answers, &context);
        // Of the server's side only what bears on the request is told: whose identity comes and how
        // it ends, the caller's side knows better.
        if !is_home {
            findings.retain(|finding| finding.is_loud() && finding.subject != Subject::Request);
        } else if is_left {
            findings.retain(|finding| finding.is_loud() || finding.rung != Rung::Upstream);
        }
        verify::each(&mut findings, &context);
        let case = context.case.as_ref();
        let mut missing = attribute::missing(&answers, &question.scope, case, Vec::new());
        missing.extend(question.scope.unread(&context.facts));
        for fact in missing {
            let told = MissingFact::Other(format!("{fact} in cluster {}", cluster.name));
            self.missing.push(told);
        }
        if is_home {
            self.unexplained = case.and_then(attribute::unexplained);
        }
        if question.scope.call().is_none() {
            let failed = logged::calls(&context.facts, &question.scope);
            let failed = failed.into_iter().map(|one| (cluster.name.clone(), one));
            self.failures.extend(failed);
        }
        for mut finding in findings {
            place(&mut finding, cluster);
            self.findings.push(finding);
        }
        self.answers.extend(answers);
    }

    /// Asks the rules about what joins the clusters.
    fn join(&mut self, rules: &[&'static Rule], crossing: &Crossing<'_>, scope: &Scope) {
        if matches!(scope, Scope::Request(_)) && crossing.request.is_none() {
            return;
        }
        for &rule in rules {
            let Check::Clusters(check) = rule.check else {
                continue;
            };
            let lacking = crossing.clusters.iter().find_map(|cluster| {
                raise::lacking(rule, Lens::Mesh, &cluster.snapshot, &cluster.mesh)
            });
            let mut answer = RuleAnswer::new(rule, lacking);
            if answer.skipped.is_none() {
                answer.take(raise::guarded(rule, |sink| check(crossing, sink)));
            }
            self.missing.extend(answer.missing());
            self.missing.append(&mut answer.sink.unknown);
            for mut finding in answer.sink.findings.clone() {
                settle(&mut finding);
                weigh_for(&mut finding, scope);
                self.findings.push(finding);
            }
            self.answers.push(answer);
        }
    }

    /// Asks about the requests that proxies say failed: what joins the clusters may be why.
    fn ask_failures(&mut self, whole: &Snapshot, clusters: &Clusters, threads: usize) {
        for (name, failure) in std::mem::take(&mut self.failures) {
            let Some(home) = clusters.find(&name) else {
                continue;
            };
            let LoggedFailure {
                call,
                seen,
                mut proof,
            } = failure;
            let question = Question {
                scope: Scope::Request(Box::new(call)),
                seen: Some(seen),
                threads,
            };
            let report = climb_clusters(whole, clusters, Some(home), &question);
            let first = report.findings.into_iter().map(|told| told.finding).next();
            let Some(mut root) = first.filter(|root| root.is_loud() && is_of_joints(root)) else {
                continue;
            };
            proof.doc = home.whole_id(&proof.doc);
            root.see(proof);
            self.findings.retain(|known| known.id() != root.id());
            self.findings.push(root);
        }
    }

    /// Tells causes from symptoms over all clusters.
    fn attribute(mut self, whole: &Snapshot) -> (Vec<RuleAnswer>, Attribution) {
        let mut findings = self.findings;
        attribute::causes(&mut findings);
        let mut missing = attribute::unsettled(&mut findings);
        missing.append(&mut self.missing);
        let is_loud = findings.iter().any(Finding::is_loud);
        if missing.is_empty() && !is_loud {
            missing.extend(self.unexplained);
        }
        let verdict = match (is_loud, missing.is_empty()) {
            (true, _) => Verdict::Broken,
            (false, true) => Verdict::Healthy,
            (false, false) => Verdict::Undecided,
        };
        if verdict == Verdict::Undecided {
            findings.push(attribute::not_readable(&missing, whole));
            attribute::causes(&mut findings);
        }
        self.answers.sort_by_key(|answer| answer.rule.code);
        let attribution = Attribution {
            findings,
            missing,
            verdict,
        };
        (self.answers, attribution)
    }
}

/// Whether a request ends in other clusters than the one whose part of the walk this is.
fn has_left(trace: &Trace) -> bool {
    let mut branches = trace.branches.iter();
    !trace.branches.is_empty() && branches.all(|branch| branch.end.in_cluster.is_some())
}

fn is_of_joints(finding: &Finding) -> bool {
    rules::named(finding.code).is_some_and(|rule| matches!(rule.check, Check::Clusters(_)))
}

/// What a cluster is asked: the question itself, or, of another than the caller's, the server's
/// side of it.
fn asked_of(
    cluster: &Cluster,
    is_home: bool,
    question: &Question,
    request: Option<&CrossedRequest<'_>>,
) -> Option<Question> {
    let scope = match &question.scope {
        Scope::Mesh if is_home => Scope::Mesh,
        Scope::Namespace(namespace) if is_home => Scope::Namespace(namespace.clone()),
        Scope::Workload { object, pods } if is_home => Scope::Workload {
            object: object.clone(),
            pods: pods.clone(),
        },
        Scope::Object(object) if is_home => Scope::Object(object.clone()),
        Scope::Request(call) if is_home => Scope::Request(call.clone()),
        Scope::Request(call) => {
            let request = request?;
            request
                .service_in(cluster)
                .filter(|_| request.may_reach(cluster))?;
            Scope::Request(Box::new(at_server(call, request.home)))
        }
        Scope::Mesh | Scope::Namespace(_) | Scope::Workload { .. } | Scope::Object(_) => {
            return None;
        }
    };
    Some(Question {
        scope,
        seen: question.seen.clone(),
        threads: question.threads,
    })
}

/// The call as the server's cluster gets it: from somebody with the caller's identity.
fn at_server(call: &Call, home: &Cluster) -> Call {
    let mut call = call.clone();
    if let Caller::Pod { namespace, name } = &call.from
        && call.principal.is_none()
        && let Some(pod) = home.mesh.pod(namespace, name)
        && pod.has_proxy
        && let Some(trust_domain) = home.mesh.config.trust_domains.first()
    {
        let identity = Principal::of(trust_domain, namespace, &pod.service_account);
        call.principal = Some(identity);
    }
    if let (Caller::Pod { namespace, .. }, false) = (&call.from, call.to.host.contains('.')) {
        call.to.host = format!("{}.{namespace}", call.to.host);
    }
    call.from = Caller::Somebody;
    call
}

/// The part of a walk that is in a cluster. To the caller's own cluster, what went on into another
/// has left it well.
fn seen_in(cluster: &Cluster, is_home: bool, trace: &Trace) -> Trace {
    let is_here = |place: &Option<String>| place.as_deref() == Some(&cluster.name);
    let mut branches: Vec<Branch> = Vec::new();
    for branch in &trace.branches {
        let in_cluster = &branch.end.in_cluster;
        if is_home && in_cluster.is_some() && !is_here(in_cluster) {
            let mut end = End::new(
                EndKind::Forwarded,
                200,
                "via_upstream",
                "it goes on into another cluster",
            );
            end.in_cluster.clone_from(in_cluster);
            branches.push(Branch {
                end,
                ..branch.clone()
            });
        } else if is_here(in_cluster) || (is_home && in_cluster.is_none()) {
            branches.push(branch.clone());
        }
    }
    let mut hops: Vec<Hop> = trace.hops.clone();
    hops.retain(|hop| is_here(&hop.in_cluster));
    if !is_home {
        // What ends at the gateway for want of a listener or an endpoint never comes to a server,
        // and is told by what joins the clusters.
        branches.retain(|branch| {
            let kind = branch.end.kind;
            let ends_early = [EndKind::NoListener, EndKind::Reset, EndKind::NoEndpoints];
            branch.end.code != 0 || !ends_early.contains(&kind)
        });
        if branches.is_empty() {
            hops.clear();
        }
    }
    let nowhere = || End::new(EndKind::Forwarded, 200, "", "it does not come here");
    Trace {
        hops,
        outcome: branches.first().map_or_else(nowhere, |b| b.end.clone()),
        branches,
    }
}

/// Says which cluster a finding is of, and calls its documents as the whole Snapshot does.
fn place(finding: &mut Finding, cluster: &Cluster) {
    finding.cluster = Some(cluster.name.clone());
    for evidence in &mut finding.evidence {
        evidence.doc = cluster.whole_id(&evidence.doc);
    }
    for fix in &mut finding.fixes {
        in_context(fix, &cluster.name);
    }
}

/// A finding of what joins clusters has its documents right; its fixes are for its own cluster.
fn settle(finding: &mut Finding) {
    let cluster = finding.cluster.clone().unwrap_or_default();
    for fix in &mut finding.fixes {
        in_context(fix, &cluster);
        if fix.change.is_some() {
            fix.trial = Trial::Untried("it takes more than one cluster to try it".to_owned());
        }
    }
}

/// Commands say which cluster they are for.
fn in_context(fix: &mut Fix, cluster: &str) {
    let mut lines = Vec::new();
    for line in fix.text.lines() {
        let told = ["kubectl ", "meshladder "].iter().find_map(|program| {
            let rest = line.strip_prefix(program)?;
            (!rest.contains("--context")).then(|| format!("{program}--context {cluster} {rest}"))
        });
        lines.push(told.unwrap_or_else(|| line.to_owned()));
    }
    fix.text = lines.join("\n");
}

/// What joins the clusters bears on a namespace, workload or object that it names.
fn weigh_for(finding: &mut Finding, scope: &Scope) {
    let bears = match scope {
        Scope::Mesh | Scope::Request(_) => true,
        Scope::Namespace(namespace) => finding.subject.namespace() == namespace,
        Scope::Workload { object, .. } | Scope::Object(object) => finding.subject == *object,
    };
    if !bears {
        finding.severity = Severity::Info;
    }
}
