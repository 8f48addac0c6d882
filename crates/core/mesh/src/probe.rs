//! Which kinds of object a rule reads, for the test that compares it with what the rule declares.
//! Without the feature `probe`, which only tests switch on, nothing is recorded.

use meshladder_capture::Kind;

#[cfg(feature = "probe")]
pub use recording::of_rule;

/// Runs a rule.
#[cfg_attr(
    not(feature = "probe"),
    expect(unused_variables, reason = "nothing is recorded")
)]
pub fn running<T>(code: &str, rule: impl FnOnce() -> T) -> T {
    #[cfg(feature = "probe")]
    let _running = recording::Running::start(code);
    rule()
}

/// Does something that no rule has a part in, though one may be the first to need it.
pub(super) fn aside<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(feature = "probe")]
    let _aside = recording::Running::pause();
    work()
}

/// A kind was read.
#[cfg_attr(
    not(feature = "probe"),
    expect(unused_variables, reason = "nothing is recorded")
)]
pub(super) fn note(kind: Kind) {
    #[cfg(feature = "probe")]
    recording::note(kind);
}

#[cfg(feature = "probe")]
mod recording {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use meshladder_capture::Kind;

    thread_local! {
        static WATCHED: RefCell<Option<Watch>> = const { RefCell::new(None) };
    }

    /// The rule that is watched, whether it runs now, and what it read.
    struct Watch {
        code: String,
        running: bool,
        kinds: BTreeSet<Kind>,
    }

    /// Until it is dropped, the watched rule runs or does not; then it is as before.
    pub(super) struct Running {
        before: bool,
    }

    impl Running {
        pub(super) fn start(code: &str) -> Self {
            Self::set(|watch| watch.code == code)
        }

        pub(super) fn pause() -> Self {
            Self::set(|_| false)
        }

        fn set(running: impl FnOnce(&Watch) -> bool) -> Self {
            let before = WATCHED.with_borrow_mut(|watch| {
                let Some(watch) = watch else { return false };
                let running = running(watch);
                std::mem::replace(&mut watch.running, running)
            });
            Self { before }
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            WATCHED.with_borrow_mut(|watch| {
                if let Some(watch) = watch {
                    watch.running = self.before;
                }
            });
        }
    }

    /// Runs `work` and gives the kinds that the rule of that code read on this thread.
    pub fn of_rule(code: &str, work: impl FnOnce()) -> BTreeSet<Kind> {
        WATCHED.set(Some(Watch {
            code: code.to_owned(),
            running: false,
            kinds: BTreeSet::new(),
        }));
        work();
        WATCHED.take().map(|watch| watch.kinds).unwrap_or_default()
    }

    pub(super) fn note(kind: Kind) {
        WATCHED.with_borrow_mut(|watch| {
            if let Some(watch) = watch.as_mut().filter(|watch| watch.running) {
                watch.kinds.insert(kind);
            }
        });
    }
}
