//! Expectations kept as files, which `scripts/bless` rewrites. Tests of the other crates include
//! this file by `#[path]`.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Asserts that a file of the repository holds `actual`. With `MESHLADDER_BLESS` in the environment
/// it is written instead. `path` starts at the repository's root.
#[track_caller]
pub(crate) fn expect_file(path: &str, actual: &str) {
    if let Err(difference) = compare(
        &root().join(path),
        actual,
        env::var_os("MESHLADDER_BLESS").is_some(),
    ) {
        panic!(
            "{path}{difference}\nif that is what it should say: scripts/bless, and read the diff"
        );
    }
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").exists())
        .expect("every crate is below the root")
        .to_owned()
}

fn compare(path: &Path, actual: &str, bless: bool) -> Result<(), String> {
    let expected = fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return Ok(());
    }
    if !bless {
        return Err(difference(&expected, actual));
    }
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(|e| format!(": {e}"))?;
    fs::write(path, actual).map_err(|e| format!(": {e}"))
}

/// The first line that differs, as `:line: expected …, got …`.
fn difference(expected: &str, actual: &str) -> String {
    let (mut expected, mut actual) = (expected.split('\n'), actual.split('\n'));
    let mut line = 0;
    loop {
        line += 1;
        let (want, have) = (expected.next(), actual.next());
        if want != have {
            let show = |side: Option<&str>| {
                side.map_or_else(|| "the end".to_owned(), |text| format!("{text:?}"))
            };
            return format!(":{line}: expected {}, got {}", show(want), show(have));
        }
    }
}

#[test]
fn a_difference_is_told_by_its_first_line_and_blessing_removes_it() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_PKG_NAME"));
    let path = folder.join("some.txt");
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("what an earlier run left can be removed");
    }
    assert_eq!(
        compare(&path, "a\nb\n", false),
        Err(r#":1: expected "", got "a""#.to_owned())
    );
    assert_eq!(compare(&path, "a\nb\n", true), Ok(()));
    assert_eq!(compare(&path, "a\nb\n", false), Ok(()));
    assert_eq!(
        compare(&path, "a\nc\n", false),
        Err(r#":2: expected "b", got "c""#.to_owned())
    );
    assert_eq!(
        compare(&path, "a\nb", false),
        Err(r#":3: expected "", got the end"#.to_owned())
    );
}
