//! The `meshladder` command: parse, dispatch, exit code; nothing else.

fn main() {}
