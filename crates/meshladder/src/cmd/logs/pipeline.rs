//! Reads logs piece by piece and counts, with several threads.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use meshladder_capture::snapshot::{DocId, redact};
use meshladder_judge::logs::{Chunk, Collector, Event, LineFilter, LogFormats, Stats};

use super::BundleContext;
use super::input::LogInput;
use crate::exit::Failure;
use crate::out;

/// What a collector needs.
type Settings<'s> = (&'s LogFormats, &'s LineFilter);

/// Some lines of one log.
struct Piece {
    source: usize,
    first_line: u64,
    bytes: Vec<u8>,
    /// Whether the lines come from a file, in which secrets are still to be found.
    is_raw: bool,
}

/// Pieces are counted in so many lanes, whatever the number of threads: where a count has a limit,
/// what is left out depends on the lanes, and must not depend on the machine.
const LANES: usize = 8;

/// Counts all lines. Also whether a log could not be read to its end.
pub(super) fn count(
    inputs: &[LogInput],
    behind: Option<&BundleContext>,
    settings: Settings<'_>,
    threads: usize,
) -> Result<(Stats, bool), Failure> {
    std::thread::scope(|scope| {
        let (empty, used) = channel();
        let (doors, workers): (Vec<_>, Vec<_>) = (0..threads.clamp(1, LANES))
            .map(|_| {
                let (door, work) = sync_channel(2);
                let empty = empty.clone();
                (door, scope.spawn(move || worker(settings, &work, &empty)))
            })
            .unzip();
        let unread = pieces_to(inputs, behind, &doors, &used);
        drop(doors);
        let mut lanes = BTreeMap::new();
        for worker in workers {
            // A panic in a worker is ours too.
            lanes.extend(
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        let mut stats = Stats::default();
        for (_, lane) in lanes {
            stats.merge(lane);
        }
        Ok((stats, unread?))
    })
}

/// Counts the pieces of some lanes; gives each lane with its counts.
fn worker(
    settings: Settings<'_>,
    work: &Receiver<(usize, Piece)>,
    empty: &Sender<Vec<u8>>,
) -> Vec<(usize, Stats)> {
    let mut lanes: BTreeMap<usize, Collector<'_>> = BTreeMap::new();
    for (lane, mut piece) in work {
        let collector = lanes
            .entry(lane)
            .or_insert_with(|| Collector::new(settings.0, settings.1));
        take(collector, &mut piece);
        // The reader may be gone.
        let _ = empty.send(piece.bytes);
    }
    let finish = |(lane, collector): (usize, Collector<'_>)| (lane, collector.finish());
    lanes.into_iter().map(finish).collect()
}

/// Pieces go round the lanes, and each lane has its worker.
fn pieces_to(
    inputs: &[LogInput],
    behind: Option<&BundleContext>,
    doors: &[SyncSender<(usize, Piece)>],
    used: &Receiver<Vec<u8>>,
) -> Result<bool, Failure> {
    let mut turn = (0..LANES).cycle();
    pieces(inputs, behind, |piece| {
        let lane = turn.next()?;
        doors[lane % doors.len()].send((lane, piece)).ok()?;
        Some(used.try_recv().unwrap_or_default())
    })
}

/// Takes the secrets out of lines that come from a file: those of a bundle have none.
fn clean(piece: &mut Piece) {
    if piece.is_raw {
        redact(&DocId::new("logs/-/-/-.log"), &mut piece.bytes);
    }
}

fn take(collector: &mut Collector<'_>, piece: &mut Piece) {
    clean(piece);
    let Piece {
        source,
        first_line,
        bytes,
        ..
    } = piece;
    let text = text_of(bytes);
    collector.chunk(Chunk {
        source: *source,
        first_line: *first_line,
        text: &text,
    });
}

/// The lossy way is slow even where nothing is lost.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Tells each line, in order, as long as it is wanted. Whether a log could not be read to its end.
pub(super) fn each(
    inputs: &[LogInput],
    behind: Option<&BundleContext>,
    settings: Settings<'_>,
    mut tell: impl FnMut(Event<'_>) -> bool,
) -> Result<bool, Failure> {
    let mut collector = Collector::new(settings.0, settings.1);
    pieces(inputs, behind, |mut piece| {
        clean(&mut piece);
        let Piece {
            source,
            first_line,
            bytes,
            ..
        } = piece;
        let text = text_of(&bytes);
        let mut goes_on = true;
        collector.each(
            Chunk {
                source,
                first_line,
                text: &text,
            },
            |event| goes_on = goes_on && tell(event),
        );
        goes_on.then_some(Vec::new())
    })
}

/// Hands out every log piece by piece until the taker wants no more; it gives a buffer back each
/// time.
fn pieces(
    inputs: &[LogInput],
    behind: Option<&BundleContext>,
    mut take: impl FnMut(Piece) -> Option<Vec<u8>>,
) -> Result<bool, Failure> {
    let mut unread = false;
    let mut bytes = Vec::new();
    for (source, input) in inputs.iter().enumerate() {
        let Some(mut log) = input.open()? else {
            let Some(text) = document(input, behind, &mut unread) else {
                continue;
            };
            if take(Piece {
                source,
                first_line: 1,
                bytes: text,
                is_raw: false,
            })
            .is_none()
            {
                return Ok(unread);
            }
            continue;
        };
        loop {
            match log.fill(&mut bytes) {
                Ok(None) => break,
                Ok(Some(first_line)) => match take(Piece {
                    source,
                    first_line,
                    bytes: std::mem::take(&mut bytes),
                    is_raw: true,
                }) {
                    Some(buffer) => bytes = buffer,
                    None => return Ok(unread),
                },
                Err(error) => {
                    out::warn(&format!(
                        "{} cannot be read to its end: {error}",
                        log.origin()
                    ));
                    unread = true;
                    break;
                }
            }
        }
    }
    Ok(unread)
}

fn document(
    input: &LogInput,
    behind: Option<&BundleContext>,
    unread: &mut bool,
) -> Option<Vec<u8>> {
    let opened = behind?.snapshot.open(&input.document());
    match opened {
        Ok(document) => Some(document.text.as_bytes().to_vec()),
        Err(problem) => {
            out::warn(&problem.to_string());
            *unread = true;
            None
        }
    }
}
