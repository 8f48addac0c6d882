//! The files that are looked at, with code and comments told apart.

use std::fs;
use std::path::Path;

use crate::expect::root;

/// A file of the repository.
pub(super) struct Source {
    /// Its path from the repository's root, with `/`.
    pub(super) path: String,
    /// All of it.
    pub(super) text: String,
    /// Its Rust code: comments and literals are blank, lines stay where they are.
    pub(super) code: String,
    /// Its Rust comments: all else is blank, lines stay where they are.
    pub(super) comments: String,
}

impl Source {
    /// All Rust files of the workspace.
    pub(super) fn rust() -> Vec<Self> {
        let is_rust = |path: &str| Path::new(path).extension().is_some_and(|e| e == "rs");
        files(
            &["crates", "fuzz/fuzz_targets"],
            is_rust,
            "crates/core/judge/src/lib.rs",
        )
    }

    /// All scripts.
    pub(super) fn scripts() -> Vec<Self> {
        files(&["scripts", ".ci"], |_| true, "scripts/test")
    }

    pub(super) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let (mut code, mut comments) = (String::new(), String::new());
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (kind, length) = first_piece(rest);
            let (piece, tail) = rest.split_at(length);
            let blank: String = piece
                .chars()
                .map(|c| if c == '\n' { c } else { ' ' })
                .collect();
            code.push_str(if kind == Piece::Code { piece } else { &blank });
            comments.push_str(if kind == Piece::Comment {
                piece
            } else {
                &blank
            });
            rest = tail;
        }
        Self {
            path: path.into(),
            text,
            code,
            comments,
        }
    }

    /// Whether all of the file is tests.
    pub(super) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// The code before the module of tests at its end; nothing of a file that is all tests.
    pub(super) fn product_code(&self) -> &str {
        let tests = self
            .code
            .find("#[cfg(test)]\nmod ")
            .unwrap_or(self.code.len());
        if self.is_test() {
            ""
        } else {
            &self.code[..tests]
        }
    }

    /// A problem with the place in `self.code` (or `self.comments`) that starts at the byte `at`.
    pub(super) fn problem(&self, part: &str, at: usize, what: &str) -> String {
        format!(
            "{}:{}: {what}",
            self.path,
            part[..at].matches('\n').count() + 1
        )
    }
}

/// The files below these folders. One that must be among them shows that the walk saw the tree.
fn files(folders: &[&str], wanted: impl Fn(&str) -> bool, witness: &str) -> Vec<Source> {
    let root = root();
    let mut paths = Vec::new();
    for folder in folders {
        walk(&root, folder, &mut paths);
    }
    assert!(
        paths.iter().any(|path| path == witness),
        "{witness} is not below {folders:?}"
    );
    paths.retain(|path| wanted(path));
    paths.sort();
    // What is not text is not ours to judge.
    let read = |path: String| {
        fs::read_to_string(root.join(&path))
            .ok()
            .map(|text| Source::new(path, text))
    };
    paths.into_iter().filter_map(read).collect()
}

fn walk(root: &Path, folder: &str, found: &mut Vec<String>) {
    // A folder that is not there has no files: not every checkout has a `fuzz`.
    for entry in fs::read_dir(root.join(folder))
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(root, &path, found);
        } else {
            found.push(path);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Code,
    Comment,
    Literal,
}

/// What the text starts with, and how long that is.
fn first_piece(text: &str) -> (Piece, usize) {
    let word = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    let raw = &text[word..].trim_start_matches('#');
    let hashes = text.len() - word - raw.len();
    if ["r", "br", "cr"].contains(&&text[..word]) && raw.starts_with('"') {
        let close = format!("\"{}", "#".repeat(hashes));
        let open = word + hashes + 1;
        return (
            Piece::Literal,
            text[open..]
                .find(&close)
                .map_or(text.len(), |at| open + at + close.len()),
        );
    }
    match text.as_bytes() {
        [b'/', b'/', ..] => (Piece::Comment, text.find('\n').unwrap_or(text.len())),
        [b'/', b'*', ..] => (Piece::Comment, block_comment(text)),
        [b'"', ..] => (Piece::Literal, closed_by('"', text)),
        [b'\'', b'\\', ..] => (Piece::Literal, closed_by('\'', text)),
        // `'x'` is a character, `'x` a lifetime.
        [b'\'', ..] => match text.char_indices().nth(2) {
            Some((at, '\'')) => (Piece::Literal, at + 1),
            _ => (Piece::Code, 1),
        },
        _ => (
            Piece::Code,
            word.max(text.chars().next().map_or(0, char::len_utf8)),
        ),
    }
}

fn closed_by(quote: char, text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[test]
fn comments_and_literals_are_told_from_code() {
    for (text, code, comments) in [
        ("a // b\nc", "a c", "// b"),
        ("a /* b /* c */ d */ e", "a e", "/* b /* c */ d */"),
        (r#"f("// \" no", g) // "h"#, "f( , g)", "// \"h"),
        ("r#\"a \" // b\"# c // d", "c", "// d"),
        ("r#type 'a 'b' '\\'' '\"' b'/' // e", "r#type 'a b", "// e"),
    ] {
        let source = Source::new("x.rs", text);
        let words = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            (
                words(&source.code).as_str(),
                words(&source.comments).as_str()
            ),
            (code, comments),
            "{text}"
        );
        assert_eq!(
            (source.code.len(), source.comments.len()),
            (text.len(), text.len()),
            "{text}"
        );
    }
}

#[test]
fn product_code_ends_where_tests_begin() {
    let text = "fn a() {}\n#[cfg(test)]\nfn helper() {}\n#[cfg(test)]\nmod tests {}\n";
    assert_eq!(
        Source::new("src/a.rs", text).product_code(),
        "fn a() {}\n#[cfg(test)]\nfn helper() {}\n"
    );
    assert_eq!(Source::new("src/a/tests.rs", text).product_code(), "");
}
