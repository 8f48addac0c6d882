//! Files that have nothing to do with each other: YAML, JSON, dumps of Envoy, each told apart by
//! its content.

use std::borrow::Cow;
use std::collections::BTreeMap;

use meshladder_capture::snapshot::{Coverage, DocId, Meta, Need, Problem};
use meshladder_text::json::{Cursor, Raw};

use crate::CollectError;
use crate::error::some_of;
use crate::gather::SourceFiles;
use crate::layout::SourceParts;
use crate::names::{self, ends_in, file, folder, part, parts};
use crate::packing::{PackedFile, unpack};
use crate::sniff::{Content, Guess, is_json, json_place, sniff, wrong_shape};
use crate::source_file::SourceFile;
use crate::store::Store;

/// A file without a mark in its first bytes is read whole up to this size.
const SEARCHED: u64 = 64 << 20;

/// Names files that have nothing to do with each other.
///
/// # Errors
/// When none of them is anything known, or they hold more than allowed.
pub(crate) fn settle(
    gathered: SourceFiles,
    store: &mut Store,
) -> Result<SourceParts, CollectError> {
    let SourceFiles {
        origin,
        base,
        is_file,
        tree,
    } = gathered;
    let mut settled = SourceParts {
        meta: Meta {
            form: "files",
            ..Meta::default()
        },
        ..SourceParts::default()
    };
    let mut archive = None;
    let mut known = Vec::new();
    for found in tree.files {
        let found = match unpack(found, store)? {
            PackedFile::File(found, problem) => {
                settled.problems.extend(problem);
                found
            }
            PackedFile::Archive(found) => {
                archive = archive.or(Some(found.origin));
                continue;
            }
            PackedFile::Unreadable(problem) => {
                settled.problems.push(problem);
                continue;
            }
        };
        match tell(&found) {
            Ok(Guess::Known(content)) => {
                settled.problems.extend(wrong_shape(&found, content));
                known.push((found, content));
            }
            Ok(Guess::Unknown(what)) if is_file => {
                return Err(CollectError::Unknown { origin, what });
            }
            Ok(Guess::Blank) if is_file => return Err(CollectError::Empty { origin }),
            Ok(Guess::Unknown(what)) if names::is_document(&found.path) => {
                let place = found.head().ok().and_then(|(head, _)| json_place(&head));
                settled.problems.push(Problem {
                    place,
                    ..Problem::new(found.origin, format!("is {what}; not used"))
                });
            }
            Ok(Guess::Blank) if ends_in(&found.path, &["json"]) => {
                settled
                    .problems
                    .push(Problem::new(found.origin, "is empty"));
            }
            Ok(_) => {}
            Err(problem) => settled.problems.push(problem),
        }
    }
    if known.is_empty() {
        return Err(if settled.problems.is_empty() {
            CollectError::NothingKnown { origin, archive }
        } else {
            CollectError::Unknown {
                origin,
                what: format!("of no use: {}", some_of(&settled.problems)),
            }
        });
    }
    name(known, &base, &mut settled);
    Ok(settled)
}

fn tell(found: &SourceFile) -> Result<Guess, Problem> {
    let (head, whole) = found.head()?;
    match sniff(&head, whole) {
        Guess::Undecided
            if found.body.len() <= SEARCHED
                && (is_json(&head) || names::is_document(&found.path)) =>
        {
            Ok(sniff(&found.bytes()?, true))
        }
        Guess::Undecided => Ok(Guess::Unknown("text of no known kind".to_owned())),
        told => Ok(told),
    }
}

fn name(known: Vec<(SourceFile, Content)>, base: &str, settled: &mut SourceParts) {
    let owners = Owners::of(&known);
    let why = || Coverage::Partial("only the files given were read".to_owned());
    for (found, content) in known {
        let id = match content {
            Content::Objects => format!(
                "k8s/{}",
                with_ending(parts(&format!("{base}/{}", found.path)), &found)
            ),
            Content::Syncz => format!("istiod/{}/debug/syncz.json", stem(&found.path)),
            _ => owners.id(&found, content),
        };
        let top = id
            .split_inclusive('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        settled.notes.push((Need::of_path(&top), why()));
        settled.documents.push((DocId::new(id), found));
    }
    settled.notes.sort_by(|(a, _), (b, _)| a.cmp(b));
    settled.notes.dedup();
}

/// Objects in a bundle have the ending of what they are.
fn with_ending(path: String, found: &SourceFile) -> String {
    match found.head() {
        _ if names::is_document(&path) => path,
        Ok((head, _)) if is_json(&head) => path + ".json",
        _ => path + ".yaml",
    }
}

/// Which proxy each of the files belongs to. A dump says so itself; what lies beside a dump belongs
/// to it. Owners are written `namespace/pod`.
#[derive(Default)]
struct Owners {
    of_dump: BTreeMap<String, String>,
    /// The owners of the dumps in a folder, and of those with one key in a folder.
    in_folder: BTreeMap<String, Vec<String>>,
    by_key: BTreeMap<(String, String), Vec<String>>,
    /// How many documents of a kind are in a folder.
    rivals: BTreeMap<(String, &'static str), usize>,
}

impl Owners {
    fn of(known: &[(SourceFile, Content)]) -> Self {
        let mut owners = Self::default();
        for (found, content) in known {
            let around = folder(&found.path).to_owned();
            *owners
                .rivals
                .entry((around.clone(), file_of(*content)))
                .or_default() += 1;
            if file_of(*content) == "config_dump.json" {
                let owner = node(found).unwrap_or_else(|| format!("-/{}", stem(&found.path)));
                owners
                    .in_folder
                    .entry(around.clone())
                    .or_default()
                    .push(owner.clone());
                owners
                    .by_key
                    .entry((around, key(&found.path)))
                    .or_default()
                    .push(owner.clone());
                owners.of_dump.insert(found.path.clone(), owner);
            }
        }
        owners
    }

    fn id(&self, found: &SourceFile, content: Content) -> String {
        let name = file_of(content);
        let owner = self
            .of_dump
            .get(&found.path)
            .or_else(|| self.beside(&found.path, name))
            .cloned();
        let folder = if content == Content::Ztunnel {
            "ztunnels"
        } else {
            "proxies"
        };
        format!(
            "{folder}/{}/{name}",
            owner.unwrap_or_else(|| format!("-/{}", stem(&found.path)))
        )
    }

    /// The owner of the dump a file belongs to: the one in its folder with the same name but for
    /// words such as `clusters`, or the only dump there when no other file wants it.
    fn beside(&self, path: &str, name: &'static str) -> Option<&String> {
        let around = folder(path).to_owned();
        if let Some([owner]) = self
            .by_key
            .get(&(around.clone(), key(path)))
            .map(Vec::as_slice)
        {
            return Some(owner);
        }
        match self.in_folder.get(&around)?.as_slice() {
            [owner] if self.rivals.get(&(around, name)) == Some(&1) => Some(owner),
            _ => None,
        }
    }
}

/// The name a bundle has for it.
fn file_of(content: Content) -> &'static str {
    match content {
        Content::ConfigDump | Content::Ztunnel => "config_dump.json",
        Content::ClustersJson => "clusters.json",
        Content::ClustersText => "clusters.txt",
        Content::ListenersJson => "listeners.json",
        Content::ListenersText => "listeners.txt",
        Content::Certs => "certs.json",
        Content::ServerInfo => "server_info.json",
        Content::Stats => "stats.txt",
        Content::Prometheus => "stats.prom",
        Content::Logging => "logging.txt",
        Content::Syncz => "syncz.json",
        Content::Objects => "objects",
    }
}

/// What a file's name says beside the kind of document: of `clusters-cart-1.json.gz` it is
/// `cart-1`.
fn key(path: &str) -> String {
    const WORDS: [&str; 9] = [
        "config",
        "dump",
        "clusters",
        "stats",
        "prometheus",
        "certs",
        "listeners",
        "server",
        "info",
    ];
    let words = without_endings(path).split(['-', '_', '.', '?']);
    words
        .filter(|word| !word.is_empty() && !WORDS.contains(word))
        .collect::<Vec<_>>()
        .join("-")
}

/// What to call a proxy that does not say its name: the file's name, or the folder's when that says
/// more.
fn stem(path: &str) -> String {
    let around = file(folder(path));
    let name = part(if key(path).is_empty() && !around.is_empty() {
        around
    } else {
        without_endings(path)
    });
    if name.is_empty() {
        "proxy".to_owned()
    } else {
        name
    }
}

fn without_endings(path: &str) -> &str {
    let name = file(path);
    [".json", ".txt", ".prom", ".yaml"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name)
}

/// `namespace/pod` of the node a dump's bootstrap names, such as
/// `sidecar~10.0.0.1~cart-1.shop~shop.svc.cluster.local`.
fn node(dump: &SourceFile) -> Option<String> {
    let (head, whole) = dump.head().ok()?;
    let id = node_id(&head).or_else(|| {
        if whole {
            None
        } else {
            node_id(&dump.bytes().ok()?)
        }
    })?;
    let name = id.split('~').nth(2)?;
    let (pod, namespace) = name.rsplit_once('.')?;
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && part(name) == name;
    (is_name(pod) && is_name(namespace)).then(|| format!("{namespace}/{pod}"))
}

/// The bootstrap comes first in a dump, so its start is enough as a rule: the walk ends where the
/// text does.
fn node_id(dump: &[u8]) -> Option<String> {
    let text: Cow<'_, str> = String::from_utf8_lossy(dump);
    let mut id = None;
    let root = Raw::of(&text).ok()?;
    let mut find = |bootstrap: &mut Cursor<'_>| {
        on(bootstrap, "node", &mut |node| {
            on(node, "id", &mut |value| {
                id = value.string().map(Cow::into_owned);
            });
        });
    };
    on(&mut root.cursor(), "configs", &mut |configs| {
        configs.elements(|section| on(section, "bootstrap", &mut find));
    });
    id
}

/// Calls `then` with the member of that name.
fn on(object: &mut Cursor<'_>, key: &str, then: &mut dyn FnMut(&mut Cursor<'_>)) {
    object.members(|name, value| {
        if name == key {
            then(value);
        }
    });
}
