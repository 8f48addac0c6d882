//! Log levels of proxies and istiods: asked for, and set for good.

use futures_util::{StreamExt, stream};
use http::Method;
use meshladder_capture::envoy::logging::{LevelChange, LogLevels, QueryStyle};
use meshladder_capture::snapshot::ProxyRef;

use super::api::Cluster;
use super::door::{CONTROLZ, Door, Port};
use super::lack::Lack;
use super::pods::PROXY;
use super::{Choice, Session, gather, runtime};

/// What each pod answered, or why it did not.
pub type Answers = Vec<(ProxyRef, Result<String, String>)>;

/// What is to change on a proxy with these levels.
pub type Plan<'p> = dyn Fn(&ProxyRef, &LogLevels) -> Result<LevelChange, String> + 'p;

impl Session {
    /// The pods that a choice means, of all clusters.
    pub fn chosen(&self, choice: &Choice) -> Vec<ProxyRef> {
        let mut pods = Vec::new();
        for (cluster, seen) in self.clusters.iter().zip(&self.seen) {
            for pod in gather::chosen(cluster, seen, choice) {
                pods.push(reference(cluster, &pod.namespace, &pod.name));
            }
        }
        pods
    }

    /// The istiods that run, of all clusters.
    pub fn istiods(&self) -> Vec<ProxyRef> {
        let mut istiods = Vec::new();
        for (cluster, seen) in self.clusters.iter().zip(&self.seen) {
            for pod in &seen.pods {
                if pod.is_istiod && pod.running {
                    istiods.push(reference(cluster, &pod.namespace, &pod.name));
                }
            }
        }
        istiods
    }

    /// What `/logging` of each proxy tells.
    pub fn levels(&self, pods: &[ProxyRef], port: u16) -> Answers {
        let ask = async |cluster: &Cluster, pod: &ProxyRef| {
            let mut door = Door::open(cluster, admin(pod, port)).await?;
            text(door.ask(&Method::POST, "/logging").await?)
        };
        self.each(pods, "asking proxies", &ask)
    }

    /// Sets levels as they are planned for each proxy, and leaves them so. Gives what `/logging`
    /// tells then.
    pub fn set_levels(&self, pods: &[ProxyRef], port: u16, plan: &Plan<'_>) -> Answers {
        let set = async |cluster: &Cluster, pod: &ProxyRef| {
            let mut door = Door::open(cluster, admin(pod, port)).await?;
            let (text, levels) = told(&mut door).await?;
            let change = plan(pod, &levels).map_err(Lack::Failed)?;
            if change.steps.is_empty() {
                return Ok(text);
            }
            Ok(apply(&mut door, &change).await?.0)
        };
        self.each(pods, "setting levels", &set)
    }

    /// What ControlZ of each istiod tells of its scopes.
    pub fn scopes(&self, istiods: &[ProxyRef]) -> Answers {
        let ask = async |cluster: &Cluster, pod: &ProxyRef| {
            let mut door = Door::open(cluster, controlz(pod)).await?;
            match door.ask(&Method::GET, "/scopej/").await {
                Err(Lack::Absent) => {
                    Err(Lack::failed("it serves no scopes on ControlZ's port 9876"))
                }
                answer => text(answer?),
            }
        };
        self.each(istiods, "asking istiods", &ask)
    }

    /// Puts scopes of an istiod: the name of each, and what ControlZ is to be told.
    ///
    /// # Errors
    /// Why it could not be told, in words.
    pub fn set_scopes(&self, istiod: &ProxyRef, scopes: &[(String, String)]) -> Result<(), String> {
        let set = async |cluster: &Cluster, pod: &ProxyRef| {
            let mut door = Door::open(cluster, controlz(pod)).await?;
            for (name, body) in scopes {
                let path = format!("/scopej/{}", super::list::escaped(name));
                door.send(&Method::PUT, &path, body.clone().into_bytes())
                    .await?;
            }
            Ok(String::new())
        };
        let answers = self.each(std::slice::from_ref(istiod), "setting scopes", &set);
        answers
            .into_iter()
            .try_for_each(|(_, answer)| answer.map(drop))
    }

    fn each(
        &self,
        pods: &[ProxyRef],
        what: &str,
        ask: &impl AsyncFn(&Cluster, &ProxyRef) -> Result<String, Lack>,
    ) -> Answers {
        self.pace.tally.begin(what, pods.len());
        let mut answers: Answers = runtime::run(async {
            let one = |pod: ProxyRef| async move {
                let answer = match self.cluster_of(&pod) {
                    Some(cluster) => ask(cluster, &pod).await.map_err(|lack| lack.why()),
                    None => Err(format!("there is no cluster `{}`", pod.source)),
                };
                self.pace.tally.done(what);
                (pod, answer)
            };
            stream::iter(pods.to_vec())
                .map(one)
                .buffer_unordered(self.pace.concurrency())
                .collect()
                .await
        });
        answers.sort_by(|(a, _), (b, _)| a.cmp(b));
        answers
    }

    pub(crate) fn cluster_of(&self, pod: &ProxyRef) -> Option<&Cluster> {
        self.clusters
            .iter()
            .find(|cluster| cluster.source == pod.source)
    }
}

/// The levels of the proxy behind a door, as told and as read.
pub(crate) async fn told(door: &mut Door<'_>) -> Result<(String, LogLevels), Lack> {
    let text = text(door.ask(&Method::POST, "/logging").await?)?;
    let levels = LogLevels::parse(&text).ok_or_else(|| no_envoy(&text))?;
    Ok((text, levels))
}

/// Makes a change; gives the last answer, and how several components had to be named.
pub(crate) async fn apply(
    door: &mut Door<'_>,
    change: &LevelChange,
) -> Result<(String, QueryStyle), Lack> {
    match set(door, &change.queries(QueryStyle::Paths)).await {
        // "unknown logger name": an Envoy that does not know `paths` takes it for one.
        Err(Lack::Failed(_)) if door.is_open() && change.queries(QueryStyle::Single).len() > 1 => {
            set(door, &change.queries(QueryStyle::Single))
                .await
                .map(|text| (text, QueryStyle::Single))
        }
        answer => answer.map(|text| (text, QueryStyle::Paths)),
    }
}

/// Asks `/logging` for each of these.
pub(crate) async fn set(door: &mut Door<'_>, queries: &[String]) -> Result<String, Lack> {
    let mut last = String::new();
    for query in queries {
        last = text(
            door.ask(&Method::POST, &format!("/logging?{query}"))
                .await?,
        )?;
        LogLevels::parse(&last).ok_or_else(|| no_envoy(&last))?;
    }
    Ok(last)
}

fn no_envoy(text: &str) -> Lack {
    let first = text.lines().next().unwrap_or_default();
    Lack::failed(format!("/logging did not list loggers: {first}"))
}

fn text(bytes: Vec<u8>) -> Result<String, Lack> {
    String::from_utf8(bytes).map_err(|_| Lack::failed("the answer is not text"))
}

pub(crate) fn admin(pod: &ProxyRef, number: u16) -> Port<'_> {
    Port {
        namespace: &pod.namespace,
        pod: &pod.pod,
        number,
        agent: (PROXY, "pilot-agent"),
    }
}

fn controlz(pod: &ProxyRef) -> Port<'_> {
    Port::istiod(&pod.namespace, &pod.pod, CONTROLZ)
}

fn reference(cluster: &Cluster, namespace: &str, pod: &str) -> ProxyRef {
    ProxyRef {
        source: cluster.source.clone(),
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
    }
}
