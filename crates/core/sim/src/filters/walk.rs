//! The way of a request through the filters.

use std::borrow::Cow;

use super::{HttpFilter, RbacOutcome};
use crate::answer::Answer;

/// What each filter did, and how the request left them.
#[derive(Debug)]
pub struct FilterWalk<'c> {
    /// Filter by filter.
    pub steps: Vec<FilterStep<'c>>,
    /// Every way the request may leave the filters.
    pub branches: Vec<FilterBranch>,
    /// The first fact without which the branches are not certain.
    pub undecided: Option<Box<str>>,
}

/// One filter's part.
#[derive(Debug)]
pub struct FilterStep<'c> {
    /// The filter's name.
    pub filter: &'c str,
    /// What kind it is.
    pub kind: &'c str,
    /// Where it stands in the dump.
    pub at: usize,
    /// What it did.
    pub verdict: FilterVerdict,
}

/// What a filter did.
#[derive(Clone, Debug, PartialEq)]
pub enum FilterVerdict {
    /// It let the request pass; why.
    Passed(Cow<'static, str>),
    /// It let the request pass, and this is what its policies say.
    Rbac(Box<RbacOutcome>),
    /// It was not asked; why.
    Skipped(Cow<'static, str>),
    /// It answered; by these policies, if it has any.
    Answered(Answer, Option<Box<RbacOutcome>>),
    /// It depends on chance or load.
    Branches(Vec<FilterBranch>),
    /// It depends on this fact.
    Undecided(Box<str>),
}

/// One way a request may go on.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterBranch {
    /// How likely, from 0 to 1; none when it depends on load.
    pub weight: Option<f64>,
    /// Flags that the log shows whatever comes after, as `DI` for a delay.
    pub flags: Vec<&'static str>,
    /// What the client gets; none when the request goes on.
    pub answer: Option<Answer>,
}

impl<'c> FilterWalk<'c> {
    pub(super) fn new(filters: usize) -> Self {
        let whole = FilterBranch {
            weight: Some(1.0),
            flags: Vec::new(),
            answer: None,
        };
        Self {
            steps: Vec::with_capacity(filters),
            branches: vec![whole],
            undecided: None,
        }
    }

    /// The one answer, when there is only one way and nothing is open.
    pub fn answer(&self) -> Option<&Answer> {
        match self.branches.as_slice() {
            [only] if self.undecided.is_none() => only.answer.as_ref(),
            _ => None,
        }
    }

    /// Whether every way has ended.
    pub(super) fn is_over(&self) -> bool {
        self.branches.iter().all(|branch| branch.answer.is_some())
    }

    pub(super) fn step(&mut self, filter: &'c HttpFilter<'_>, verdict: FilterVerdict) {
        match &verdict {
            FilterVerdict::Passed(_) | FilterVerdict::Rbac(_) | FilterVerdict::Skipped(_) => {}
            FilterVerdict::Answered(answer, _) => self.end(answer),
            FilterVerdict::Branches(branches) => self.split(branches),
            // The first open question is the one that is told.
            FilterVerdict::Undecided(fact) => {
                self.undecided.get_or_insert_with(|| fact.clone());
            }
        }
        self.steps.push(FilterStep {
            filter: &filter.name,
            kind: filter.kind(),
            at: filter.at,
            verdict,
        });
    }

    /// Answers every way that has not ended yet.
    fn end(&mut self, answer: &Answer) {
        for branch in &mut self.branches {
            if branch.answer.is_none() {
                branch.end(answer.clone());
            }
        }
    }

    fn split(&mut self, ways: &[FilterBranch]) {
        // Ways that have ended stay as they are.
        let branches = std::mem::take(&mut self.branches);
        let (open, mut all): (Vec<_>, Vec<_>) = branches
            .into_iter()
            .partition(|branch| branch.answer.is_none());
        for branch in &open {
            for way in ways {
                all.push(branch.followed_by(way));
            }
        }
        self.branches = all;
    }
}

impl FilterBranch {
    /// The request goes on.
    pub(super) fn on(weight: Option<f64>, flags: &[&'static str]) -> Self {
        Self {
            weight,
            flags: flags.to_vec(),
            answer: None,
        }
    }

    /// The request is answered; the answer has all the flags.
    pub(super) fn answered(weight: Option<f64>, answer: Answer) -> Self {
        Self {
            weight,
            flags: Vec::new(),
            answer: Some(answer),
        }
    }

    fn end(&mut self, mut answer: Answer) {
        answer.flags.splice(0..0, self.flags.drain(..));
        self.answer = Some(answer);
    }

    fn followed_by(&self, way: &Self) -> Self {
        // What depends on load has no weight, and neither has what follows it.
        let weight = match (self.weight, way.weight) {
            (Some(before), Some(after)) => Some(before * after),
            _ => None,
        };
        let mut branch = Self {
            weight,
            flags: [self.flags.as_slice(), &way.flags].concat(),
            answer: None,
        };
        if let Some(answer) = &way.answer {
            branch.end(answer.clone());
        }
        branch
    }
}
