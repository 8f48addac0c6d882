//! What is set off on the terminal. Text only says what and how ([`meshladder_text::shown`]); the
//! codes are written by who prints it.

use meshladder_text::shown;

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
    const ALL: [Self; 7] = [
        Self::Bold,
        Self::Dim,
        Self::Good,
        Self::Bad,
        Self::Error,
        Self::Warning,
        Self::Remark,
    ];

    /// The letter that stands for it in a text.
    fn letter(self) -> char {
        match self {
            Self::Bold => 'b',
            Self::Dim => 'd',
            Self::Good => 'g',
            Self::Bad => 'r',
            Self::Error => 'e',
            Self::Warning => 'w',
            Self::Remark => 'i',
        }
    }

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

/// The parameters of "Select Graphic Rendition" for the letter behind [`shown::SET`].
pub fn rendition(letter: char) -> Option<&'static str> {
    let ink = Ink::ALL.into_iter().find(|ink| ink.letter() == letter)?;
    Some(ink.code())
}

impl Paint {
    pub(crate) fn set(self, ink: Ink, text: &str) -> String {
        if self.colour {
            format!("{}{}{text}{}", shown::SET, ink.letter(), shown::END)
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
