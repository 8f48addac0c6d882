//! The fuzz corpus, replayed: what once failed, or is odd enough to try again each time.

use std::fs;

use crate::expect::root;

#[path = "../../../../fuzz/core.rs"]
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
    replay("access_log", targets::access_log);
    replay("certificate", targets::certificate);
    replay("redact", targets::redact);
}
