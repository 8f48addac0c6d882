//! A trace, drawn: as a walk to read, as JSON v1, and as a line for one of many.

mod json;
mod line;
mod text;

pub use json::{to_compact_json, to_json};
pub use line::{to_error_line, to_line};
pub use text::to_text;

/// A share of requests without the noise of its last digits.
fn millionths(weight: f64) -> f64 {
    (weight * 1e6).round() / 1e6
}
