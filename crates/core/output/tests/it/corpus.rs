//! The fuzz corpus, replayed: what once failed, or is odd enough to try again each time.

use std::fs;

use meshladder_judge::rules;

use crate::expect::root;

#[path = "../../../../../fuzz/core.rs"]
mod targets;

/// Runs a target on every file of its corpus, and on every truncation of small ones.
fn replay(target: &str, run: fn(&[u8])) {
    let folder = root().join("fuzz/corpus").join(target);
    let mut files = 0;
    for entry in fs::read_dir(&folder).expect("a corpus for every target") {
        let data = fs::read(entry.expect("an entry").path()).expect("a file");
        run(&data);
        (0..data.len().min(400)).for_each(|end| run(&data[..end]));
        files += 1;
    }
    assert!(files > 0, "{} is empty", folder.display());
}

#[test]
fn every_input_of_the_corpus_is_survived() {
    replay("json", targets::json);
    replay("yaml", targets::yaml);
    replay("config_dump", targets::config_dump);
    replay("clusters", targets::clusters);
    replay("syncz", targets::syncz);
    replay("prometheus_answer", targets::prometheus_answer);
    replay("access_log", targets::access_log);
    replay("certificate", targets::certificate);
    replay("redact", targets::redact);
    replay("analyze", targets::analyze);
}

/// Texts that rules have much to say about: the corpus, and the examples of their pages.
fn manifests() -> Vec<Vec<u8>> {
    let folder = root().join("fuzz/corpus/analyze");
    let files = fs::read_dir(folder)
        .expect("a corpus")
        .map(|entry| fs::read(entry.expect("an entry").path()));
    let mut all: Vec<Vec<u8>> = files.map(|file| file.expect("a file")).collect();
    all.sort();
    for rule in rules::all().filter(|rule| rule.is_of_objects()) {
        let blocks = rule.docs.split("\n```").skip(1).step_by(2);
        all.extend(blocks.filter_map(|block| Some(block.split_once('\n')?.1.as_bytes().to_vec())));
    }
    all
}

#[test]
fn no_manifest_breaks_a_rule_and_every_finding_leads_to_its_place() {
    const WORDS: [&str; 16] = [
        "null", "[]", "{}", "- ", ": ", "'*'", "80", "-1", "~", "|", "&a ", "*a", "\n---\n", "  ",
        "é", "true",
    ];
    let manifests = manifests();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).expect("31 bits") % limit.max(1)
    };
    for round in 0..600 {
        let mut text = manifests[round % manifests.len()].clone();
        for _ in 0..below(6) {
            let at = below(text.len());
            let line = text[at..]
                .iter()
                .position(|b| *b == b'\n')
                .map_or(text.len(), |end| at + end);
            match below(5) {
                0 => drop(text.splice(at..at, WORDS[below(WORDS.len())].bytes())),
                1 => drop(text.drain(at..line)),
                2 => drop(text.splice(at..line, WORDS[below(WORDS.len())].bytes())),
                3 => {
                    let piece = text[at..line].to_vec();
                    let to = below(text.len());
                    drop(text.splice(to..to, piece));
                }
                _ => text.truncate(line),
            }
        }
        targets::analyze(&text);
    }
}
