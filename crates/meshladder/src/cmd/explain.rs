//! `explain` and `flags`: what a code, a flag or a details string means, offline.

use meshladder_capture::flags;
use meshladder_capture::flags::ForeignCode;
use meshladder_judge::rules::{self, Rule, retired};

use crate::exit::{Failure, Outcome, USAGE};
use crate::out;

pub(super) fn run(what: &str) -> Outcome {
    if let Some(foreign) = flags::foreign(what) {
        out::text(&foreign_page(foreign))?;
    } else if let Some(rule) = rules::named(what) {
        if let Some(old) = retired::of(rule).find(|old| old.is(what)) {
            out::text(&format!("{}\n\n", old.in_words()))?;
        }
        out::text(rule.docs)?;
    } else if let Some(flag) = flags::named(what) {
        out::text(&flag.page())?;
    } else if let Some(reading) = flags::read(what) {
        out::text(&format!(
            "{}\n  {}\n",
            reading.what,
            reading.means.join("\n  ")
        ))?;
    } else if let Some(behind) = behind_status(what) {
        return run(behind);
    } else {
        return Err(unknown(what));
    }
    Ok(0)
}

/// `503 UH` and `503/UH`, as a log and `--seen` have them: what is to be explained stands behind
/// the status.
fn behind_status(what: &str) -> Option<&str> {
    let (status, behind) = what.split_once([' ', '/'])?;
    (status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit())).then_some(behind)
}

/// What another tool's code means, and the rules that find the same; the page itself when it is one
/// rule.
fn foreign_page(foreign: &ForeignCode) -> String {
    let ForeignCode { code, about, means } = foreign;
    let same: Vec<&Rule> = rules::all()
        .filter(|rule| rule.aka.contains(code))
        .collect();
    let head = format!("{code} of {} ({about}): {means}\n", foreign.tool());
    match same[..] {
        [] => format!("{head}no rule of meshladder finds it yet\n"),
        [rule] => format!("{head}\n{}", rule.docs),
        _ => {
            let rules = same
                .iter()
                .map(|rule| format!("  {} {}: {}\n", rule.code, rule.name, rule.claim));
            format!(
                "{head}rules that find it, each with a page of its own:\n{}",
                rules.collect::<String>()
            )
        }
    }
}

/// The pages of the flags that are named, or the table of all.
pub(super) fn flags(codes: &[String]) -> Outcome {
    if codes.is_empty() {
        out::text(&flags::listing())?;
        return Ok(0);
    }
    for text in codes
        .iter()
        .flat_map(|word| word.split(','))
        .filter(|text| !text.is_empty() && *text != "-")
    {
        let Some(flag) = flags::named(text) else {
            let hint = "flags of extensions are not known; `meshladder flags` lists Envoy's own";
            return Err(Failure::new(USAGE, format!("no flag `{text}`")).hint(hint));
        };
        out::text(&format!("{}\n", flag.page()))?;
    }
    Ok(0)
}

fn unknown(what: &str) -> Failure {
    let codes: Vec<&str> = rules::all()
        .filter(|rule| rule.name.contains(what))
        .map(|rule| rule.code)
        .take(5)
        .collect();
    let hint = match codes[..] {
        [] => "it takes a rule's code (ML0701), a code of istioctl's or Kiali's, a flag (UH, 503 UH), a details string, a transport failure or close reason, a gRPC status, an error of ztunnel's"
            .to_owned(),
        _ => format!("did you mean {}?", codes.join(", ")),
    };
    Failure::new(USAGE, format!("nothing is known of `{what}`")).hint(hint)
}
