//! A monitoring standard for a mesh: recording and alerting rules, a dashboard, an exporter and
//! manifests, all made from the tables here.

pub mod alerts;
pub mod dashboard;
pub mod exporter;
pub mod manifests;
pub mod picture;
pub mod records;
pub mod rules;
pub mod runbook;
