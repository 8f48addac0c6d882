//! Logs of running pods: their ends, or as they are written.

use meshladder_capture::Kind;
use std::io::Write;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use meshladder_capture::envoy::dump::Section;
use meshladder_capture::snapshot::{DocId, Need, Part, ProxyRef, Shape, Snapshot};
use meshladder_collect::live::{Choice, Logs as Wish, ProxyWish, Purpose, Session};
use meshladder_judge::logs::{Chunk, Collector, Event, LineFilter, LogFormats, Stats};
use meshladder_mesh::Mesh;
use meshladder_sim::walk::Call;
use meshladder_text::time::Time;

use super::input::LogInput;
use super::{BundleContext, print_event};
use crate::args::Global;
use crate::args::logs::Logs;
use crate::cmd::live;
use crate::cmd::log_level::pods;
use crate::exit::{Failure, UNREADABLE};
use crate::{out, progress};

/// So many bytes of each log at most.
const MOST: u64 = 64 << 20;

/// The pods whose logs are meant, and what is behind them.
pub(super) struct Live {
    session: Session,
    pods: Vec<ProxyRef>,
}

/// Finds the pods that the words name. What was read to find them is behind their logs, with the
/// formats that the mesh's settings name and that one proxy of each writes; for `--why` also the
/// objects that it may have to do with.
pub(super) fn find(global: &Global, args: &Logs) -> Result<(Live, Snapshot), Failure> {
    let mut session = live::connect(global)?;
    let namespace = global
        .namespace
        .clone()
        .unwrap_or_else(|| session.namespace().to_owned());
    let snapshot = if args.why {
        session.objects(&live::wish(global, Purpose::Why, None))?
    } else {
        let more = [Kind::Pod, Kind::ConfigMap].map(Need::Objects);
        pods::read(&mut session, global, &args.what, &namespace, &more)?
    };
    let (mut all, mut firsts) = (Vec::new(), Vec::new());
    for target in pods::parsed(&args.what, &namespace)? {
        let pods = pods::running(&session, &snapshot, &target)?;
        firsts.extend(pods.first().cloned());
        all.extend(pods);
    }
    all.dedup();
    let formats = live::of_documents(Shape::ConfigDump, &[Section::Listeners], live::ADMIN);
    let snapshot = session.proxies(
        snapshot,
        &ProxyWish {
            choice: Choice::These(firsts),
            ..formats
        },
    )?;
    Ok((Live { session, pods: all }, snapshot))
}

impl Live {
    /// The ends of the logs, put into the Snapshot.
    pub(super) fn read(&mut self, snapshot: Snapshot, args: &Logs) -> Result<Snapshot, Failure> {
        let snapshot = self.session.logs(snapshot, &self.pods, &wish(args))?;
        if let Some(why) = snapshot.coverage(&Need::Part(Part::Logs)).why() {
            out::warn(why);
        }
        Ok(snapshot)
    }

    /// The logs that could be read.
    pub(super) fn inputs(&self, behind: &BundleContext) -> Result<Vec<LogInput>, Failure> {
        let ids = self
            .pods
            .iter()
            .map(document)
            .filter(|id| behind.snapshot.ids().any(|other| other == id));
        let inputs: Vec<LogInput> = ids.map(LogInput::Document).collect();
        if inputs.is_empty() {
            Err(Failure::new(UNREADABLE, "no log could be read"))
        } else {
            Ok(inputs)
        }
    }

    /// The proxies that questions meet, read as well.
    pub(super) fn along(
        mut self,
        behind: BundleContext,
        calls: &[Call],
    ) -> Result<BundleContext, Failure> {
        let mut snapshot = behind.snapshot;
        for call in calls {
            let ask = |_: &Snapshot, _: &Mesh| Some(call.clone());
            snapshot = live::along(&mut self.session, snapshot, &ask, Wish::default())?;
        }
        Ok(self::behind(snapshot))
    }

    /// The logs that are followed.
    pub(super) fn followed(&self) -> Vec<LogInput> {
        self.pods
            .iter()
            .map(document)
            .map(LogInput::Document)
            .collect()
    }

    /// Prints lines as they come; gives what they come to, and whether a log could not be read.
    pub(super) fn follow(
        &self,
        args: &Logs,
        inputs: &[LogInput],
        (formats, filter): (&LogFormats, &LineFilter),
    ) -> Result<(Stats, bool), Failure> {
        progress::stop();
        let (sender, receiver) = sync_channel(256);
        let printed = std::thread::scope(|scope| {
            let printer = scope.spawn(|| {
                let mut collector = Collector::new(formats, filter);
                let mut next: Vec<u64> = vec![1; inputs.len()];
                let mut out = out::stdout();
                for (source, text) in receiver {
                    let text: String = text;
                    let chunk = Chunk {
                        source,
                        first_line: next[source],
                        text: &text,
                    };
                    next[source] += text.lines().count() as u64;
                    let mut written = Ok(());
                    collector.each(chunk, |event: Event<'_>| {
                        if written.is_ok() {
                            written = print_event(&mut out, args, true, inputs, &event);
                        }
                    });
                    written.and_then(|()| out.flush())?;
                }
                Ok::<_, std::io::Error>(collector.finish())
            });
            let ended = self
                .session
                .follow(&self.pods, &wish(args), args.time, &sender);
            drop(sender);
            (
                printer
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                ended,
            )
        });
        let (stats, ended) = printed;
        for (pod, why) in &ended {
            out::warn(&format!("{pod}: {why}"));
        }
        Ok((stats?, !ended.is_empty()))
    }
}

/// Where a bundle has the log of a pod's proxy.
fn document(pod: &ProxyRef) -> DocId {
    let id = DocId::new(format!(
        "logs/{}/{}/istio-proxy.log",
        pod.namespace, pod.pod
    ));
    if pod.source.is_empty() {
        id
    } else {
        id.in_source(&pod.source)
    }
}

fn wish(args: &Logs) -> Wish {
    let since = args.filters.since.as_deref().and_then(ago);
    Wish {
        tail: args.tail,
        since,
        max_bytes: MOST,
        all: false,
    }
}

/// How long ago a filter's time is: what is older need not be read.
fn ago(text: &str) -> Option<Duration> {
    let Some(then) = Time::parse(text) else {
        return super::filter::seconds(text)
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map(Duration::from_secs);
    };
    let seconds = super::filter::now()?.seconds - then.seconds;
    Some(Duration::from_secs(u64::try_from(seconds).ok()? + 1))
}

/// The Snapshot and its index.
pub(super) fn behind(snapshot: Snapshot) -> BundleContext {
    let mesh = Mesh::build(&snapshot);
    BundleContext { snapshot, mesh }
}

/// When a word is neither a file nor a pod.
pub(super) fn no_such(word: &str, failure: Failure) -> Failure {
    let message = format!("there is no file `{word}`, and {}", failure.message());
    failure.with_message(message)
}
