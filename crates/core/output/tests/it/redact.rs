//! Redaction of whole meshes: nothing that is harmless may be taken out.

use std::path::{Path, PathBuf};
use std::{env, fs};

use meshladder_capture::snapshot::{DocId, redact};

use crate::expect::root;

#[test]
fn a_mesh_without_secrets_stays_as_it_is() {
    let meshes = files_below(&root().join("fixtures/meshes"));
    // Istio's own examples and what istioctl printed, where they are at hand.
    let shared = env::var_os("MESHLADDER_SHARED")
        .map(|folder| files_below(&PathBuf::from(folder).join("golden")));
    assert!(!meshes.is_empty(), "there are meshes among the fixtures");
    for (id, path) in meshes.into_iter().chain(shared.unwrap_or_default()) {
        let before = fs::read(&path).expect("a file that was listed can be read");
        let mut after = before.clone();
        let count = redact(&DocId::new(id), &mut after);
        assert!(
            count == 0 && after == before,
            "{count} in {}",
            path.display()
        );
    }
}

/// All files below a folder, each with its path from the folder `bundle` or from the start.
fn files_below(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let inside = path
                    .strip_prefix(folder)
                    .expect("it is below")
                    .to_string_lossy()
                    .into_owned();
                let id = inside
                    .split_once("bundle/")
                    .map_or(inside.as_str(), |(_, id)| id)
                    .to_owned();
                files.push((id, path));
            }
        }
    }
    files
}
