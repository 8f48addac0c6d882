//! The fuzz corpus of sources, replayed.

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/collect.rs"]
mod targets;

#[test]
fn every_source_of_the_corpus_is_survived_whole_and_cut() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/source");
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("a corpus") {
        let data = fs::read(entry.expect("an entry").path()).expect("a file");
        targets::source(&data);
        (0..data.len())
            .step_by(7)
            .for_each(|end| targets::source(&data[..end]));
        files += 1;
    }
    assert!(files > 3, "only {files} files in the corpus");
}
