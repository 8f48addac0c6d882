//! Command lines that a person may copy into a shell: every word of the input in them is one word
//! there, whatever it holds.

use std::fmt::{self, Write};

/// A command line. Its fixed text is in the program; what comes from elsewhere is quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand(String);

impl ShellCommand {
    /// The command line, for who shows it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// With another one, or a part of one, behind it.
    #[must_use]
    pub fn then(mut self, more: &ShellCommand) -> Self {
        self.0.push_str(&more.0);
        self
    }

    /// Hands over what follows `<<'END'` as input. The mark is one that no line of the text is.
    #[must_use]
    pub fn reading(mut self, text: &str) -> Self {
        let mut mark = "EOF".to_owned();
        while text.lines().any(|line| line.trim_end() == mark) {
            mark.push('_');
        }
        // A String takes all text.
        let _ = write!(self.0, " <<'{mark}'\n{text}\n{mark}");
        self
    }
}

/// A command line made of a fixed text in which each `{}` stands for a word.
pub fn command(template: &'static str, words: &[&str]) -> ShellCommand {
    let mut parts = template.split("{}");
    let mut line = parts.next().unwrap_or_default().to_owned();
    let mut words = words.iter();
    for part in parts {
        line.push_str(&word(words.next().copied().unwrap_or_default()));
        line.push_str(part);
    }
    ShellCommand(line)
}

/// One word of a command line, in quotes where a shell would take it apart or for something else.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:/@%+,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

impl From<&'static str> for ShellCommand {
    fn from(line: &'static str) -> Self {
        Self(line.to_owned())
    }
}

impl fmt::Display for ShellCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_elsewhere_is_one_word() {
        for (text, written) in [
            ("cart-1", "cart-1"),
            ("http://a:80/b?c=d&e", "'http://a:80/b?c=d&e'"),
            ("$(id)", "'$(id)'"),
            ("it's", r"'it'\''s'"),
            ("a\nb", "'a\nb'"),
            ("~root", "'~root'"),
            ("", "''"),
        ] {
            assert_eq!(word(text), written);
        }
        assert_eq!(
            command("kubectl logs {} -n {} -o jsonpath='{.a}'", &["a;b", "shop"]).as_str(),
            "kubectl logs 'a;b' -n shop -o jsonpath='{.a}'"
        );
    }

    #[test]
    fn a_text_cannot_end_its_own_here_document() {
        let line = command("kubectl apply -f -", &[]).reading("a: 1\nEOF\nid");
        assert_eq!(
            line.as_str(),
            "kubectl apply -f - <<'EOF_'\na: 1\nEOF\nid\nEOF_"
        );
    }
}
