//! `trace --requests`: a request a line, an outcome a line. Each proxy is read and compiled once.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::time::Instant;

use meshladder_capture::snapshot::Snapshot;
use meshladder_mesh::Mesh;
use meshladder_output::trace::{to_compact_json, to_error_line, to_line};
use meshladder_sim::walk::{Call, Caller, Detail, Walk};

use super::line::{self, Line};
use super::{UNDECIDED, code};
use crate::args::{Global, Trace};
use crate::cmd::request;
use crate::exit::{Failure, Outcome, UNREADABLE};
use crate::out;

pub(super) fn run<'d>(
    global: &Global,
    args: &Trace,
    path: &Path,
    (snapshot, mesh): (&'d Snapshot, &'d Mesh),
    walk: Walk<'d>,
) -> Outcome {
    let namespace = global.namespace.as_deref();
    let url = args.request.to.as_deref();
    let defaults = request::question_to(
        &args.request,
        url.unwrap_or("http://localhost"),
        namespace,
        snapshot,
        mesh,
    )?;
    let mut many = Many {
        snapshot,
        walk,
        defaults,
        has_url: url.is_some(),
        is_verbose: args.verbose,
        counts: Counts::default(),
        out: String::new(),
    };
    let mut callers = HashMap::new();
    let caller = |name: &str| {
        let find = || {
            request::caller(name, namespace, snapshot, mesh)
                .map_err(|failure| failure.message().to_owned())
        };
        callers.entry(name.to_owned()).or_insert_with(find).clone()
    };
    let name = if path == Path::new("-") {
        "stdin".to_owned()
    } else {
        path.display().to_string()
    };
    let mut input = open(path, &name)?;
    let begin = Instant::now();
    many.all(&mut input, &name, caller)?;
    many.counts.tell(begin.elapsed().as_secs_f64());
    Ok(many.counts.code())
}

type Input = BufReader<Box<dyn Read>>;

fn open(path: &Path, name: &str) -> Result<Input, Failure> {
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|why| unreadable(name, &why))?)
    };
    Ok(BufReader::with_capacity(1 << 16, input))
}

fn unreadable(name: &str, why: &io::Error) -> Failure {
    Failure::new(UNREADABLE, format!("cannot read {name}: {why}"))
}

struct Many<'d> {
    snapshot: &'d Snapshot,
    walk: Walk<'d>,
    defaults: Call,
    has_url: bool,
    is_verbose: bool,
    counts: Counts,
    /// The line that is being written.
    out: String,
}

impl Many<'_> {
    fn all(
        &mut self,
        input: &mut Input,
        name: &str,
        mut caller: impl FnMut(&str) -> Result<Caller, String>,
    ) -> Result<(), Failure> {
        let mut out = out::stdout();
        let mut line = Vec::new();
        for number in 1_usize.. {
            line.clear();
            // Whoever feeds us line by line waits for the answers so far.
            if input.buffer().is_empty() {
                out.flush()?;
            }
            if input
                .read_until(b'\n', &mut line)
                .map_err(|why| unreadable(name, &why))?
                == 0
            {
                break;
            }
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            self.out.clear();
            if let Err(why) = self.one(number, text, &mut caller) {
                self.counts.unreadable += 1;
                out::warn(&format!("{name}:{number}: {why}"));
                self.out = to_error_line(number, &why);
            }
            self.out.push('\n');
            out.write_all(self.out.as_bytes())?;
        }
        out.flush()?;
        Ok(())
    }

    fn one(
        &mut self,
        number: usize,
        text: &[u8],
        caller: impl FnMut(&str) -> Result<Caller, String>,
    ) -> Result<(), String> {
        let text = std::str::from_utf8(text).map_err(|_| "not UTF-8".to_owned())?;
        let Line { call, id } = line::read(text, &self.defaults, self.has_url, caller)?;
        let detail = if self.is_verbose {
            Detail::Losers
        } else {
            Detail::Ends
        };
        let trace = self.walk.trace(&call, detail);
        self.counts
            .add(trace.outcome.kind.word(), code(trace.outcome.kind));
        if self.is_verbose {
            self.out = to_compact_json(&trace, &call, self.snapshot);
            return Ok(());
        }
        self.out = to_line(number, id, &trace);
        Ok(())
    }
}

#[derive(Default)]
struct Counts {
    kinds: BTreeMap<&'static str, u64>,
    codes: [bool; UNDECIDED as usize + 1],
    unreadable: u64,
}

impl Counts {
    fn add(&mut self, kind: &'static str, code: u8) {
        *self.kinds.entry(kind).or_default() += 1;
        self.codes[usize::from(code)] = true;
    }

    /// The worst there was.
    fn code(&self) -> u8 {
        if self.unreadable > 0 {
            return UNREADABLE;
        }
        let worst = (0..=UNDECIDED)
            .rev()
            .find(|code| self.codes[usize::from(*code)]);
        worst.unwrap_or_default()
    }

    fn tell(&self, seconds: f64) {
        let total: u64 = self.kinds.values().sum();
        #[expect(clippy::cast_precision_loss, reason = "a rate that is read by people")]
        let rate = total as f64 / seconds.max(1e-9);
        let mut text = format!("{total} requests in {seconds:.2} s, {rate:.0} a second");
        let kinds = self.kinds.iter().map(|(kind, count)| (*kind, *count));
        let unreadable = (self.unreadable > 0).then_some(("unreadable", self.unreadable));
        for (number, (kind, count)) in kinds.chain(unreadable).enumerate() {
            let _ = write!(
                text,
                "{}{kind} {count}",
                if number == 0 { ": " } else { ", " }
            );
        }
        out::note(&text);
    }
}
