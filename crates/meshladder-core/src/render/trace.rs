//! A trace, drawn: as a walk to read, and as JSON v1.

mod json;
mod text;

pub use json::{to_json, to_line};
pub use text::{Marks, to_text};
