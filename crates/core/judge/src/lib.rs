//! What is wrong with a mesh, and the bytes that prove it: rules, the ladder that weighs what they
//! find, and the other questions that are asked of a capture.

pub mod authz;
pub mod canary;
pub mod describe;
pub mod diff;
pub mod finding;
pub mod fleet;
pub mod ladder;
pub mod logs;
pub mod policy;
pub mod prometheus;
pub mod report;
pub mod rules;
