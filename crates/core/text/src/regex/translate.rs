//! One walk over an RE2 pattern, writing what the `regex` crate understands.

use super::class;
use super::escape::{self, Escape};
use super::repeat::{self, GroupLevel, PatternProblem};

/// The pattern for the `regex` crate, with the same meaning and the same numbering of groups.
///
/// # Errors
/// What RE2 would say against the pattern, or what cannot be expressed.
pub(super) fn translate(pattern: &str) -> Result<String, PatternProblem> {
    let mut walk = Translator {
        rest: pattern,
        out: String::new(),
        levels: vec![GroupLevel::default()],
    };
    while let Some(c) = walk.rest.chars().next() {
        walk.step(c)?;
    }
    if walk.levels.len() > 1 {
        return Err("a group is not closed".into());
    }
    Ok(walk.out)
}

struct Translator<'p> {
    rest: &'p str,
    out: String,
    /// The groups that are open, the whole pattern first.
    levels: Vec<GroupLevel>,
}

impl<'p> Translator<'p> {
    fn step(&mut self, c: char) -> Result<(), PatternProblem> {
        match c {
            '(' => self.open()?,
            ')' => self.close()?,
            '{' => self.brace()?,
            '\\' => self.escape()?,
            '|' => {
                self.skip(1);
                self.level().alternative();
                self.out.push('|');
            }
            '*' | '+' | '?' => {
                self.skip(1);
                self.level().repeat_simply()?;
                self.out.push(c);
                self.lazy();
            }
            '[' => {
                let (class, rest) = class::translate(self.rest)?;
                self.rest = rest;
                self.atom(&class);
            }
            '.' | '^' | '$' => {
                self.skip(1);
                self.atom(c.encode_utf8(&mut [0; 4]));
            }
            c => {
                self.skip(c.len_utf8());
                self.literal(c);
            }
        }
        Ok(())
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn level(&mut self) -> &mut GroupLevel {
        self.levels
            .last_mut()
            .expect("the whole pattern is a level that is never closed")
    }

    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.level().atom(1);
    }

    fn literal(&mut self, c: char) {
        escape::push_literal(&mut self.out, c);
        self.level().atom(1);
    }

    /// `*?`: as few as possible.
    fn lazy(&mut self) {
        if self.rest.starts_with('?') {
            self.skip(1);
            self.out.push('?');
        }
    }

    /// "`{` not followed by a valid repeat is a literal", as in Perl.
    fn brace(&mut self) -> Result<(), PatternProblem> {
        let Some((least, most, rest)) = repeat::counts(self.rest) else {
            self.skip(1);
            self.literal('{');
            return Ok(());
        };
        let text = &self.rest[..self.rest.len() - rest.len()];
        self.level().repeat(least, most)?;
        self.out.push_str(text);
        self.rest = rest;
        self.lazy();
        Ok(())
    }

    fn escape(&mut self) -> Result<(), PatternProblem> {
        if let Some(quoted) = self.rest.strip_prefix(r"\Q") {
            let (text, rest) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
            for c in text.chars() {
                self.literal(c);
            }
            self.rest = rest;
            return Ok(());
        }
        let (escape, rest) = escape::parse(self.rest)?;
        self.rest = rest;
        match escape {
            Escape::Char(c) => self.literal(c),
            Escape::Class(class) => self.atom(&class),
            // `\b` is an ASCII word boundary in RE2.
            Escape::Boundary(b) => self.atom(&format!(r"(?-u:\{b})")),
            Escape::Anchor(a) => self.atom(&format!(r"\{a}")),
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), PatternProblem> {
        let Some(inside) = self.rest.strip_prefix("(?") else {
            self.skip(1);
            self.group("(");
            return Ok(());
        };
        // `(?P<name>…)` is Python's spelling, `(?<name>…)` the one of others; RE2 takes both.
        for opening in ["P<", "<"] {
            if let Some(named) = inside.strip_prefix(opening) {
                return self.named_group(named);
            }
        }
        let end = inside.find([':', ')']).ok_or("a group is not closed")?;
        let flags = flags(&inside[..end])?;
        let is_group = inside[end..].starts_with(':');
        self.rest = &inside[end + 1..];
        if is_group {
            self.group(&format!("(?{flags}:"));
        } else {
            // RE2 would apply a repeat behind flags to what stands before them.
            self.level().flags();
            if !flags.is_empty() {
                self.out.extend(["(?", &*flags, ")"]);
            }
        }
        Ok(())
    }

    fn group(&mut self, opening: &str) {
        self.out.push_str(opening);
        self.levels.push(GroupLevel::default());
    }

    /// Groups are only ever referred to by number, so the name is checked and left out.
    fn named_group(&mut self, named: &'p str) -> Result<(), PatternProblem> {
        let (name, rest) = named
            .split_once('>')
            .ok_or("a group's name is not closed")?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_name {
            return Err(format!("`{name}` cannot be a group's name").into());
        }
        self.rest = rest;
        self.group("(");
        Ok(())
    }

    fn close(&mut self) -> Result<(), PatternProblem> {
        self.skip(1);
        // The first level is the pattern itself, which nothing closes.
        if self.levels.len() < 2 {
            return Err("an unexpected `)`".into());
        }
        let weight = self.level().heaviest();
        self.levels.pop();
        self.out.push(')');
        self.level().atom(weight);
        Ok(())
    }
}

/// The flags between `(?` and `:` or `)`, in the order the `regex` crate wants them: each once, `-`
/// only before some.
fn flags(text: &str) -> Result<String, PatternProblem> {
    let mut on = String::new();
    let mut off = String::new();
    let mut is_off = false;
    for c in text.chars() {
        match c {
            // Of a flag that stands there twice the last one counts.
            'i' | 'm' | 's' | 'U' => {
                on.retain(|f| f != c);
                off.retain(|f| f != c);
                if is_off { off.push(c) } else { on.push(c) }
            }
            '-' if !is_off => is_off = true,
            _ => return Err(not_flags(text)),
        }
    }
    if is_off && text.ends_with('-') {
        return Err(not_flags(text));
    }
    if off.is_empty() {
        return Ok(on);
    }
    Ok(format!("{on}-{off}"))
}

fn not_flags(text: &str) -> PatternProblem {
    format!("`(?{text}` is not RE2 syntax").into()
}
