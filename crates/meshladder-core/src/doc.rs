//! Documents: JSON and YAML text, values that know their place in it, and pointers to them.

pub mod json;
pub mod name;
pub mod near;
pub mod place;
pub mod text;
pub mod tree;
pub mod yaml;
