//! Asks Prometheus, and those that speak its HTTP API: Thanos, Mimir, VictoriaMetrics.

/// Reads a query as Prometheus would.
///
/// # Errors
/// What is wrong with it.
pub fn parse(query: &str) -> Result<(), String> {
    promql_parser::parser::parse(query).map(|_| ())
}
