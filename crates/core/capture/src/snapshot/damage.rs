//! What turned out to be unreadable once documents were taken apart.
//!
//! Whether a document is whole is known only when somebody reads it, and a dump is never read for
//! that alone. So who reads one notes what it could not make out, and from then on the document
//! proves the absence of nothing: [`super::Coverage::Lost`].

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{DocId, Need, Problem};

/// The first problem of each damaged document.
#[derive(Debug, Default)]
pub(super) struct DamageLog(Mutex<BTreeMap<DocId, Problem>>);

impl DamageLog {
    /// Keeps the problem that stands first in the document, whoever reads it first.
    pub(super) fn note(&self, id: &DocId, problem: Problem) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = |problem: &Problem| (problem.place, problem.what.clone());
        match noted.get(id) {
            Some(known) if key(known) <= key(&problem) => {}
            _ => {
                noted.insert(id.clone(), problem);
            }
        }
    }

    /// Everything noted so far, in the order of documents.
    pub(super) fn all(&self) -> Vec<Problem> {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.values().cloned().collect()
    }

    /// Why a kind of fact of a source may lack something: the first damaged document that could
    /// hold some of it.
    pub(super) fn of(&self, source: &str, need: &Need) -> Option<String> {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.is_empty() {
            return None;
        }
        let path = need.path();
        let hit = noted.iter().find(|(id, _)| {
            let (of, document) = id.split();
            of == source && may_hold(document, need, &path)
        });
        hit.map(|(_, problem)| problem.to_string())
    }
}

/// Whether a document may hold some of a kind of fact.
fn may_hold(document: &str, need: &Need, path: &str) -> bool {
    if path.is_empty() || document == path {
        return true;
    }
    if path.ends_with('/') {
        return document.starts_with(path);
    }
    need.objects().is_some() && document.starts_with("k8s/") && {
        let stem = document
            .strip_suffix(".yaml")
            .or(document.strip_suffix(".yml"));
        let listed = stem.map_or_else(|| document.to_owned(), |stem| format!("{stem}.json"));
        match Need::of_path(&listed) {
            own @ Need::Objects(_) => own == *need,
            // A list of another group's kind holds nothing else; a file of any name may hold all.
            Need::OtherObjects(name) => !name.contains('.'),
            Need::Part(_) | Need::Path(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use crate::snapshot::Part;

    #[test]
    fn damage_bears_on_what_the_document_may_hold_and_on_nothing_else() {
        let pods = Need::Objects(Kind::Pod);
        for (document, need, bears) in [
            ("k8s/pods.json", pods.clone(), true),
            ("k8s/pods.yaml", pods.clone(), true),
            ("k8s/services.json", pods.clone(), false),
            ("k8s/rollouts.argoproj.io.json", pods.clone(), false),
            ("k8s/all.json", pods.clone(), true),
            ("k8s/manifests/shop.yaml", pods.clone(), true),
            ("proxies/shop/a/config_dump.json", pods, false),
            (
                "proxies/shop/a/config_dump.json",
                Need::Part(Part::Proxies),
                true,
            ),
            ("istiod/a/debug/syncz.json", Need::Part(Part::Istiod), true),
            (
                "istiod/a/debug/syncz.json",
                Need::Part(Part::Everything),
                true,
            ),
        ] {
            let log = DamageLog::default();
            log.note(
                &DocId::new(document),
                Problem::new(document, "is cut short"),
            );
            assert_eq!(log.of("", &need).is_some(), bears, "{document} {need}");
            assert_eq!(log.of("other", &need), None);
        }
    }

    #[test]
    fn of_several_problems_the_first_in_the_document_is_kept() {
        use meshladder_text::place::Place;
        let at = |line, what: &str| Problem {
            place: Some(Place { line, column: 1 }),
            ..Problem::new("pods.json", what)
        };
        let log = DamageLog::default();
        let id = DocId::new("k8s/pods.json");
        log.note(&id, at(7, "later"));
        log.note(&id, at(3, "first"));
        log.note(&id, at(9, "last"));
        assert_eq!(log.all(), [at(3, "first")]);
    }
}
