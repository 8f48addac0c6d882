//! `proxy-config ecds`: filters that are delivered on their own.

use super::Table;
use meshladder_capture::envoy::dump::{Dump, Resource, Section};
use meshladder_text::json::Raw;

/// The filters, sorted by type and name.
pub fn select<'d, 'a>(dump: &'d Dump<'a>) -> Vec<&'d Resource<'a>> {
    let mut filters: Vec<_> = dump.of(Section::Ecds).collect();
    filters.sort_by_cached_key(|r| (type_url(r.raw), r.name.clone()));
    filters
}

/// The table; `wide` adds state and rejection.
pub fn table<'a>(filters: &[&Resource<'a>], wide: bool) -> Table<'a> {
    const HEADER: [&str; 4] = ["ECDS NAME", "TYPE", "STATE", "REJECTED"];
    let columns = if wide { HEADER.len() } else { 2 };
    let mut table = Table::new(5, &HEADER[..columns]);
    for filter in filters {
        let url = type_url(filter.raw);
        let short = url
            .strip_prefix("type.googleapis.com/")
            .unwrap_or(&url)
            .to_owned();
        let rejected = filter
            .error
            .as_ref()
            .map(|e| e.details.clone())
            .unwrap_or_default();
        let row = [
            filter.name.clone(),
            short.into(),
            filter.state.word().into(),
            rejected,
        ];
        table.row(row.into_iter().take(columns));
    }
    table
}

fn type_url(raw: Option<Raw<'_>>) -> String {
    let url = raw.and_then(|r| r.at(["typed_config", "@type"])?.string());
    url.unwrap_or_default().into_owned()
}
