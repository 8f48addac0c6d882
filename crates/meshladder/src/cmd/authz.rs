//! `authz check`: the policies a proxy has, or what they decide of one request.

use std::io::Write;

use meshladder_capture::envoy::dump::Section;
use meshladder_judge::authz::{AuthzVerdict, Checker};
use meshladder_output::authz::{to_json, to_text};
use meshladder_output::tables;

use super::proxy_config::{ending, index};
use super::{live, request, source};
use crate::args::authz::{Authz, AuthzCheck, AuthzCommand};
use crate::args::{Global, TextOrJson};
use crate::exit::{Failure, Outcome, UNREADABLE, USAGE};
use crate::out;

const ALLOWED: u8 = 0;
const DENIED: u8 = 1;
const UNDECIDED: u8 = 5;

pub(super) fn run(global: &Global, args: &Authz) -> Outcome {
    let AuthzCommand::Check(args) = &args.command;
    if args.request.is_said() {
        decide(global, args)
    } else {
        list(global, args)
    }
}

fn list(global: &Global, args: &AuthzCheck) -> Outcome {
    if args.output == TextOrJson::Json {
        return Err(Failure::new(
            USAGE,
            "the table has no JSON: name a request with --to URL, or leave -o json out",
        ));
    }
    let opened = source::open_sections(global, &args.proxy, &[Section::Listeners])
        .map_err(Failure::with_our_code)?;
    let dump = index(&opened.document, &[Section::Listeners])?;
    out::text(&tables::authz::table(&dump, args.all).to_string())?;
    Ok(ending(&opened.document, dump.fault.as_ref(), &dump.odd))
}

fn decide(global: &Global, args: &AuthzCheck) -> Outcome {
    let snapshot = match (&args.proxy.file, global.source.is_empty()) {
        (None, true) => live::request(
            global,
            &args.request,
            args.proxy.target.as_deref(),
            &args.reading,
            false,
        )?,
        (file, _) => source::named(global, file.as_ref(), USAGE)?,
    };
    let mesh = source::mesh(&snapshot);
    let namespace = global.namespace.as_deref();
    let call = request::call(&args.request, namespace, &snapshot, &mesh)?;
    let checker = Checker::new(&snapshot, &mesh);
    let server = checker.server(&call, args.proxy.target.as_deref(), namespace);
    let server = server.map_err(|why| Failure::new(UNREADABLE, why))?;
    let check = checker.check(&call, &server);
    let mut out = out::stdout();
    match args.output {
        TextOrJson::Json => writeln!(out, "{}", to_json(&check, &call))?,
        TextOrJson::Text => {
            check.notes.iter().for_each(|note| out::note(note));
            write!(out, "{}", to_text(&check, &call.line()))?;
        }
    }
    out.flush()?;
    Ok(match check.decision.verdict {
        AuthzVerdict::Allow => ALLOWED,
        AuthzVerdict::Deny => DENIED,
        AuthzVerdict::Undecided => UNDECIDED,
    })
}
