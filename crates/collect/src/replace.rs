//! Changes a user's file so that at any moment, whatever ends the program or fills the disk, it is
//! either what it was or what it is to be.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::Path;

/// Gives a file another content. Its owner, its mode and its links stay.
///
/// # Errors
/// When the disk refuses; the file is then as it was.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    // What a link leads to is changed, not the link.
    let path = fs::canonicalize(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let before = fs::metadata(&path)?;
    let mut fresh = tempfile::Builder::new()
        .prefix(".meshladder-")
        .tempfile_in(folder)?;
    fresh.write_all(content)?;
    fresh.as_file().set_permissions(before.permissions())?;
    fresh.as_file().sync_all()?;
    if !is_alone(&before) || !give(fresh.as_file(), &before) {
        return in_place(&path, content, fresh);
    }
    fresh.persist(&path)?;
    // The name is as safe as the content once the folder is.
    File::open(folder)?.sync_all()
}

/// Whether the file has no other name, which would keep the old content.
#[cfg(unix)]
fn is_alone(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.nlink() == 1
}

#[cfg(not(unix))]
fn is_alone(_: &Metadata) -> bool {
    true
}

/// Gives a file to the owner of another; whether that is so now.
#[cfg(unix)]
fn give(file: &File, like: &Metadata) -> bool {
    use std::os::unix::fs::{MetadataExt, fchown};
    let is_same = |own: &Metadata| (own.uid(), own.gid()) == (like.uid(), like.gid());
    if file.metadata().is_ok_and(|own| is_same(&own)) {
        return true;
    }
    // Only root may give files away; a change of owner takes the mode's special bits with it.
    fchown(file, Some(like.uid()), Some(like.gid())).is_ok()
        && file.set_permissions(like.permissions()).is_ok()
}

#[cfg(not(unix))]
fn give(_: &File, _: &Metadata) -> bool {
    true
}

/// Writes over the file itself. The new content is on the disk beside it until that is done: what
/// is cut short can be completed by hand.
fn in_place(path: &Path, content: &[u8], beside: tempfile::NamedTempFile) -> io::Result<()> {
    let written = (|| {
        let mut file = File::options().write(true).open(path)?;
        file.write_all(content)?;
        file.set_len(content.len() as u64)?;
        file.sync_all()
    })();
    match written {
        Ok(()) => Ok(()),
        Err(error) => {
            let (_, kept) = beside.keep().map_err(|error| error.error)?;
            let why = format!("{error}; the new content is in {}", kept.display());
            Err(io::Error::new(error.kind(), why))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn mode_links_and_names_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, hard, soft] =
            ["a.yaml", "hard.yaml", "soft.yaml"].map(|n| folder.path().join(n));
        fs::write(&file, "old and longer").expect("it takes text");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("it is ours");
        symlink(&file, &soft).expect("a link");
        replace(&soft, b"new").expect("it is replaced");
        assert!(soft.is_symlink());
        assert_eq!(fs::read(&file).expect("it is there"), b"new");
        assert_eq!(
            fs::metadata(&file).expect("it is there").mode() & 0o777,
            0o640
        );
        fs::hard_link(&file, &hard).expect("a link");
        replace(&file, b"newer").expect("it is replaced");
        assert_eq!(fs::read(&hard).expect("it is there"), b"newer");
        let left = fs::read_dir(folder.path()).expect("it is there").count();
        assert_eq!(left, 3, "no temporary file is left");
    }

    #[test]
    fn what_cannot_be_written_is_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.yaml");
        fs::write(&file, "old").expect("it takes text");
        assert!(replace(&folder.path().join("none.yaml"), b"new").is_err());
        assert_eq!(fs::read(&file).expect("it is there"), b"old");
    }
}
