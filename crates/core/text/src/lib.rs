//! Text and what is written in it: JSON and YAML whose values know their place, time, addresses,
//! certificates, expressions. Nothing here knows what a mesh is.

pub mod cidr;
pub mod duration;
pub mod json;
pub mod name;
pub mod near;
pub mod parallel;
pub mod place;
pub mod regex;
pub mod shell;
pub mod shown;
pub mod text;
pub mod time;
pub mod tree;
pub mod tri;
pub mod x509;
pub mod yaml;
