//! Three-valued logic: yes, no, and unknown with the fact that is missing.

/// A truth value. Two of them are equal when they say the same, whatever the reason.
#[derive(Clone, Debug, Eq)]
pub enum Tri {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// It cannot be told without this fact, as in `the header x-user`.
    Unknown(Box<str>),
}

impl PartialEq for Tri {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl From<bool> for Tri {
    fn from(value: bool) -> Self {
        if value { Self::Yes } else { Self::No }
    }
}

impl Tri {
    /// Unknown for want of a fact.
    pub fn unknown(fact: impl Into<Box<str>>) -> Self {
        Self::Unknown(fact.into())
    }

    /// The other way round.
    #[must_use]
    pub fn negate(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            unknown @ Self::Unknown(_) => unknown,
        }
    }

    /// Whether all hold: one No decides, whatever is unknown. The first unknown is the one that is
    /// named.
    pub fn all(values: impl IntoIterator<Item = Self>) -> Self {
        let mut result = Self::Yes;
        for value in values {
            match value {
                Self::No => return Self::No,
                Self::Unknown(_) if result == Self::Yes => result = value,
                Self::Yes | Self::Unknown(_) => {}
            }
        }
        result
    }

    /// Whether one holds: one Yes decides, whatever is unknown.
    pub fn any(values: impl IntoIterator<Item = Self>) -> Self {
        Self::all(values.into_iter().map(Self::negate)).negate()
    }

    /// `yes`, `no` or `unknown`, as JSON carries it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown(_) => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> [Tri; 3] {
        [Tri::Yes, Tri::No, Tri::unknown("x")]
    }

    #[test]
    fn kleene_tables() {
        let unknown = || Tri::unknown("x");
        let and = [
            Tri::Yes,
            Tri::No,
            unknown(),
            Tri::No,
            Tri::No,
            Tri::No,
            unknown(),
            Tri::No,
            unknown(),
        ];
        let or = [
            Tri::Yes,
            Tri::Yes,
            Tri::Yes,
            Tri::Yes,
            Tri::No,
            unknown(),
            Tri::Yes,
            unknown(),
            unknown(),
        ];
        let mut at = 0;
        for a in values() {
            for b in values() {
                assert_eq!(Tri::all([a.clone(), b.clone()]), and[at], "{a:?} and {b:?}");
                assert_eq!(Tri::any([a.clone(), b.clone()]), or[at], "{a:?} or {b:?}");
                at += 1;
            }
        }
        assert_eq!(values().map(Tri::negate), [Tri::No, Tri::Yes, unknown()]);
        assert_eq!((Tri::all([]), Tri::any([])), (Tri::Yes, Tri::No));
    }

    #[test]
    fn the_first_missing_fact_is_named() {
        let Tri::Unknown(fact) = Tri::any([Tri::No, Tri::unknown("a"), Tri::unknown("b")]) else {
            unreachable!("nothing decides it")
        };
        assert_eq!(&*fact, "a");
    }
}
