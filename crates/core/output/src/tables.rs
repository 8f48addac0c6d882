//! istioctl's listings out of documents: rows in istioctl's columns and order, and the entries
//! behind them; and tables of our own.

mod age;
pub mod authz;
pub mod bootstrap;
pub mod cluster;
pub mod ecds;
pub mod eds;
pub mod endpoint;
pub mod flag_rates;
pub mod listener;
pub mod log_level;
pub mod logs;
pub mod remote_clusters;
pub mod route;
pub mod secret;
pub mod status;
mod table;
pub mod waypoint;
pub mod ztunnel;

pub use table::Table;
