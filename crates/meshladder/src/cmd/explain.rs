//! `explain`: a rule's page, offline.

use meshladder_core::rules;

use crate::exit::{Failure, Outcome, USAGE};
use crate::out;

pub(super) fn run(what: &str) -> Outcome {
    let Some(rule) = rules::named(what) else {
        let codes: Vec<&str> =
            rules::all().filter(|rule| rule.name.contains(what)).map(|rule| rule.code).take(5).collect();
        let failure = Failure::new(USAGE, format!("no rule `{what}`"));
        return Err(match codes.is_empty() {
            true => failure.hint("codes look like ML0701; findings carry them"),
            false => failure.hint(format!("did you mean {}?", codes.join(", "))),
        });
    };
    out::text(rule.docs)?;
    Ok(0)
}
