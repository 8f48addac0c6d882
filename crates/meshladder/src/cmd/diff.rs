//! `diff`: two proxies, two captures, a proxy and istiod's view of it, two revisions, or the
//! replicas of a workload.

use std::io::Write;

use meshladder_capture::snapshot::{ProxyRef, Shape, Snapshot};
use meshladder_judge::diff::{self, Diff, Odd, Pair, ProxySide};
use meshladder_mesh::target::Target;
use meshladder_output::diff::{to_html, to_json, to_markdown, to_text};

use super::{ladder::paint, live, source};
use crate::args::Global;
use crate::args::diff::{Diff as Args, DiffOutput};
use crate::exit::{Failure, Outcome, UNREADABLE, USAGE};
use crate::out;

mod operand;

use operand::{Operand, SideDocument};

/// What names a revision.
const REVISION: &str = "revision/";

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let Some(b) = &args.b else {
        return siblings(global, args);
    };
    if let (Some(a), Some(b)) = (args.a.strip_prefix(REVISION), b.strip_prefix(REVISION)) {
        return revisions(global, args, (a, b));
    }
    if args.a.starts_with(REVISION) || b.starts_with(REVISION) {
        return Err(Failure::new(
            USAGE,
            "a revision can only be compared with another revision",
        ));
    }
    let diff = match (Operand::read(&args.a, global)?, Operand::read(b, global)?) {
        (Operand::Capture(a), Operand::Capture(b)) => {
            let (left, right) = (source::mesh(&a), source::mesh(&b));
            diff::meshes(
                (&a, &left),
                (&b, &right),
                (&args.a, args.b.as_deref().unwrap_or_default()),
            )
        }
        (a, b) => operand::proxies(&a, &b, args, global)?,
    };
    print(args, &diff)?;
    Ok(u8::from(!diff.is_empty()))
}

fn revisions(global: &Global, args: &Args, names: (&str, &str)) -> Outcome {
    let snapshot = if global.source.is_empty() {
        live::diff::revisions(global, names)?
    } else {
        source::named(global, None, USAGE)?
    };
    let mesh = source::mesh(&snapshot);
    let found = diff::revisions(&snapshot, &mesh, names);
    let (diff, pairs) = found.map_err(|why| Failure::new(UNREADABLE, why))?;
    print(args, &diff)?;
    for pair in &pairs {
        out::note(&compared(pair));
    }
    Ok(u8::from(!diff.is_empty()))
}

fn compared(pair: &Pair) -> String {
    let Pair { a, b, workload } = pair;
    match workload {
        Some(workload) => format!("{workload}: {} with {}", a.name, b.name),
        None => format!(
            "no such workload has proxies of both revisions: {a} with {b}, which are two workloads; what is about themselves is left out, and what differs may be theirs"
        ),
    }
}

/// The replicas of a workload: who is the odd one out.
fn siblings(global: &Global, args: &Args) -> Outcome {
    let (snapshot, namespace) = if global.source.is_empty() {
        live::diff::dumps(global, &[&args.a], live::diff::Which::All)?
    } else {
        (
            source::named(global, None, USAGE)?,
            global.namespace.clone(),
        )
    };
    let target =
        Target::parse(&args.a, namespace.as_deref()).map_err(|why| Failure::new(USAGE, why))?;
    let found = target.resolve(&snapshot, Shape::ConfigDump);
    let found = found.map_err(|why| source::not_there(&snapshot, why).with_code(UNREADABLE))?;
    let all: Vec<ProxyRef> = std::iter::once(found.proxy).chain(found.others).collect();
    if let [only] = all.as_slice() {
        return Err(
            Failure::new(USAGE, format!("{only} has no sibling to compare with"))
                .hint("name a second one as B"),
        );
    }
    let opened: Vec<SideDocument> = all
        .iter()
        .map(|proxy| replica(&snapshot, proxy))
        .collect::<Result<_, _>>()?;
    let sides: Vec<ProxySide<'_>> = opened.iter().map(SideDocument::side).collect();
    let (alike, odd) = diff::odd_ones(&sides).map_err(|why| Failure::new(UNREADABLE, why))?;
    if odd.is_empty() {
        print(args, &alike)?;
    }
    for Odd { like, diff } in &odd {
        let others = if alike.b.is_empty() {
            alike.a.clone()
        } else {
            format!("{}, {}", alike.a, alike.b)
        };
        out::note(&format!(
            "the odd one out is {}; {others} are alike",
            like.join(", ")
        ));
        print(args, diff)?;
    }
    Ok(u8::from(!odd.is_empty()))
}

fn replica(snapshot: &Snapshot, proxy: &ProxyRef) -> Result<SideDocument, Failure> {
    let document = source::document(snapshot, proxy, Shape::ConfigDump)?;
    Ok(SideDocument::new(proxy.to_string(), document, true))
}

fn print(args: &Args, diff: &Diff) -> Result<(), Failure> {
    let mut stdout = out::stdout();
    match args.output {
        DiffOutput::Json => writeln!(stdout, "{}", to_json(diff, args.show_noise))?,
        DiffOutput::Markdown => write!(stdout, "{}", to_markdown(diff, args.show_noise))?,
        DiffOutput::Html => write!(stdout, "{}", to_html(diff, args.show_noise))?,
        DiffOutput::Text => write!(
            stdout,
            "{}",
            to_text(diff, paint(args.verbose), args.show_noise)
        )?,
    }
    Ok(stdout.flush()?)
}
