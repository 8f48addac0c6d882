//! Changes of a text, and of a file.

use std::ops::Range;

use meshladder_text::place::Place;

/// Some bytes of a text, and what stands there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The bytes.
    pub range: Range<usize>,
    /// What stands there instead.
    pub text: String,
}

/// What is changed in one file.
#[derive(Clone, Debug)]
pub struct FileEdit {
    /// The file, as the user knows it.
    pub origin: String,
    /// What the change is, in words.
    pub what: String,
    /// Its text.
    pub before: std::sync::Arc<String>,
    /// The changes, in order.
    pub splices: Vec<Splice>,
}

impl FileEdit {
    /// Each change with the place where it starts and where it ends.
    pub fn regions(&self) -> Vec<(Place, Place, String)> {
        let place = |at| Place::of(&self.before, at);
        self.splices
            .iter()
            .map(|s| (place(s.range.start), place(s.range.end), s.text.clone()))
            .collect()
    }
}

/// The text with the splices made. They are in order and do not overlap.
pub fn apply(text: &str, splices: &[Splice]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for splice in splices {
        out.push_str(&text[at..splice.range.start]);
        out.push_str(&splice.text);
        at = splice.range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// In order; what is put at one place stays in the order in which it was said.
///
/// # Errors
/// When two of them overlap.
pub(super) fn sorted(mut splices: Vec<Splice>) -> Result<Vec<Splice>, String> {
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let overlap = splices
        .windows(2)
        .any(|pair| pair[0].range.end > pair[1].range.start);
    if overlap {
        Err("its parts cannot be told apart in the text".to_owned())
    } else {
        Ok(splices)
    }
}
