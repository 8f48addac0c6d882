//! What stands between two events of the parser, and is in neither of their spans.

/// Where the first of `wanted` stands between `from` and `to`. Only white space, comments,
/// directives, anchors, tags and the indicators `:`, `-`, `?` and `,` can stand there; anchors and
/// tags are stepped over, as they may contain any of the others.
pub(super) fn find(text: &str, from: usize, to: usize, wanted: [u8; 2]) -> Option<usize> {
    let bytes = &text.as_bytes()[..to];
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            _ if wanted.contains(&byte) => return Some(at),
            b'#' | b'%' => at = skip(bytes, at, |b| b != b'\n'),
            b'&' | b'!' => at = skip(bytes, at, |b| !b.is_ascii_whitespace()),
            _ => at += 1,
        }
    }
    None
}

/// The place behind the `:` that follows a key; right behind the key when there is none.
pub(super) fn behind_colon(text: &str, key_end: usize) -> usize {
    let bytes = text.as_bytes();
    let at = skip(bytes, key_end, |b| matches!(b, b' ' | b'\t'));
    if bytes.get(at) == Some(&b':') {
        at + 1
    } else {
        key_end
    }
}

fn skip(bytes: &[u8], at: usize, over: impl Fn(u8) -> bool) -> usize {
    at + bytes[at..].iter().take_while(|&&b| over(b)).count()
}
