//! What the fake does wrong, on purpose.

use super::State;

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// This status, with `Retry-After` when a time is told.
    Status(u16, Option<u64>),
    /// No answer, ever.
    Silence,
    /// A body that ends before it should.
    Cut,
    /// A page of HTML with status 200.
    Html,
    /// JSON that is no list.
    Nonsense,
    /// What was asked is done, and the connection ends before the answer.
    Lost,
    /// A body of which a byte comes now and then, and never the last.
    Trickle,
}

/// When it goes wrong.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// Requests whose path or query holds this text.
    pub(crate) at: String,
    pub(crate) trouble: Trouble,
    /// So often.
    pub(crate) times: usize,
}

impl Fault {
    pub(crate) fn always(at: &str, trouble: Trouble) -> Self {
        Self {
            at: at.to_owned(),
            trouble,
            times: usize::MAX,
        }
    }

    pub(crate) fn times(at: &str, trouble: Trouble, times: usize) -> Self {
        Self {
            at: at.to_owned(),
            trouble,
            times,
        }
    }
}

impl State {
    /// What goes wrong with a request, if anything does.
    pub(crate) fn trouble(&self, request: &str) -> Option<Trouble> {
        let mut faults = self.faults.lock().expect("nobody panicked");
        let fault = faults
            .iter_mut()
            .find(|fault| fault.times > 0 && request.contains(&fault.at))?;
        fault.times -= 1;
        Some(fault.trouble.clone())
    }
}
