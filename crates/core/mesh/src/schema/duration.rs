//! What a field asks of a duration.

use super::describe::DurationRule;
use meshladder_text::duration::nanoseconds;

const MILLISECOND: f64 = 1e6;
const SECOND: f64 = 1e9;

/// What is wrong with a duration, to follow the value.
pub(super) fn problem(span: DurationRule, text: &str) -> Option<&'static str> {
    if span == DurationRule::Gateway {
        return (!is_of_gateway_api(text)).then_some("not a duration such as \"10s\" or \"1h30m\"");
    }
    let Some(nanoseconds) = nanoseconds(text) else {
        return Some("not a duration such as \"1.5s\"");
    };
    match span {
        DurationRule::Free | DurationRule::Gateway => None,
        _ if nanoseconds < MILLISECOND => Some("less than a millisecond"),
        _ if nanoseconds % MILLISECOND != 0.0 => Some("finer than a millisecond"),
        DurationRule::Seconds if nanoseconds % SECOND != 0.0 => Some("finer than a second"),
        DurationRule::Milliseconds | DurationRule::Seconds => None,
    }
}

/// `^([0-9]{1,5}(h|m|s|ms)){1,4}$`
fn is_of_gateway_api(text: &str) -> bool {
    let mut rest = text;
    for _ in 0..4 {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let unit = ["ms", "h", "m", "s"]
            .into_iter()
            .find(|unit| rest[digits..].starts_with(unit));
        let (1..=5, Some(unit)) = (digits, unit) else {
            return false;
        };
        rest = &rest[digits + unit.len()..];
        if rest.is_empty() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_field_asks_for_is_held() {
        for (span, text, is_bad) in [
            (DurationRule::Milliseconds, "1ms", false),
            (DurationRule::Milliseconds, "0s", true),
            (DurationRule::Milliseconds, "1.0005s", true),
            (DurationRule::Milliseconds, "-1s", true),
            (DurationRule::Seconds, "24h", false),
            (DurationRule::Seconds, "1.5s", true),
            (DurationRule::Free, "0s", false),
            (DurationRule::Free, "soon", true),
            (DurationRule::Gateway, "1h30m", false),
            (DurationRule::Gateway, "0s", false),
            (DurationRule::Gateway, "1.5s", true),
            (DurationRule::Gateway, "100000s", true),
            (DurationRule::Gateway, "", true),
            (DurationRule::Gateway, "1s1s1s1s1s", true),
        ] {
            assert_eq!(problem(span, text).is_some(), is_bad, "{text} as {span:?}");
        }
    }
}
