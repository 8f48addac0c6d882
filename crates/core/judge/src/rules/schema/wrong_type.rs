//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2902",
    name: "wrong-type",
    aka: &["IST0106"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every value is of the type its field takes",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("wrong_type.md"),
    check: Check::Object(|facts, out| {
        tell(
            facts,
            Flaw::WrongType,
            "write it in the type that the field takes",
            out,
        );
    }),
};
