//! Work on several threads.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does something with each, a few at a time; the answers keep the order. There is an answer for
/// each: where a job panics, so does this.
pub fn each<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    work_on: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = Vec::new();
        while let Some((number, item)) = take(items, &next) {
            answers.push((number, work_on(item)));
        }
        answers
    };
    let mut answers = std::thread::scope(|scope| {
        let spawned: Vec<_> = (1..threads.min(items.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let mut answers = work();
        for thread in spawned {
            // What a thread did not live to tell must not be missing without a word.
            match thread.join() {
                Ok(more) => answers.extend(more),
                Err(panic) => resume_unwind(panic),
            }
        }
        answers
    });
    answers.sort_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The next item that nobody works on yet, with its number.
fn take<'i, I>(items: &'i [I], next: &AtomicUsize) -> Option<(usize, &'i I)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    Some((number, items.get(number)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn every_item_is_answered_in_order_on_any_number_of_threads() {
        let items: Vec<usize> = (0..1000).collect();
        let squares: Vec<usize> = items.iter().map(|item| item * item).collect();
        for threads in [0, 1, 2, 7, 2000] {
            assert_eq!(each(&items, threads, |item| item * item), squares);
        }
        assert!(each(&[], 4, |item: &usize| *item).is_empty());
    }

    #[test]
    fn a_job_that_panics_is_never_an_answer_that_is_missing() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [1, 4] {
            for bad in [0, 50, 99] {
                let answers = catch_unwind(AssertUnwindSafe(|| {
                    each(&items, threads, |item| {
                        assert_ne!(*item, bad, "a job that breaks");
                        *item
                    })
                }));
                assert!(answers.is_err(), "{threads} threads, job {bad}");
            }
        }
    }
}
