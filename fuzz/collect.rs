//! Any bytes as a source: a file, an archive, whatever they look like. The fuzz target calls this,
//! and so does an ordinary test, on the corpus.

use std::cell::RefCell;
use std::io::{Cursor, Read};

use meshladder_collect::{Options, Source};

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn source(data: &[u8]) {
    fn stdin() -> Box<dyn Read> {
        Box::new(Cursor::new(INPUT.take()))
    }
    INPUT.replace(data.to_vec());
    let options = Options {
        max_size: 1 << 20,
        max_memory: 1 << 30,
        stdin,
    };
    let Ok(snapshot) = meshladder_collect::open(&[Source::Stdin], &options) else {
        return;
    };
    let ids: Vec<_> = snapshot.ids().cloned().collect();
    for id in ids {
        assert!(
            !id.as_str().split('/').any(|part| part == ".."),
            "{id} stays inside"
        );
        let _ = snapshot.open(&id);
    }
    let _ = snapshot.taken_at();
}
