//! A log that is a file and grows: its end, or what is written to it from now on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use meshladder_text::time::Time;

use super::State;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Where a follower is.
struct Place {
    state: Arc<State>,
    file: PathBuf,
    read: usize,
    cuts: usize,
    stamps: bool,
}

pub(crate) fn log(state: &Arc<State>, file: &Path, query: &[(String, String)]) -> Response {
    let get = |key: &str| {
        query
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    };
    let stamps = get("timestamps") == Some("true");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let tail: usize = get("tailLines")
        .and_then(|lines| lines.parse().ok())
        .unwrap_or(usize::MAX);
    let lines: Vec<&str> = text[..whole].split_inclusive('\n').collect();
    let first = lines[lines.len().saturating_sub(tail)..].concat();
    if get("follow") != Some("true") {
        return stamped(&first, whole - first.len(), stamps).into_response();
    }
    let cuts = state.cuts.load(Ordering::SeqCst);
    let place = Place {
        state: Arc::clone(state),
        file: file.to_owned(),
        read: whole - first.len(),
        cuts,
        stamps,
    };
    Body::from_stream(stream::unfold(place, grown)).into_response()
}

/// The lines that were written since, once there are some; an error after a cut.
async fn grown(mut place: Place) -> Option<(Result<Bytes, std::io::Error>, Place)> {
    loop {
        if place.state.cuts.load(Ordering::SeqCst) != place.cuts {
            place.cuts = usize::MAX;
            return Some((Err(std::io::Error::other("cut")), place));
        }
        let bytes = std::fs::read(&place.file).unwrap_or_default();
        let end = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        if end > place.read {
            let text = String::from_utf8_lossy(&bytes[place.read..end]).into_owned();
            let bytes = Bytes::from(stamped(&text, place.read, place.stamps));
            place.read = end;
            return Some((Ok(bytes), place));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// As the kubelet does: a time before each line, the same whenever the line is read. Here it is
/// where the line begins.
fn stamped(text: &str, mut at: usize, stamps: bool) -> String {
    if !stamps {
        return text.to_owned();
    }
    let mut all = String::new();
    for line in text.split_inclusive('\n') {
        let time = Time {
            seconds: 1_794_000_000,
            nanos: u32::try_from(at).expect("a small log"),
        };
        all.extend([&time.to_string(), " ", line]);
        at += line.len();
    }
    all
}
