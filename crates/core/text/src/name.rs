//! Names of members: few, and in every object.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A member's name, shared, and in half the room of other texts: a mesh has millions of members.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<Box<str>>);

/// Names that were read before. A name has one place here and takes it from the one before, so that
/// no input makes this large or slow.
#[derive(Debug, Default)]
pub struct Names(Vec<Option<Name>>);

impl Names {
    const PLACES: usize = 512;

    /// The name, if it is kept here.
    pub fn find(&self, text: &str) -> Option<Name> {
        let name = self.0.get(place(text))?.as_ref()?;
        if **name != *text {
            return None;
        }
        Some(name.clone())
    }

    /// Keeps a name for the next time.
    pub fn keep(&mut self, name: &Name) {
        if self.0.is_empty() {
            self.0.resize(Self::PLACES, None);
        }
        self.0[place(name)] = Some(name.clone());
    }

    /// The name for a text: the one that is kept here, or a new one.
    pub fn of(&mut self, text: &str) -> Name {
        if let Some(name) = self.find(text) {
            return name;
        }
        let name = text.into();
        self.keep(&name);
        name
    }
}

/// Nine of the upper bits of the hash: 512 places.
fn place(text: &str) -> usize {
    usize::try_from(fnv_1a(text) >> 55).unwrap_or_default()
}

/// FNV-1a. Keys are short, and nobody gains anything by making two of them collide.
pub(crate) fn fnv_1a(text: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl From<Arc<str>> for Name {
    fn from(text: Arc<str>) -> Self {
        (&*text).into()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_until_another_takes_its_place() {
        let mut names = Names::default();
        let first = names.of("metadata");
        assert!(Arc::ptr_eq(&first.0, &names.of("metadata").0));
        for number in 0..10_000 {
            assert_eq!(
                &*names.of(&format!("name-{number}")),
                format!("name-{number}")
            );
        }
        assert_eq!(names.0.len(), Names::PLACES);
    }
}
