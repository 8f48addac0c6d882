//! A document in which evidence is looked up: read once, however much of it is evidence.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use crate::finding::Spot;
use meshladder_capture::snapshot::Document;
use meshladder_text::json::{Raw, ValueKind};
use meshladder_text::place::Place;
use meshladder_text::tree::Node;
use meshladder_text::yaml::{self, Scalars};

/// See the module.
pub(super) struct Lookup<'d> {
    pub(super) doc: &'d Document,
    trees: Option<Trees>,
    /// Where lines end.
    breaks: OnceCell<Vec<usize>>,
    /// How many characters start before each block of bytes: a line may be a whole document.
    counted: OnceCell<Vec<usize>>,
    /// What stands in each object and list of JSON that something was looked up in, by its place:
    /// who went through one from the start for each piece of evidence would read a large one as
    /// often as there is something to say of it.
    inside: RefCell<BTreeMap<usize, Rc<Inside<'d>>>>,
}

/// What an object or a list of JSON holds.
enum Inside<'d> {
    /// By name, each with the place of its name; of several with one name the first.
    Members(BTreeMap<String, (Range<usize>, Raw<'d>)>),
    Items(Vec<Raw<'d>>),
}

impl<'d> Inside<'d> {
    fn of(raw: Raw<'d>) -> Self {
        if raw.kind() == ValueKind::Array {
            return Self::Items(raw.elements().collect());
        }
        let mut all = BTreeMap::new();
        let mut members = raw.members();
        while let Some((name, value)) = members.next() {
            let place = members.key_span();
            all.entry(name.into_owned()).or_insert((place, value));
        }
        Self::Members(all)
    }

    fn get(&self, token: &str) -> Option<Raw<'d>> {
        match self {
            Self::Items(items) => items.get(token.parse::<usize>().ok()?).copied(),
            Self::Members(members) => members.get(&unescape(token)).map(|(_, value)| *value),
        }
    }

    fn key(&self, token: &str) -> Option<Range<usize>> {
        match self {
            Self::Items(_) => None,
            Self::Members(members) => members
                .get(&unescape(token))
                .map(|(place, _)| place.clone()),
        }
    }
}

/// The YAML documents of a file that evidence stands in.
struct Trees {
    count: usize,
    by_number: BTreeMap<usize, Node>,
}

impl<'d> Lookup<'d> {
    pub(super) fn new<'s>(doc: &'d Document, spots: impl Iterator<Item = &'s Spot>) -> Self {
        let pointers = spots.filter_map(Spot::pointer);
        let numbers: BTreeSet<usize> = pointers
            .map(|pointer| yaml::number(pointer).map_or(0, |(number, _)| number))
            .collect();
        let trees = (!yaml::is_json(&doc.text) && !numbers.is_empty())
            .then(|| Trees::load(&doc.text, &numbers));
        Self {
            doc,
            trees,
            breaks: OnceCell::new(),
            counted: OnceCell::new(),
            inside: RefCell::default(),
        }
    }

    /// The bytes that an RFC 6901 pointer leads to.
    pub(super) fn range(&self, pointer: &str) -> Option<Range<usize>> {
        let Some(trees) = &self.trees else {
            return self.json(pointer).map(|raw| raw.offset()..raw.end());
        };
        let (number, rest) = if trees.count == 1 {
            (0, pointer)
        } else {
            yaml::number(pointer)?
        };
        trees
            .by_number
            .get(&number)?
            .pointer(rest)
            .map(|node| node.span.range())
    }

    fn json(&self, pointer: &str) -> Option<Raw<'d>> {
        let root = Raw::of(&self.doc.text).ok()?;
        pointer
            .split('/')
            .skip(1)
            .try_fold(root, |raw, token| self.inside(raw).get(token))
    }

    fn inside(&self, raw: Raw<'d>) -> Rc<Inside<'d>> {
        let mut inside = self.inside.borrow_mut();
        let known = inside
            .entry(raw.offset())
            .or_insert_with(|| Rc::new(Inside::of(raw)));
        Rc::clone(known)
    }

    /// The bytes of the name of the member that a pointer leads to; those of the value where it has
    /// none.
    pub(super) fn key_range(&self, pointer: &str) -> Option<Range<usize>> {
        self.find_key(pointer).or_else(|| self.range(pointer))
    }

    fn find_key(&self, pointer: &str) -> Option<Range<usize>> {
        let (parent, key) = pointer.rsplit_once('/')?;
        let Some(trees) = &self.trees else {
            return self.inside(self.json(parent)?).key(key);
        };
        let key = unescape(key);
        let (number, rest) = if trees.count == 1 {
            (0, parent)
        } else {
            yaml::number(parent)?
        };
        let parent = trees.by_number.get(&number)?.pointer(rest)?;
        parent
            .members()
            .iter()
            .find(|member| *member.key == *key)
            .map(|member| member.key_span.range())
    }

    /// Line and column of a byte.
    pub(super) fn place(&self, at: usize) -> Place {
        let line = self.breaks().partition_point(|newline| *newline < at);
        let start = line
            .checked_sub(1)
            .map_or(0, |before| self.breaks()[before] + 1);
        Place {
            line: line + 1,
            column: self.characters_before(at) - self.characters_before(start) + 1,
        }
    }

    fn characters_before(&self, at: usize) -> usize {
        const BLOCK: usize = 1024;
        let bytes = self.doc.text.as_bytes();
        let starts = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        let counted = self.counted.get_or_init(|| {
            let mut sum = 0;
            let mut counted = vec![0];
            for block in bytes.chunks(BLOCK) {
                sum += starts(block);
                counted.push(sum);
            }
            counted
        });
        let at = at.min(bytes.len());
        let block = at / BLOCK;
        counted[block] + starts(&bytes[block * BLOCK..at])
    }

    /// A line, counted from 1.
    pub(super) fn line(&self, number: usize) -> Option<&str> {
        let before = number.checked_sub(1)?;
        let start = before.checked_sub(1).map_or(Some(0), |last| {
            self.breaks().get(last).map(|newline| newline + 1)
        })?;
        let end = self
            .breaks()
            .get(before)
            .copied()
            .unwrap_or(self.doc.text.len());
        self.doc
            .text
            .get(start..end)
            .map(|line| line.trim_end_matches('\r'))
    }

    fn breaks(&self) -> &[usize] {
        self.breaks
            .get_or_init(|| memchr::memchr_iter(b'\n', self.doc.text.as_bytes()).collect())
    }
}

impl Trees {
    /// All are read, because only then is it known which is which; few are kept.
    fn load(text: &str, numbers: &BTreeSet<usize>) -> Self {
        let mut trees = Self {
            count: 0,
            by_number: BTreeMap::new(),
        };
        let mut scalars = Scalars::default();
        for document in yaml::split(text)
            .iter()
            .flat_map(|part| part.load(&mut scalars).documents)
        {
            if trees.count == 0 || numbers.contains(&trees.count) {
                trees.by_number.insert(trees.count, document);
            }
            trees.count += 1;
        }
        trees
    }
}

/// The value that an RFC 6901 pointer leads to.
pub(super) fn walk<'a>(root: Raw<'a>, pointer: &str) -> Option<Raw<'a>> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(root, |raw, token| match raw.kind() {
            ValueKind::Array => raw.elements().nth(token.parse().ok()?),
            _ => raw.get(&unescape(token)),
        })
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_capture::snapshot::{Builder, DocId};

    #[test]
    fn a_name_is_found_in_json_and_in_yaml_and_a_list_has_none() {
        for text in [
            r#"{"a": {"b/c": [1], "d": 2}}"#,
            "a:\n  b/c:\n  - 1\n  d: 2\n",
            "x: 1\n---\na:\n  b/c: [1]\n",
        ] {
            let mut builder = Builder::new();
            let id = DocId::new("k8s/a.yaml");
            builder.add(id.clone(), "a", text.into());
            let doc = builder.finish().open(&id).expect("it is there");
            let base = if text.starts_with('x') { "/1" } else { "" };
            let pointer = format!("{base}/a/b~1c");
            let lookup = Lookup::new(&doc, [Spot::Key(pointer.clone())].iter());
            let found = |pointer: &str| lookup.key_range(pointer).map(|range| &text[range]);
            assert_eq!(
                found(&pointer).map(|name| name.trim_matches('"')),
                Some("b/c"),
                "{text}"
            );
            assert_eq!(found(&format!("{pointer}/0")), Some("1"), "{text}");
            assert_eq!(found(&format!("{base}/a/z")), None, "{text}");
        }
    }
}
