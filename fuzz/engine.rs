//! Fuzzing with the stable compiler: inputs of the corpus, changed by chance, for so many seconds.
//! Blind, unlike `cargo fuzz`, but it runs wherever the tests do.

use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A target's name and what it does with bytes.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// What parsers take for something.
const WORDS: [&[u8]; 36] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"'",
    b":",
    b",",
    b"\n",
    b"---\n",
    b"- ",
    b"|",
    b"&a ",
    b"*a",
    b"<<",
    b"null",
    b"true",
    b"NaN",
    b"-1",
    b"1e999",
    b"\\u0000",
    b"\\ud800",
    b"\xff\xfe",
    b"\xc2\x9b",
    b"\xe2\x80\xae",
    b"\x1b[2J",
    b"kind: Secret\n",
    b"\"kind\":\"Secret\"",
    b"items",
    b"data",
    b"password=",
    b"Bearer ",
    b"-----BEGIN PRIVATE KEY-----",
    b"@type",
    b"://u:p@",
    b"\0",
];

/// An input is at most so long: many short ones find more than few long ones.
const LONGEST: usize = 64 << 10;

/// A program of targets: `SECONDS SEED CORPUS`.
pub(crate) fn main(targets: &[Target]) -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let number = |at: usize| {
        words
            .get(at)
            .and_then(|word| word.parse().ok())
            .unwrap_or(1)
    };
    let corpus = words.get(3).map_or("fuzz/corpus", String::as_str);
    let failed = run(targets, corpus.as_ref(), number(1), number(2));
    u8::from(failed > 0).into()
}

/// Runs each target for so many seconds, from `seed` on; prints how often, and gives how many
/// failed. Inputs that fail are kept in the corpus.
fn run(targets: &[Target], corpus: &Path, seconds: u64, seed: u64) -> usize {
    std::panic::set_hook(Box::new(|_| {}));
    let mut failed = 0;
    for (name, target) in targets {
        let folder = corpus.join(name);
        let seeds = seeds(&folder);
        let mut chance = Chance(seed ^ 0x9e37_79b9_7f4a_7c15);
        let (start, limit) = (Instant::now(), Duration::from_secs(seconds));
        let (mut count, mut failures) = (0_u64, 0);
        while start.elapsed() < limit {
            let input = chance.input(&seeds);
            count += 1;
            if catch_unwind(AssertUnwindSafe(|| target(&input))).is_err() {
                failures += 1;
                let file = folder.join(format!("found-{seed}-{count}"));
                // Where it cannot be kept it can be made again: seed and count say how.
                let _ = fs::write(&file, &input);
                say(&format!("{name}: {} fails", file.display()));
            }
        }
        say(&format!(
            "{name:20}{count:>12} executions{failures:>6} failed"
        ));
        failed += failures;
    }
    failed
}

/// A line for whoever runs it; nobody may be listening any more.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    let mut seeds: Vec<Vec<u8>> = files
        .iter()
        .filter_map(|file| fs::read(file).ok())
        .filter(|bytes| bytes.len() <= LONGEST)
        .collect();
    seeds.push(Vec::new());
    seeds
}

/// Xorshift: the same seed gives the same inputs.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }

    fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(6) {
            let at = self.below(input.len() + 1);
            let most = 1 + self.below(64);
            let length = self.below(most).min(input.len() - at);
            match self.below(7) {
                0 => drop(input.drain(at..at + length)),
                1 => drop(input.splice(at..at, WORDS[self.below(WORDS.len())].iter().copied())),
                2 => {
                    let part = input[at..at + length].to_vec();
                    input.splice(at..at, part);
                }
                3 => input.truncate(at),
                4 => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len() + 1);
                    let to = (from + self.below(256)).min(other.len());
                    input.splice(at..at + length, other[from..to].iter().copied());
                }
                _ => {
                    if let Some(byte) = input.get_mut(at) {
                        *byte ^= 1 << (self.0 & 7);
                    }
                }
            }
        }
        input.truncate(LONGEST);
        input
    }
}
