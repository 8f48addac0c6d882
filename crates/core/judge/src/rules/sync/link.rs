//! Whether a proxy gets what istiod has for it, seen from both ends.

use crate::finding::Evidence;
use crate::fleet::{Stream, Summary, Watch};
use crate::rules::enrolment::is_leaving;
use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_capture::istiod::syncz::SyncStatus;
use meshladder_mesh::services::is_ready;
use meshladder_mesh::{Object, PodFacts};
use meshladder_text::time::Time;

/// A proxy and its streams.
pub(super) struct Link<'f> {
    pub(super) pod: &'f PodFacts,
    pub(super) object: &'f Object,
    pub(super) summary: Option<&'f Summary>,
    /// Its own statistics say that it is not connected.
    disconnected: Option<Evidence>,
    /// Every istiod was asked, and none knows it.
    gone: Option<Evidence>,
    /// Its log says that its stream does not come about.
    pub(super) closed: Option<(Evidence, &'f str)>,
    /// Sent to it, and not acknowledged.
    pub(super) unacknowledged: Vec<Unacknowledged<'f>>,
}

/// A type of resource that a proxy was sent and did not acknowledge.
pub(super) struct Unacknowledged<'f> {
    pub(super) stream: &'f Stream,
    pub(super) kind: &'f str,
    pub(super) watch: &'f Watch,
    /// For how long.
    pub(super) seconds: Option<i64>,
}

/// An acknowledgement takes milliseconds; one that takes longer than this is not on its way.
const PATIENCE: i64 = 30;

/// When several types wait at once, less is enough.
const IMPATIENCE: i64 = 5;

/// A proxy that is not ready yet may not have got round to connecting.
const START: i64 = 60;

/// Every proxy.
pub(super) fn all<'f>(facts: &Facts<'f>) -> impl Iterator<Item = Link<'f>> + use<'f> {
    let facts = *facts;
    let everybody_answered = everybody_answered(&facts);
    let proxies = facts
        .mesh
        .pods
        .iter()
        .filter(|pod| pod.has_proxy && pod.running);
    proxies.filter_map(move |pod| link(&facts, pod, everybody_answered))
}

/// Whether a pod is on the way of the request that was asked about; without one every pod is.
pub(super) fn is_asked_about(case: Option<&Case<'_>>, pod: &PodFacts) -> bool {
    let same = |other: &PodFacts| other.name == pod.name && other.namespace == pod.namespace;
    case.is_none_or(|case| {
        case.client
            .iter()
            .chain(&case.servers)
            .any(|other| same(other))
            || case
                .trace
                .hops
                .iter()
                .any(|hop| hop.proxy.is_of(&pod.namespace, &pod.name))
    })
}

/// Absence from the answers means something only when no answer is missing.
fn everybody_answered(facts: &Facts<'_>) -> bool {
    let istiods = facts.mesh.istiods(None);
    let answered = |istiod: &&Object| !is_ready(istiod) || facts.fleet.answered(&istiod.id.name);
    !facts.fleet.istiods.is_empty() && istiods.iter().all(answered)
}

fn link<'f>(facts: &Facts<'f>, pod: &'f PodFacts, everybody_answered: bool) -> Option<Link<'f>> {
    let object = facts
        .mesh
        .objects
        .get(Kind::Pod, &pod.namespace, &pod.name)?;
    if is_leaving(object) || !is_envoy(object) {
        return None;
    }
    let summary = facts.fleet.proxy(&pod.namespace, &pod.name);
    let now = facts.snapshot.taken_at();
    let is_back = summary.is_some_and(|summary| is_back(summary, now));
    let streams: Vec<&Stream> = facts.fleet.streams_of(&pod.namespace, &pod.name).collect();
    let disconnected = summary
        .and_then(|s| s.connected.as_ref())
        .filter(|(connected, ..)| !connected && !is_back);
    let disconnected = disconnected.map(|(_, doc, line)| {
        Evidence::line(
            doc,
            *line,
            format!("the proxy of {} is not connected to istiod", pod.name),
        )
    });
    let is_unknown = everybody_answered && streams.is_empty() && has_started(object, now);
    let gone = (is_unknown && !is_back).then(|| {
        let shows = format!("istiod has no stream of {}/{}", pod.namespace, pod.name);
        Evidence::document(&facts.fleet.istiods[0], shows)
    });
    let closed = summary
        .filter(|_| streams.is_empty() && !is_back)
        .and_then(|summary| closed(summary, now));
    let unacknowledged = streams
        .iter()
        .flat_map(|stream| unacknowledged(stream, now))
        .collect();
    Some(Link {
        pod,
        object,
        summary,
        disconnected,
        gone,
        closed,
        unacknowledged,
    })
}

/// Whether the proxy came back while the snapshot was taken: istiod closes every stream now and
/// then, and its documents are not all of one moment.
fn is_back(summary: &Summary, now: Option<Time>) -> bool {
    const MOMENT: i64 = 5;
    let at = summary.connected_at.as_deref().and_then(Time::parse);
    now.zip(at)
        .is_some_and(|(now, at)| now.seconds_since(at) <= MOMENT)
}

/// Applications that speak xDS themselves have an agent in the proxy's place, which connects when
/// they ask.
fn is_envoy(pod: &Object) -> bool {
    pod.annotation("inject.istio.io/templates")
        .is_none_or(|templates| !templates.contains("grpc"))
}

/// A ready proxy has had its first configuration, so it was connected.
fn has_started(pod: &Object, now: Option<Time>) -> bool {
    let started = pod
        .node
        .at(["status", "startTime"])
        .and_then(|time| Time::parse(time.str()?));
    is_ready(pod)
        || now
            .zip(started)
            .is_none_or(|(now, started)| now.seconds_since(started) > START)
}

/// The last line that says that the stream does not come about.
fn closed(summary: &Summary, now: Option<Time>) -> Option<(Evidence, &str)> {
    const WORDS: [&str; 5] = [
        "closed since",
        "dial tcp",
        "lookup ",
        "connection error",
        "certificate has expired",
    ];
    const RECENT: i64 = 120;
    let about_stream = |text: &str| {
        ["config stream", "xds", "istiod", "15012", "15010"]
            .iter()
            .any(|w| text.contains(w))
    };
    let is_recent = |text: &str| {
        let time = text.split('\t').next().and_then(Time::parse);
        now.zip(time)
            .is_none_or(|(now, time)| now.seconds_since(time) < RECENT)
    };
    let (doc, line, text) = summary.trouble.iter().rev().find(|(_, _, text)| {
        WORDS.iter().any(|word| text.contains(word)) && about_stream(text) && is_recent(text)
    })?;
    Some((
        Evidence::line(
            doc,
            *line,
            "the proxy's stream to istiod does not come about",
        ),
        text,
    ))
}

fn unacknowledged(stream: &Stream, now: Option<Time>) -> impl Iterator<Item = Unacknowledged<'_>> {
    let stale = stream
        .types
        .iter()
        .filter(|(_, watch)| watch.sync == SyncStatus::Stale);
    stale.map(move |(kind, watch)| {
        let seconds = now
            .zip(Time::parse(&watch.sent_time))
            .map(|(now, sent)| now.seconds_since(sent));
        Unacknowledged {
            stream,
            kind,
            watch,
            seconds,
        }
    })
}

impl Link<'_> {
    /// What shows that the proxy does not get what istiod has, whatever keeps it.
    pub(super) fn signs(&self) -> Vec<Evidence> {
        let mut signs = self.cut();
        signs.extend(self.not_acknowledged(|_| true));
        signs
    }

    /// What shows that it is not connected.
    pub(super) fn cut(&self) -> Vec<Evidence> {
        let closed = self.closed.as_ref().map(|(evidence, _)| evidence);
        [&self.disconnected, &self.gone]
            .into_iter()
            .flatten()
            .chain(closed)
            .cloned()
            .collect()
    }

    /// What it has not acknowledged for too long.
    pub(super) fn stale(&self) -> Option<Evidence> {
        let limit = if self.unacknowledged.len() > 1 {
            IMPATIENCE
        } else {
            PATIENCE
        };
        self.not_acknowledged(|one| one.seconds.is_some_and(|seconds| seconds > limit))
    }

    fn not_acknowledged(&self, counts: impl Fn(&Unacknowledged<'_>) -> bool) -> Option<Evidence> {
        let open = self
            .unacknowledged
            .iter()
            .filter(|one| !self.is_harmless(one) && counts(one));
        let open: Vec<&Unacknowledged<'_>> = open.collect();
        let first = open.first()?;
        let kinds: Vec<&str> = open.iter().map(|one| one.kind).collect();
        let shows = format!(
            "{}: {} sent and not acknowledged",
            self.pod.name,
            kinds.join(", ")
        );
        Some(Evidence::offset(&first.stream.doc, first.stream.at, shows))
    }

    /// Older istiods send routes to a proxy that asked for none and wait for an answer that will
    /// not come.
    pub(super) fn is_harmless(&self, one: &Unacknowledged<'_>) -> bool {
        one.kind == "RDS"
            && !one.watch.ever_acknowledged
            && self.summary.and_then(|summary| summary.has_routes) == Some(false)
    }
}
