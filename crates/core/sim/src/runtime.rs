//! Runtime values of a proxy, as far as its bootstrap tells them
//! (`config.bootstrap.v3.LayeredRuntime`).
//!
//! What an operator sets through the admin interface or RTDS is not in a config dump.

use meshladder_text::json::{Raw, ValueKind};

/// The static layers of a bootstrap.
#[derive(Clone, Debug, Default)]
pub struct Runtime<'a> {
    layers: Vec<Raw<'a>>,
}

/// `type.v3.FractionalPercent`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    /// How many of `denominator`.
    pub numerator: u64,
    /// 100, 10,000 or 1,000,000.
    pub denominator: u64,
}

impl<'a> Runtime<'a> {
    /// Reads a `Bootstrap`.
    pub fn compile(bootstrap: Raw<'a>) -> Self {
        let layers = bootstrap
            .get("layered_runtime")
            .into_iter()
            .flat_map(|runtime| runtime.list("layers"));
        Self {
            layers: layers
                .filter_map(|layer| layer.get("static_layer"))
                .collect(),
        }
    }

    /// Whether a feature is on.
    pub fn flag(&self, key: &str, default: bool) -> bool {
        let value = self.find(key);
        value
            .and_then(|value| value.bool().or_else(|| value.string()?.parse().ok()))
            .unwrap_or(default)
    }

    /// An integer.
    pub fn integer(&self, key: &str) -> Option<u64> {
        self.find(key)?.number()
    }

    /// A fraction: "an integer is a numerator with the denominator HUNDRED".
    pub fn fraction(&self, key: &str, default: Fraction) -> Fraction {
        let Some(value) = self.find(key) else {
            return default;
        };
        if value.kind() == ValueKind::Object {
            return Fraction::compile(value);
        }
        value.number().map_or(default, |numerator| Fraction {
            numerator,
            denominator: 100,
        })
    }

    /// "Layers that appear later override those that appear earlier". Keys may be nested objects or
    /// have dots.
    fn find(&self, key: &str) -> Option<Raw<'a>> {
        if key.is_empty() {
            return None;
        }
        self.layers
            .iter()
            .rev()
            .find_map(|layer| below(*layer, key))
    }
}

fn below<'a>(layer: Raw<'a>, key: &str) -> Option<Raw<'a>> {
    layer
        .members()
        .find_map(|(name, value)| match key.strip_prefix(&*name)? {
            "" => Some(value),
            rest => below(value, rest.strip_prefix('.')?),
        })
}

impl Fraction {
    /// Reads a `FractionalPercent`.
    pub fn compile(raw: Raw<'_>) -> Self {
        let denominator = match raw.string_at("denominator").as_deref() {
            Some("TEN_THOUSAND") => 10_000,
            Some("MILLION") => 1_000_000,
            _ => 100,
        };
        Self {
            numerator: raw
                .get("numerator")
                .and_then(Raw::number)
                .unwrap_or_default(),
            denominator,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_layers_win_and_keys_may_be_nested() {
        let text = r#"{"layered_runtime": {"layers": [
            {"static_layer": {"a.b": true, "c": {"d": 7}, "e": {"numerator": 5, "denominator": "MILLION"}}},
            {"static_layer": {"a": {"b": "false"}}},
            {"admin_layer": {}}
        ]}}"#;
        let runtime = Runtime::compile(Raw::of(text).expect("JSON"));
        assert!(!runtime.flag("a.b", true) && runtime.flag("a", true));
        let default = Fraction {
            numerator: 1,
            denominator: 100,
        };
        assert_eq!(
            runtime.fraction("c.d", default),
            Fraction {
                numerator: 7,
                denominator: 100
            }
        );
        assert_eq!(
            runtime.fraction("e", default),
            Fraction {
                numerator: 5,
                denominator: 1_000_000
            }
        );
        assert_eq!(
            (runtime.fraction("", default), runtime.integer("c.x")),
            (default, None)
        );
    }
}
