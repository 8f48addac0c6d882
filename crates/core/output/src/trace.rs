//! A trace, drawn: as a walk to read, as JSON v1, and as a line for one of many.

mod json;
mod line;
mod text;

pub use json::{to_compact_json, to_json};
pub use line::write_line;
pub use text::{Marks, to_text};
