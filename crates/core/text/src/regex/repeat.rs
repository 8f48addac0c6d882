//! What RE2 lets a repeat stand behind, and how often it may repeat.

/// What RE2 says against a pattern, in words.
pub(super) type PatternProblem = Box<str>;

/// "RE2 … rejects repetition counts above 1000", and products of nested ones.
const MOST: u32 = 1000;

/// One group while it is read.
#[derive(Default)]
pub(super) struct GroupLevel {
    last: RepeatTarget,
    heaviest: u32,
}

/// What a repeat that comes next would apply to.
#[derive(Clone, Copy, Default)]
enum RepeatTarget {
    #[default]
    Nothing,
    /// With the product of the repeats inside it.
    Atom(u32),
    Repeat,
    Flags,
}

impl GroupLevel {
    pub(super) fn alternative(&mut self) {
        self.last = RepeatTarget::Nothing;
    }

    pub(super) fn flags(&mut self) {
        self.last = RepeatTarget::Flags;
    }

    pub(super) fn atom(&mut self, weight: u32) {
        self.last = RepeatTarget::Atom(weight);
        self.heaviest = self.heaviest.max(weight);
    }

    /// The largest product of nested repeats inside.
    pub(super) fn heaviest(&self) -> u32 {
        self.heaviest.max(1)
    }

    /// `*`, `+` and `?`.
    pub(super) fn repeat_simply(&mut self) -> Result<u32, PatternProblem> {
        match std::mem::replace(&mut self.last, RepeatTarget::Repeat) {
            RepeatTarget::Atom(weight) => Ok(weight),
            RepeatTarget::Nothing => Err("a repeat has nothing to repeat".into()),
            // "In Perl it is not allowed to stack repetition operators".
            RepeatTarget::Repeat => Err("a repeat of a repeat".into()),
            RepeatTarget::Flags => Err("a repeat behind flags is not supported".into()),
        }
    }

    /// `{least,most}`, most being none for no limit.
    pub(super) fn repeat(&mut self, least: u32, most: Option<u32>) -> Result<(), PatternProblem> {
        let weight = self.repeat_simply()?;
        if most.is_some_and(|most| most < least) || most.unwrap_or(least) > MOST {
            return Err("a repeat's count is out of range".into());
        }
        let product = weight.saturating_mul(most.unwrap_or(least).max(1));
        if (least >= 2 || most.is_some_and(|most| most >= 2)) && product > MOST {
            return Err("a repeat's count is out of range".into());
        }
        self.heaviest = self.heaviest.max(product);
        Ok(())
    }
}

/// The counts of a repeat at the start of `text`, and what follows it; none when it is no repeat.
pub(super) fn counts(text: &str) -> Option<(u32, Option<u32>, &str)> {
    let (inside, rest) = text.strip_prefix('{')?.split_once('}')?;
    let (least, most) = match inside.split_once(',') {
        None => (count(inside)?, Some(count(inside)?)),
        Some((least, "")) => (count(least)?, None),
        Some((least, most)) => (count(least)?, Some(count(most)?)),
    };
    Some((least, most, rest))
}

fn count(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0');
    (is_number && !has_leading_zero).then(|| digits.parse().unwrap_or(u32::MAX))
}
