//! `explain` and `flags`: what a code, a flag or a details string means, offline.

use meshladder_core::{flags, rules};

use crate::exit::{Failure, Outcome, USAGE};
use crate::out;

pub(super) fn run(what: &str) -> Outcome {
    if let Some(rule) = rules::named(what) {
        out::text(rule.docs)?;
    } else if let Some(flag) = flags::named(what) {
        out::text(&flag.page())?;
    } else if let Some(reading) = flags::read(what) {
        out::text(&format!("{}\n  {}\n", reading.what, reading.means.join("\n  ")))?;
    } else {
        return Err(unknown(what));
    }
    Ok(0)
}

/// The pages of the flags that are named, or the table of all.
pub(super) fn flags(codes: &[String]) -> Outcome {
    if codes.is_empty() {
        out::text(&flags::listing())?;
        return Ok(0);
    }
    for text in codes.iter().flat_map(|word| word.split(',')).filter(|text| !text.is_empty() && *text != "-") {
        let Some(flag) = flags::named(text) else {
            let hint = "flags of extensions are not known; `meshladder flags` lists Envoy's own";
            return Err(Failure::new(USAGE, format!("no flag `{text}`")).hint(hint));
        };
        out::text(&format!("{}\n", flag.page()))?;
    }
    Ok(0)
}

fn unknown(what: &str) -> Failure {
    let codes: Vec<&str> = rules::all().filter(|rule| rule.name.contains(what)).map(|rule| rule.code).take(5).collect();
    let hint = match codes[..] {
        [] => "it takes a rule's code (ML0701), another tool's code, a flag (UH), a details string, a gRPC status"
            .to_owned(),
        _ => format!("did you mean {}?", codes.join(", ")),
    };
    Failure::new(USAGE, format!("nothing is known of `{what}`")).hint(hint)
}
