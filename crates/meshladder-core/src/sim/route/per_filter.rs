//! `typed_per_filter_config`: what a route table says to HTTP filters.

use crate::doc::json::Raw;

/// Configurations by filter name.
#[derive(Clone, Debug, Default)]
pub struct PerFilter<'a>(Vec<(Box<str>, Raw<'a>)>);

impl<'a> PerFilter<'a> {
    pub(super) fn compile(raw: Raw<'a>) -> Self {
        Self(raw.members().map(|(name, config)| (name.into(), config)).collect())
    }

    /// The configuration for a filter, an `Any`.
    pub fn get(&self, filter: &str) -> Option<Raw<'a>> {
        self.0.iter().find(|(name, _)| &**name == filter).map(|(_, config)| *config)
    }
}
