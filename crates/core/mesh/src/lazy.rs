//! Facts that are read off objects when somebody first asks: of many a mesh nobody does.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use super::{Objects, probe};

type Build<T> = Box<dyn FnOnce() -> Vec<T> + Send>;

/// A list that is made when it is first looked at.
pub struct Lazy<T>(Arc<LazyLock<Vec<T>, Build<T>>>);

impl<T: 'static> Lazy<T> {
    pub(super) fn of(objects: &Objects, read: fn(&Objects) -> Vec<T>) -> Self {
        let objects = objects.clone();
        Self(Arc::new(LazyLock::new(Box::new(move || {
            probe::aside(|| read(&objects))
        }))))
    }
}

impl<T> Deref for Lazy<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> Clone for Lazy<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: 'static> Default for Lazy<T> {
    fn default() -> Self {
        Self::of(&Objects::default(), |_| Vec::new())
    }
}

impl<T: fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
