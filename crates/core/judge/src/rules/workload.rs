//! Rules of workloads and the Services in front of them, for `analyze`.

use super::Rule;

mod workload_without_policy;

pub(super) static RULES: &[&Rule] = &[&workload_without_policy::RULE];
