//! Tells what a source is as a whole, and names its files as documents of the bundle layout.

use meshladder_capture::snapshot::{Coverage, DocId, Meta, Need, Part, Problem, Shape};
use meshladder_text::json;

use crate::CollectError;
use crate::archive::Tree;
use crate::gather::SourceFiles;
use crate::manifest::{self, Manifest};
use crate::names::{ends_in, is_document, parts, unpacked};
use crate::packing::{PackedFile, unpack};
use crate::sniff::{Content, Guess, sniff, wrong_shape};
use crate::source_file::SourceFile;
use crate::store::Store;
use crate::{bug_report, loose};

/// A source that is understood.
#[derive(Debug, Default)]
pub(crate) struct SourceParts {
    pub(crate) meta: Meta,
    pub(crate) documents: Vec<(DocId, SourceFile)>,
    pub(crate) notes: Vec<(Need, Coverage)>,
    pub(crate) problems: Vec<Problem>,
}

/// What a source is. Paths of its files start with `top`, the folder an archive or a directory may
/// have around it all.
#[derive(Debug)]
pub(crate) enum Layout {
    Bundle {
        top: String,
        manifest: Option<Manifest>,
    },
    /// Bundles side by side, each in a folder of its own: the folder and its manifest.
    Several {
        top: String,
        bundles: Vec<(String, Manifest)>,
    },
    BugReport {
        top: String,
    },
    /// Files that have nothing to do with each other.
    Loose,
}

/// Names the files of a source. What holds several bundles is as many sources, each with the name
/// of its folder.
///
/// # Errors
/// When there is nothing in it that is known, or more than allowed.
pub(crate) fn settle(
    mut gathered: SourceFiles,
    store: &mut Store,
) -> Result<Vec<(String, SourceParts)>, CollectError> {
    let layout = if gathered.is_file {
        Layout::Loose
    } else {
        tell(&gathered.tree)
    };
    let origin = gathered.origin.clone();
    let cut = gathered
        .tree
        .cut
        .take()
        .map(|why| (Need::Part(Part::Everything), Coverage::Lost(why)));
    let lost = std::mem::take(&mut gathered.tree.lost);
    let mut problems = std::mem::take(&mut gathered.tree.problems);
    let alone = |settled| vec![(String::new(), settled)];
    let mut all = match layout {
        Layout::Bundle { top, manifest } => {
            let mut settled = bundle(gathered.tree.files, &top, manifest, store)?;
            settled.lose(&lost, &top);
            alone(settled)
        }
        Layout::Several { top, bundles } => {
            let mut all = several(gathered.tree.files, &top, bundles, store)?;
            for (name, settled) in &mut all {
                settled.lose(&lost, &format!("{top}{name}/"));
            }
            all
        }
        Layout::BugReport { top } => {
            let mut settled = bug_report::settle(gathered.tree, &top, store)?;
            let whole = lost.iter().map(|(_, why)| (String::new(), why.clone()));
            settled.lose(&whole.take(1).collect::<Vec<_>>(), "");
            alone(settled)
        }
        Layout::Loose => alone(loose::settle(gathered, store)?),
    };
    for (_, settled) in &mut all {
        settled.meta.origin.clone_from(&origin);
        settled.notes.extend(cut.clone());
        problems.append(&mut settled.problems);
        settled.problems = std::mem::take(&mut problems);
    }
    Ok(all)
}

/// Tells what the files are together.
pub(crate) fn tell(tree: &Tree) -> Layout {
    for top in tops(tree) {
        let inside = || {
            tree.files
                .iter()
                .map(|found| (&found.path[top.len()..], found))
        };
        let manifest = inside()
            .find(|(path, _)| *path == "manifest.json")
            .and_then(|(_, found)| Manifest::of(found));
        if manifest.is_some()
            || inside().any(|(path, found)| is_of_bundle(path, found))
            || is_logs(inside())
        {
            return Layout::Bundle { top, manifest };
        }
        if inside().any(|(path, _)| bug_report::is_part(path)) {
            return Layout::BugReport { top };
        }
        let bundles = bundles(inside());
        // One alone lies in a folder that is around it all.
        if bundles.len() > 1 {
            return Layout::Several { top, bundles };
        }
    }
    Layout::Loose
}

/// The folders that are bundles with manifests, if every file lies in one.
fn bundles<'a>(
    mut files: impl Iterator<Item = (&'a str, &'a SourceFile)> + Clone,
) -> Vec<(String, Manifest)> {
    let mut bundles = Vec::new();
    for (path, found) in files.clone() {
        let Some(folder) = path.strip_suffix("/manifest.json") else {
            continue;
        };
        if !folder.contains('/')
            && let Some(manifest) = Manifest::of(found)
        {
            bundles.push((folder.to_owned(), manifest));
        }
    }
    if files.all(|(path, _)| is_in_one_of(path, &bundles)) {
        bundles
    } else {
        Vec::new()
    }
}

fn is_in_one_of(path: &str, bundles: &[(String, Manifest)]) -> bool {
    let Some((top, _)) = path.split_once('/') else {
        return false;
    };
    bundles.iter().any(|(name, _)| name == top)
}

/// The folders that may be around it all: none, and each that every file lies in.
fn tops(tree: &Tree) -> Vec<String> {
    let mut tops = vec![String::new()];
    let Some(first) = tree.files.first() else {
        return tops;
    };
    // Nobody wraps a bundle in more than three folders, and every one is looked through.
    for (at, _) in first.path.match_indices('/').take(3) {
        let folder = &first.path[..=at];
        if !tree.files.iter().all(|file| file.path.starts_with(folder)) {
            break;
        }
        tops.push(folder.to_owned());
    }
    tops
}

/// Whether a file makes a bundle without a manifest of what it lies in. `k8s/` alone does not: many
/// repositories have such a folder, so there the file must be what `kubectl get -o json` prints.
fn is_of_bundle(path: &str, found: &SourceFile) -> bool {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["proxies" | "ztunnels", _, _, _] => DocId::new(unpacked(path)).shape() != Shape::Other,
        ["istiod", _, "debug", ..] | ["istiod", _, "metrics.txt" | "version.json"] => true,
        ["k8s", file] => ends_in(unpacked(file), &["json", "yaml"]) && is_list(found),
        _ => false,
    }
}

/// Logs alone make a bundle when there is no other document around.
fn is_logs<'a>(mut files: impl Iterator<Item = (&'a str, &'a SourceFile)> + Clone) -> bool {
    let is_log = |path: &str| id_in_bundle(path).is_some_and(|id| id.shape() == Shape::Log);
    let is_other = |path: &str| id_in_bundle(path).is_none() && is_document(unpacked(path));
    files.clone().any(|(path, _)| is_log(path)) && !files.any(|(path, _)| is_other(path))
}

fn is_list(found: &SourceFile) -> bool {
    found.head().is_ok_and(|(head, whole)| {
        let listed = memchr::memmem::find(&head[..head.len().min(200)], b"items").is_some();
        listed && sniff(&head, whole) == Guess::Known(Content::Objects)
    })
}

/// The document that a path of a bundle names; none for what is no part of the layout.
pub(crate) fn id_in_bundle(path: &str) -> Option<DocId> {
    let path = unpacked(path);
    let known = match path.split('/').collect::<Vec<_>>().as_slice() {
        ["k8s", _, ..] => ends_in(path, &["json", "yaml", "yml"]),
        ["proxies" | "ztunnels", _, _, _, ..] | ["istiod", _, _, ..] => {
            ends_in(path, &["json", "txt", "prom", "yaml"])
        }
        ["logs", _, _, _] => ends_in(path, &["log"]),
        ["other", _, ..] => true,
        _ => false,
    };
    known.then(|| DocId::new(path))
}

fn several(
    files: Vec<SourceFile>,
    top: &str,
    bundles: Vec<(String, Manifest)>,
    store: &mut Store,
) -> Result<Vec<(String, SourceParts)>, CollectError> {
    let mut rest = files;
    let mut all = Vec::new();
    for (name, manifest) in bundles {
        let folder = format!("{top}{name}/");
        let (own, others) = rest
            .into_iter()
            .partition(|found| found.path.starts_with(&folder));
        rest = others;
        all.push((parts(&name), bundle(own, &folder, Some(manifest), store)?));
    }
    Ok(all)
}

fn bundle(
    files: Vec<SourceFile>,
    top: &str,
    manifest: Option<Manifest>,
    store: &mut Store,
) -> Result<SourceParts, CollectError> {
    let mut settled = SourceParts {
        meta: Meta {
            form: "bundle",
            ..Meta::default()
        },
        ..SourceParts::default()
    };
    if manifest.is_none() {
        settled.miss_manifest(&files, top);
    }
    for found in files {
        if let Some(id) = id_in_bundle(&found.path[top.len()..]) {
            settled.take(id, found, store)?;
        }
    }
    if let Some(manifest) = manifest {
        let Manifest {
            meta,
            coverage,
            problems,
        } = manifest;
        settled.meta = Meta {
            form: "bundle",
            ..meta
        };
        // What was seen of the documents themselves counts more than what was once said of them.
        settled.notes.splice(0..0, coverage);
        settled.problems.extend(problems);
    }
    Ok(settled)
}

impl SourceParts {
    /// Takes a file as a document, unpacked when it is compressed.
    ///
    /// # Errors
    /// When it holds more than allowed.
    pub(crate) fn take(
        &mut self,
        id: DocId,
        found: SourceFile,
        store: &mut Store,
    ) -> Result<(), CollectError> {
        match found.loaded(store).map_or_else(
            |problem| Ok(PackedFile::Unreadable(problem)),
            |found| unpack(found, store),
        )? {
            PackedFile::File(found, problem) => {
                if let Some(problem) = problem {
                    self.lost(&id, problem);
                }
                self.check(&id, &found);
                self.documents.push((id, found));
            }
            PackedFile::Archive(found) => {
                let what = "is an archive where a document belongs; not read";
                self.lost(&id, Problem::new(found.origin, what));
            }
            PackedFile::Unreadable(problem) => self.lost(&id, problem),
        }
        Ok(())
    }

    /// Notes that a document is not all here.
    fn lost(&mut self, id: &DocId, problem: Problem) {
        let coverage = Coverage::Lost(problem.to_string());
        self.notes.push((Need::of_path(id.as_str()), coverage));
        self.problems.push(problem);
    }

    /// Notes what is there below a folder and could not be read. Of what is no part of the layout
    /// nothing is lost.
    fn lose(&mut self, lost: &[(String, String)], top: &str) {
        for (path, why) in lost {
            let own = match path.strip_prefix(top) {
                Some(own) if own.is_empty() || own.ends_with('/') => own.to_owned(),
                Some(own) => match id_in_bundle(own) {
                    Some(id) => id.as_str().to_owned(),
                    None => continue,
                },
                // A folder around it all.
                None if top.starts_with(path.as_str()) => String::new(),
                None => continue,
            };
            self.notes
                .push((Need::of_path(&own), Coverage::Lost(why.clone())));
        }
    }

    /// A manifest says what a bundle lacks. One that is there and cannot be read leaves that open.
    fn miss_manifest(&mut self, files: &[SourceFile], top: &str) {
        let Some(found) = files
            .iter()
            .find(|found| found.path[top.len()..] == *"manifest.json")
        else {
            return;
        };
        let is_other = found.bytes().is_ok_and(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            json::check(&text).is_ok() && !text.contains(manifest::FORMAT)
        });
        if !is_other {
            let problem = Problem::new(
                &found.origin,
                "cannot be read, so what is missing is not known",
            );
            let lost = Coverage::Lost(problem.to_string());
            self.notes.push((Need::Part(Part::Everything), lost));
            self.problems.push(problem);
        }
    }

    /// Where a dump or objects belong, there may be an error page instead. That is no proof that
    /// there are no objects.
    fn check(&mut self, id: &DocId, found: &SourceFile) {
        let (fits, belongs): (&[Content], _) = match id.shape() {
            Shape::ConfigDump => (
                &[Content::ConfigDump, Content::Ztunnel],
                "a config dump belongs",
            ),
            Shape::ZtunnelDump => (&[Content::Ztunnel], "a ztunnel's config dump belongs"),
            Shape::Clusters => (
                &[Content::ClustersJson, Content::ClustersText],
                "Envoy's clusters belong",
            ),
            Shape::Objects => (&[Content::Objects], "Kubernetes objects belong"),
            _ => return,
        };
        let what = match found.head().map(|(head, whole)| sniff(&head, whole)) {
            Ok(Guess::Known(content)) if fits.contains(&content) => {
                return self.problems.extend(wrong_shape(found, content));
            }
            Ok(Guess::Undecided) => return,
            Ok(Guess::Known(_)) => format!("is something else where {belongs}"),
            Ok(Guess::Blank) => format!("is empty where {belongs}"),
            Ok(Guess::Unknown(what)) => format!("is {what}, where {belongs}"),
            Err(problem) => problem.what,
        };
        self.lost(id, Problem::new(&found.origin, what));
    }
}
