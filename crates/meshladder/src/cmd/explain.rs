//! `explain`: a rule's page, offline.

use meshladder_core::rules;

use crate::exit::{Failure, Outcome, USAGE};
use crate::out;

pub(super) fn run(what: &str) -> Outcome {
    let Some(rule) = rules::named(what) else {
        let codes: Vec<&str> =
            rules::all().filter(|rule| rule.name.contains(what)).map(|rule| rule.code).take(5).collect();
        let failure = Failure::new(USAGE, format!("no rule `{what}`"));
        let hint = match codes[..] {
            [] => "codes look like ML0701; findings carry them".to_owned(),
            _ => format!("did you mean {}?", codes.join(", ")),
        };
        return Err(failure.hint(hint));
    };
    out::text(rule.docs)?;
    Ok(0)
}
