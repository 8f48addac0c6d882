//! Paths and sizes as text: safe to show, and safe to use as the name of a document.

/// A path as it may be shown: a name with control characters could otherwise rewrite the user's
/// terminal.
pub(crate) fn shown(path: &str) -> String {
    path.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect()
            } else {
                vec![c]
            }
        })
        .collect()
}

/// The path of a file inside a source, from the name an archive gives it.
///
/// # Errors
/// Why the name is not one of a file inside.
pub(crate) fn inside(name: &str) -> Result<String, &'static str> {
    if name.starts_with('/') {
        return Err("has an absolute path");
    }
    if name.contains(char::is_control) {
        return Err("has control characters in its name");
    }
    let parts: Vec<&str> = name
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    match parts.as_slice() {
        [] => Err("has no name"),
        parts if parts.contains(&"..") => Err("has a path that leads out of the archive"),
        parts => Ok(parts.join("/")),
    }
}

/// Whether a path has a hidden part: `.git/config`, macOS's `._pods.json`, the `..data` of a
/// mounted `ConfigMap`.
pub(crate) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

/// One part of a document's id, made of a name that may hold anything.
pub(crate) fn part(name: &str) -> String {
    let safe = |c: char| {
        if c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | '+' | '=') {
            c
        } else {
            '-'
        }
    };
    name.trim_start_matches('.').chars().map(safe).collect()
}

/// A path made of [`part`]s.
pub(crate) fn parts(path: &str) -> String {
    path.split('/')
        .map(part)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("/")
}

/// The last part of a path.
pub(crate) fn file(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The path without the last part.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The name without the ending of a compressed file: `config_dump.json.gz` is a `config_dump.json`.
pub(crate) fn unpacked(path: &str) -> &str {
    path.strip_suffix(".gz")
        .or_else(|| path.strip_suffix(".zst"))
        .unwrap_or(path)
}

/// Whether a name promises a document: then a content that is none is worth a word.
pub(crate) fn is_document(path: &str) -> bool {
    ends_in(path, &["yaml", "yml", "json"])
}

/// Whether a name has one of these endings.
pub(crate) fn ends_in(path: &str, endings: &[&str]) -> bool {
    let ending = file(path).rsplit_once('.').map_or("", |(_, ending)| ending);
    endings
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

/// A number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = (0..4)
        .take_while(|step| bytes >> (10 * (step + 1)) > 0)
        .count();
    let tenths =
        (bytes >> (10 * step)) * 10 + ((bytes >> (10 * step.saturating_sub(1))) % 1024) * 10 / 1024;
    let fraction = if step > 0 && !tenths.is_multiple_of(10) {
        format!(".{}", tenths % 10)
    } else {
        String::new()
    };
    format!("{}{fraction} {}", tenths / 10, UNITS[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (10 << 20, "10 MiB"),
            (4 << 30, "4 GiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn only_names_of_files_inside_are_taken_from_an_archive() {
        for (name, path) in [
            ("./k8s//pods.json", "k8s/pods.json"),
            ("a/./b", "a/b"),
            ("a..b/..c", "a..b/..c"),
        ] {
            assert_eq!(inside(name).as_deref(), Ok(path));
        }
        for name in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a/..",
            "",
            "./",
            "a\u{1b}[2J",
        ] {
            assert!(inside(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn what_is_shown_has_no_control_characters() {
        assert_eq!(shown("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
    }

    #[test]
    fn parts_of_ids_are_safe_as_file_names() {
        assert_eq!(
            (part("../a b"), parts("./.github//x y/v.yaml")),
            ("-a-b".to_owned(), "github/x-y/v.yaml".to_owned())
        );
    }
}
