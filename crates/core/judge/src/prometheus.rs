//! What Istio's metrics say: queries as text, answers of Prometheus' HTTP API as values, and the
//! statistics to judge them.

pub mod answer;
pub mod class;
pub mod interval;
pub mod place;
pub mod query;
pub mod rates;
