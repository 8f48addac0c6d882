//! The thirty core flags of Envoy 1.40, in the order of its own enumeration.

use super::{Flag, FlagCause};

mod downstream;
mod other;
mod upstream;

pub(super) static FLAGS: [&[Flag]; 3] = [upstream::FLAGS, downstream::FLAGS, other::FLAGS];

/// A row of which nothing is said but what it is.
const BARE: Flag = Flag {
    code: "",
    long: "",
    since: "1.9",
    status: "",
    details: &[],
    set_by: "",
    means: "",
    at_client: "",
    at_server: "",
    at_gateway: "",
    causes: &[],
    not: "",
};

/// A cause and the command that confirms it.
const fn cause(what: &'static str, confirm: &'static str) -> FlagCause {
    FlagCause {
        what,
        confirm,
        at: &[],
    }
}

/// A cause that can be one only in some places.
const fn cause_at(
    at: &'static [&'static str],
    what: &'static str,
    confirm: &'static str,
) -> FlagCause {
    FlagCause { what, confirm, at }
}
