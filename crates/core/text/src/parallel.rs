//! Work on several threads.

use std::sync::Mutex;

/// Does something with each, a few at a time; the answers keep the order.
pub fn each<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    work_on: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let next = Mutex::new(0..items.len());
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(i) = next.lock().ok().and_then(|mut next| next.next()) else {
                return;
            };
            let answer = work_on(&items[i]);
            if let Ok(mut done) = done.lock() {
                done.push((i, answer));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, answer)| answer).collect()
}
