//! istioctl's listings out of documents: rows in istioctl's columns and order, and the entries behind them.

mod age;
pub mod authz;
pub mod bootstrap;
pub mod cluster;
pub mod ecds;
pub mod eds;
pub mod endpoint;
pub mod listener;
pub mod logs;
pub mod route;
pub mod secret;
pub mod status;
mod table;

pub use table::Table;
