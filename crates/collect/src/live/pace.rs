//! How fast and how long a cluster may be asked: one overall deadline, one limit for each request,
//! so many at a time.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};

use super::Limits;
use super::lack::Lack;
use super::progress::Tally;

/// See the module.
pub(crate) struct Pace {
    deadline: Instant,
    pub(crate) limits: Limits,
    gate: Semaphore,
    stop: watch::Receiver<bool>,
    pub(crate) tally: Arc<Tally>,
}

impl Pace {
    /// The clock starts now.
    pub(crate) fn new(limits: Limits, stop: watch::Receiver<bool>, tally: Arc<Tally>) -> Self {
        let gate = Semaphore::new(limits.concurrency.max(1));
        Self {
            deadline: Instant::now() + limits.timeout,
            limits,
            gate,
            stop,
            tally,
        }
    }

    /// How many requests may be under way.
    pub(crate) fn concurrency(&self) -> usize {
        self.limits.concurrency.max(1)
    }

    /// A place among the requests under way.
    pub(crate) async fn place(&self) -> Result<SemaphorePermit<'_>, Lack> {
        self.before_the_end(async { self.gate.acquire().await.map_err(|_| Lack::Stopped) })
            .await?
    }

    /// Runs one request within its limit and within what is left of all.
    pub(crate) async fn within<T>(&self, request: impl Future<Output = T>) -> Result<T, Lack> {
        let own = Instant::now() + self.limits.request_timeout;
        if own < self.deadline {
            let seconds = self.limits.request_timeout.as_secs_f64();
            self.until(
                own,
                Lack::Late(format!("no answer within {seconds} s (--request-timeout)")),
                request,
            )
            .await
        } else {
            self.before_the_end(request).await
        }
    }

    /// Runs something that has no limit of its own, within what is left of all.
    pub(crate) async fn before_the_end<T>(&self, work: impl Future<Output = T>) -> Result<T, Lack> {
        self.until(self.deadline, Lack::OutOfTime, work).await
    }

    /// Waits before another try.
    pub(crate) async fn wait(&self, time: Duration) -> Result<(), Lack> {
        let end = Instant::now() + time;
        if end >= self.deadline {
            return Err(Lack::OutOfTime);
        }
        self.before_the_end(sleep_until(end)).await
    }

    async fn until<T>(
        &self,
        end: Instant,
        late: Lack,
        work: impl Future<Output = T>,
    ) -> Result<T, Lack> {
        let mut stop = self.stop.clone();
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopped| *stopped) => Err(Lack::Stopped),
            done = work => Ok(done),
            () = sleep_until(end) => Err(late),
        }
    }
}
