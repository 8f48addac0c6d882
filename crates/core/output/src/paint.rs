//! Colour on the terminal: the one place that writes escape codes.

/// How text is set off; nothing carries its meaning by colour alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paint {
    /// Whether to use colour and bold.
    pub colour: bool,
    /// Whether to show everything.
    pub verbose: bool,
}

/// What a word is set off as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Bold,
    Dim,
    /// All is well.
    Good,
    /// Something failed.
    Bad,
    Error,
    Warning,
    Remark,
}

impl Ink {
    /// The parameters of "Select Graphic Rendition" (ECMA-48).
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Error => "1;31",
            Self::Warning => "33",
            Self::Remark => "36",
        }
    }
}

impl Paint {
    pub(crate) fn set(self, ink: Ink, text: &str) -> String {
        if self.colour {
            format!("\x1b[{}m{text}\x1b[0m", ink.code())
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.set(Ink::Bold, text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.set(Ink::Dim, text)
    }
}
