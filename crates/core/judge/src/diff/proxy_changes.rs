//! What several proxies show, each thing once.

use std::collections::BTreeMap;

use super::{ChangeKind, Diff, DiffChange};

/// What makes two changes the same: what happened, kind, name, meaning, and the parts.
type Key = (ChangeKind, String, String, Option<String>, Vec<String>);

/// See the module.
#[derive(Default)]
pub(super) struct ProxyChanges {
    pub(super) changes: Vec<DiffChange>,
    places: BTreeMap<Key, usize>,
}

impl ProxyChanges {
    /// Adds what one comparison showed; the rest of it goes into the whole.
    pub(super) fn add(
        &mut self,
        one: Diff,
        on: &str,
        whole: &mut Diff,
        blame: impl Fn(&mut DiffChange),
    ) {
        whole.noise.absorb(one.noise);
        whole.compared += one.compared;
        whole.unknown.extend(one.unknown);
        for mut change in one.changes {
            let paths = change.edits.iter().map(|edit| edit.path.clone()).collect();
            let key = (
                change.what,
                change.kind.clone(),
                change.name.clone(),
                change.means.clone(),
                paths,
            );
            if let Some(&at) = self.places.get(&key) {
                let seen = &mut self.changes[at].on;
                if seen.last().map(String::as_str) != Some(on) {
                    seen.push(on.to_owned());
                }
                continue;
            }
            change.on = vec![on.to_owned()];
            blame(&mut change);
            self.places.insert(key, self.changes.len());
            self.changes.push(change);
        }
    }
}
