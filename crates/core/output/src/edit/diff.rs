//! Changes of a file as a unified diff, which `patch` and `git apply` take.

use similar::TextDiff;

use super::splice::{Splice, apply};

/// How many lines around a change are shown.
const CONTEXT: usize = 3;

/// The splices of a file as a unified diff; nothing when there are none.
pub fn unified(path: &str, text: &str, splices: &[Splice]) -> String {
    let after = apply(text, splices);
    let path = path.trim_start_matches('/');
    TextDiff::from_lines(text, &after)
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}
