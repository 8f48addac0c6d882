//! The captures that tests read: those in `fixtures/`, and where `MESHLADDER_SHARED` names the
//! folder with the large ones, those too. Nobody who asks gets nothing. Tests of the other crates
//! include this file by `#[path]`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::expect::root;

/// A mesh as it was when somebody looked.
#[derive(Debug)]
pub(crate) struct Capture {
    /// What is wrong in it, in a few words.
    pub(crate) id: String,
    /// The bundle, `incident.json` with the question and the truth, and where requests were sent
    /// `observed.json`.
    pub(crate) folder: PathBuf,
}

impl Capture {
    pub(crate) fn bundle(&self) -> PathBuf {
        let packed = self.folder.join("bundle.tar.zst");
        if packed.exists() {
            packed
        } else {
            self.folder.join("bundle.tar.gz")
        }
    }
}

/// Every capture there is, in the order of their ids. Of two with one id the repository's is taken.
pub(crate) fn captures() -> Vec<Capture> {
    let mut found = captures_in(&root().join("fixtures/incidents"));
    assert!(found.len() > 5, "the repository has captures: {found:?}");
    if let Some(folder) = shared("meshes") {
        let others = captures_in(&folder);
        assert!(!others.is_empty(), "no captures in {}", folder.display());
        for other in others {
            if !found.iter().any(|own| own.id == other.id) {
                found.push(other);
            }
        }
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}

/// A capture of the repository.
pub(crate) fn capture(id: &str) -> Capture {
    let folder = root().join("fixtures/incidents").join(id);
    assert!(folder.is_dir(), "fixtures/incidents has no {id}");
    let id = id.to_owned();
    Capture { id, folder }
}

/// What stands at a path below the large captures: to be looked at beside what the repository has,
/// never instead of it. Empty where the run is not given them.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os("MESHLADDER_SHARED")?).join(path);
    assert!(
        folder.exists(),
        "MESHLADDER_SHARED has no {}",
        folder.display()
    );
    Some(folder)
}

fn captures_in(folder: &Path) -> Vec<Capture> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the captures can be listed") {
        let folder = entry.expect("a capture").path();
        let id = folder.file_name().expect("a name").to_string_lossy();
        found.push(Capture {
            id: id.into_owned(),
            folder,
        });
    }
    found
}
