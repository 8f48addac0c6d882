//! The strict reading of a bundle: what every other reading lets pass.

use meshladder_capture::snapshot::{DocId, Problem, redact};
use meshladder_text::json::{self, TextFault};
use meshladder_text::place::Place;
use meshladder_text::yaml;

use crate::error::CollectError;
use crate::layout::{Layout, id_in_bundle, tell};
use crate::names::{ends_in, is_hidden};
use crate::packing::{PackedFile, unpack};
use crate::source_file::SourceFile;
use crate::store::Store;
use crate::{Options, Source, gather};

/// What a bundle was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// How many documents it has.
    pub documents: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// What it lacks that no bundle must have.
    pub notes: Vec<String>,
    /// What is wrong with it; nothing when it is sound.
    pub problems: Vec<Problem>,
}

/// Checks a bundle: every document is strict JSON or YAML where it should be, UTF-8, at a place the
/// layout knows and without secrets; the manifest, if there is one, can be read; the archive is
/// whole.
///
/// # Errors
/// When it cannot be read at all, is larger than allowed, or is no bundle.
pub fn verify(source: &Source, options: &Options) -> Result<Verification, CollectError> {
    let mut store = Store::new(options.max_size);
    let gathered = gather::gather(source, options, &mut store)?;
    let not_a_bundle = |form| {
        Err(CollectError::NotABundle {
            origin: gathered.origin.clone(),
            form,
        })
    };
    let bundles = match tell(&gathered.tree) {
        _ if gathered.is_file => return not_a_bundle("a single document"),
        Layout::Bundle { top, manifest } => vec![(top, manifest)],
        Layout::Several { top, bundles } => bundles
            .into_iter()
            .map(|(name, manifest)| (format!("{top}{name}/"), Some(manifest)))
            .collect(),
        Layout::BugReport { .. } => return not_a_bundle("a bug-report"),
        Layout::Loose => return not_a_bundle("a collection of files"),
    };
    let mut verified = Verification {
        documents: 0,
        bytes: 0,
        notes: Vec::new(),
        problems: gathered.tree.problems,
    };
    let mut tops = Vec::new();
    for (top, manifest) in bundles {
        match manifest {
            Some(manifest) => verified.problems.extend(manifest.problems),
            // "optional: without it a directory still opens"
            None => {
                verified.notes.push(format!(
                    "{} has no manifest.json that tells when it was taken",
                    gathered.origin
                ));
            }
        }
        tops.push(top);
    }
    for found in gathered.tree.files {
        let inside = tops
            .iter()
            .find_map(|top| found.path.strip_prefix(top.as_str()));
        let path = inside.unwrap_or(&found.path).to_owned();
        verified.check(&path, found, &mut store)?;
    }
    Ok(verified)
}

impl Verification {
    fn check(
        &mut self,
        path: &str,
        found: SourceFile,
        store: &mut Store,
    ) -> Result<(), CollectError> {
        let origin = found.origin.clone();
        match id_in_bundle(path) {
            None if path == "manifest.json" || is_hidden(path) => {}
            None => self.problems.push(Problem::new(
                origin,
                "is no part of the bundle layout; it is ignored",
            )),
            Some(id) => match unpack(found, store)? {
                PackedFile::File(found, problem) => {
                    self.problems.extend(problem);
                    store.document(&found.origin, found.body.len())?;
                    self.document(&id, &found);
                }
                PackedFile::Archive(_) => self
                    .problems
                    .push(Problem::new(origin, "is an archive, not a document")),
                PackedFile::Unreadable(problem) => self.problems.push(problem),
            },
        }
        Ok(())
    }

    fn document(&mut self, id: &DocId, found: &SourceFile) {
        let bytes = match found.bytes() {
            Ok(bytes) => bytes,
            Err(problem) => return self.problems.push(problem),
        };
        self.documents += 1;
        self.bytes += bytes.len() as u64;
        let origin = || found.origin.clone();
        match std::str::from_utf8(&bytes) {
            Ok(text) => {
                let problem = |fault: TextFault| Problem {
                    origin: origin(),
                    place: Some(Place::of(text, fault.at)),
                    what: fault.what,
                };
                if ends_in(id.as_str(), &["json"]) {
                    self.problems.extend(json::check(text).err().map(problem));
                } else if ends_in(id.as_str(), &["yaml", "yml"]) {
                    self.problems
                        .extend(yaml::load(text).problems.into_iter().map(problem));
                }
            }
            Err(error) => {
                let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let place = Some(Place::of(&before, before.len()));
                self.problems.push(Problem {
                    origin: origin(),
                    place,
                    what: "invalid UTF-8".to_owned(),
                });
            }
        }
        let secrets = redact(id, &mut bytes.into_owned());
        if secrets > 0 {
            let what = format!(
                "holds {secrets} secret{}; pack it again",
                if secrets == 1 { "" } else { "s" }
            );
            self.problems.push(Problem::new(origin(), what));
        }
    }
}
