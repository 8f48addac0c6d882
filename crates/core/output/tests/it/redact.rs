//! Redaction of whole meshes: nothing that is harmless may be taken out.

use std::fs;
use std::path::{Path, PathBuf};

use meshladder_capture::snapshot::{DocId, redact};

use crate::expect::root;
use crate::meshes::shared;

#[test]
fn a_mesh_without_secrets_stays_as_it_is() {
    // What istioctl printed of a mesh has no more secrets than the mesh.
    let own = ["fixtures/meshes", "fixtures/golden"].map(|folder| root().join(folder));
    let mut files = Vec::new();
    for folder in own.into_iter().chain(shared("golden")) {
        let below = files_below(&folder);
        assert!(!below.is_empty(), "no files in {}", folder.display());
        files.extend(below);
    }
    for (id, path) in files {
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

#[test]
fn of_the_planted_secrets_none_is_left() {
    let files = files_below(&root().join("fixtures/secrets"));
    let mut planted = 0;
    for (id, path) in files {
        let mut bytes = fs::read(&path).expect("a file that was listed can be read");
        planted += marks(&bytes);
        redact(&DocId::new(id), &mut bytes);
        let text = String::from_utf8(bytes).expect("it is still text");
        let left: Vec<&str> = text
            .lines()
            .filter(|line| marks(line.as_bytes()) > 0)
            .collect();
        assert!(left.is_empty(), "{}:\n{}", path.display(), left.join("\n"));
    }
    assert!(planted > 130, "{planted} secrets were planted");
}

/// How often the mark of a planted secret stands in a text, plain or in base64.
fn marks(text: &[u8]) -> usize {
    let text = String::from_utf8_lossy(text);
    text.matches("PLANTED").count() + text.matches("UExBTlRFR").count()
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
