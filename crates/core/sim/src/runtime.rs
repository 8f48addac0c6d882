//! Runtime values of a proxy, as far as its bootstrap tells them
//! (`config.bootstrap.v3.LayeredRuntime`).
//!
//! What an operator sets through the admin interface or RTDS is not in a config dump.

use super::message;
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
        let mut layers = Vec::new();
        if let Some(runtime) = bootstrap.get("layered_runtime") {
            for layer in runtime.list("layers") {
                layers.extend(layer.get("static_layer"));
            }
        }
        Self { layers }
    }

    /// Whether a feature is on.
    pub fn flag(&self, key: &str, default: bool) -> bool {
        let Some(value) = self.find(key) else {
            return default;
        };
        if let Some(flag) = value.bool() {
            return flag;
        }
        // Layers that are read from files hold texts.
        let text = value.string().unwrap_or_default();
        text.parse().unwrap_or(default)
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
        match value.number() {
            Some(numerator) => Fraction {
                numerator,
                denominator: 100,
            },
            None => default,
        }
    }

    /// A `RuntimeFractionalPercent`: "default_value: Default value if the runtime value's for the
    /// numerator/denominator keys are not available."
    pub fn fractional_percent(&self, raw: Raw<'_>) -> Fraction {
        let default = match raw.get("default_value") {
            Some(value) => Fraction::compile(value),
            None => Fraction::NONE,
        };
        self.fraction(&message::text(raw, "runtime_key"), default)
    }

    /// "Layers that appear later override those that appear earlier". Keys may be nested objects or
    /// have dots.
    fn find(&self, key: &str) -> Option<Raw<'a>> {
        if key.is_empty() {
            return None;
        }
        // The last layer that has the key wins.
        for layer in self.layers.iter().rev() {
            if let Some(value) = below(*layer, key) {
                return Some(value);
            }
        }
        None
    }
}

/// `a.b` in `{"a": {"b": 1}}` as in `{"a.b": 1}`.
fn below<'a>(layer: Raw<'a>, key: &str) -> Option<Raw<'a>> {
    for (name, value) in layer.members() {
        let Some(rest) = key.strip_prefix(&*name) else {
            continue;
        };
        if rest.is_empty() {
            return Some(value);
        }
        let nested = rest.strip_prefix('.');
        if let Some(found) = nested.and_then(|rest| below(value, rest)) {
            return Some(found);
        }
    }
    None
}

impl Fraction {
    /// Never.
    pub(crate) const NONE: Self = Self {
        numerator: 0,
        denominator: 100,
    };
    /// Always.
    pub(crate) const WHOLE: Self = Self {
        numerator: 100,
        denominator: 100,
    };
    /// Reads a `FractionalPercent`.
    pub fn compile(raw: Raw<'_>) -> Self {
        let denominator = match &*message::text(raw, "denominator") {
            "TEN_THOUSAND" => 10_000,
            "MILLION" => 1_000_000,
            _ => 100,
        };
        Self {
            numerator: message::number(raw, "numerator"),
            denominator,
        }
    }

    /// Whether it is all of them.
    pub(crate) fn is_whole(self) -> bool {
        self.numerator >= self.denominator
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
